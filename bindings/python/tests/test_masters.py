"""A program that dies before its tasks: workers remove what it leaves, and nothing of one that lives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from conftest import LONG_S

import quintet
from quintet import bulk, masters, tasks
from quintet.worker import _work_present

DIES = """
import os, sys, numpy, quintet
executor = quintet.Executor()
for n in range(5):
    executor.submit(len, numpy.zeros(100_000))
print(executor.pool, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def program(socket):
    environment = {**os.environ, "QUINTET_SPACE": str(socket)}
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", DIES], env=environment, stdin=pipe, stdout=pipe, text=True) as program:
        yield program
        program.kill()


def wait_until(is_so):
    end = time.monotonic() + LONG_S
    while not is_so():
        assert time.monotonic() < end
        threading.Event().wait(0.01)


def left(space: quintet.Space, pool: str) -> int:
    """Tuples of the pool that can be seen."""
    templates = [
        (tasks.TASK, pool, int, bytes),
        (tasks.RESULT, pool, int, bool, bytes, int, int),
        (bulk.BULK, pool, str, quintet.array("u1")),
        (masters.MASTER, pool, str),
    ]
    return sum(space.count(*template) for template in templates)


def test_what_a_dead_program_leaves_goes(program, socket):
    pool = program.stdout.readline().strip()
    with quintet.connect(str(socket)) as lab:
        held = lab.space.lease(tasks.TASK, pool, int, bytes, timeout=LONG_S)
        program.kill()
        lab.space.read(masters.MASTER, pool, str, timeout=LONG_S)
        assert left(lab.space, pool) == 4 + 5 + 1
        masters.start_to_sweep(lab.space)
        wait_until(lambda: left(lab.space, pool) == 0)
        held.acknowledge((tasks.RESULT, pool, held[2], True, b"", 0, 1))
        wait_until(lambda: left(lab.space, pool) == 0)


def test_who_sweeps_waits_for_no_more_than_can_come(program, socket, monkeypatch):
    monkeypatch.setattr(masters, "LOOK_S", 0.01)
    pool = program.stdout.readline().strip()
    with quintet.connect(str(socket)) as lab:
        held = lab.space.lease(tasks.TASK, pool, int, bytes, timeout=LONG_S)
        program.kill()
        lab.space.read(masters.MASTER, pool, str, timeout=LONG_S)
        masters.start_to_sweep(lab.space)
        wait_until(lambda: left(lab.space, pool) == 0)
        threading.Event().wait(0.1)
        # For masters, which are asked for again and again, and for what the task's worker may put.
        wait_until(lambda: lab.space.status().waiters == 4)
        held.acknowledge((tasks.RESULT, pool, held[2], True, b"", 0, 1))
        wait_until(lambda: lab.space.status().waiters == 1)
        assert left(lab.space, pool) == 0


def test_a_worker_sweeps(program, socket):
    pool = program.stdout.readline().strip()
    with quintet.connect(str(socket)) as lab, quintet.connect(str(socket)) as other:
        program.kill()
        lab.space.read(masters.MASTER, pool, str, timeout=LONG_S)
        threading.Thread(target=_work_present, args=(other.space, 0), daemon=True).start()
        wait_until(lambda: left(lab.space, pool) == 0)


def test_a_program_that_lives_keeps_its_tasks(program, socket):
    pool = program.stdout.readline().strip()
    with quintet.connect(str(socket)) as lab:
        # As if its lease had ended, which happens where it is frozen.
        os.kill(program.pid, signal.SIGSTOP)
        lab.space.out(masters.MASTER, "other", masters.this_process())
        masters.start_to_sweep(lab.space)
        wait_until(lambda: lab.space.count(masters.MASTER, "other", str) == 1 and lab.space.status().leases <= 1)
        assert lab.space.count(tasks.TASK, pool, int, bytes) == 5
        os.kill(program.pid, signal.SIGCONT)


def test_an_executor_leaves_nothing_of_its_own(socket):
    with quintet.connect(str(socket)) as lab:
        quintet.Executor(lab).shutdown()
        status = lab.space.status()
        assert (status.tuples, status.hidden, status.leases, status.waiters) == (0, 0, 0, 0)


def test_processes_are_told_apart():
    assert masters.lives(masters.this_process())
    machine, number, began = masters.this_process().rsplit("/", 2)
    assert not masters.lives(f"{machine}/{number}/{int(began) + 1}")
    assert masters.lives(f"another/{number}/{int(began) + 1}"), "nobody here can see it"
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert masters._began(child.pid) == "", "it has ended, and nobody has waited for it"
    child.wait()
    assert masters._began(child.pid) == ""


@pytest.mark.parametrize("process", ["", "nonsense", "{}/not a number/1", "{}/\0/1", f"{{}}/{'9' * 5000}/1"])
def test_what_names_no_process_stops_no_worker(socket, process):
    process = process.format(masters._machine())
    assert not masters.lives(process)
    with quintet.connect(str(socket)) as lab:
        lab.space.out(masters.MASTER, "pool", process)
        masters.start_to_sweep(lab.space)
        wait_until(lambda: left(lab.space, "pool") == 0 and lab.space.status().hidden == 0)
