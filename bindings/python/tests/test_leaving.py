"""The end of a program, and of an executor that nobody holds: with tasks under way, as the standard library's."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import pytest
from conftest import LONG_S

import quintet
from quintet import pool, tasks

LEAVES = """
import concurrent.futures, sys, time
from pathlib import Path
import quintet

def write(path):
    time.sleep(0.05)
    Path(path).touch()

if __name__ == "__main__":
    executor = {executor}
    for n in range(6):
        executor.submit(write, sys.argv[1] + f"/done-{{n}}")
    {end}
"""


@pytest.mark.parametrize("end", ["pass", "executor.shutdown(wait=False)", "del executor", "raise ValueError"])
@pytest.mark.parametrize(
    "executor",
    ["quintet.Executor()", "concurrent.futures.ThreadPoolExecutor(2)", "concurrent.futures.ProcessPoolExecutor(2)", "served"],
)
def test_tasks_under_way_are_done_before_the_program_ends(request, tmp_path, executor, end):
    if executor == "served":
        request.getfixturevalue("worker")()
        executor = "quintet.Executor()"
    program, folder = tmp_path / "program.py", tmp_path / "folder"
    program.write_text(LEAVES.format(executor=executor, end=end))
    folder.mkdir()
    ended = subprocess.run([sys.executable, str(program), str(folder)], timeout=LONG_S, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == (1 if end.startswith("raise") else 0)
    assert len(list(folder.iterdir())) == 6
    assert "quintet:" not in ended.stderr


NEVER_DONE = """
import os, signal, sys, threading, time
import quintet
executor = quintet.Executor()
executor.submit(pow, 2, 3)
print("ready", flush=True)
{end}
"""


def never_done(socket: Path, end: str) -> subprocess.Popen[str]:
    """A program with a task that no worker does."""
    environment = {**os.environ, "QUINTET_SPACE": str(socket)}
    command = [sys.executable, "-c", NEVER_DONE.format(end=end)]
    program = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert program.stdout.readline() == "ready\n"
    return program


def ends_with(program: subprocess.Popen[str]) -> str:
    _, text = program.communicate(timeout=LONG_S)
    return text


def test_an_interrupt_ends_the_wait_of_a_program_that_ends(socket):
    program = never_done(socket, "")
    with quintet.connect(str(socket)) as lab:
        # It ends: its collection goes on, and it takes no more.
        lab.space.read(tasks.TASK, str, int, bytes, timeout=LONG_S)
    text = ""
    while program.poll() is None:
        program.send_signal(signal.SIGINT)
        try:
            text = program.communicate(timeout=1)[1]
        except subprocess.TimeoutExpired:
            continue
    assert "not waited for: 1 task" in text


def test_a_program_that_an_interrupt_ended_does_not_wait(socket):
    text = ends_with(never_done(socket, "os.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)"))
    assert "KeyboardInterrupt" in text and "not waited for: 1 task" in text


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_program_that_ends_without_its_space_says_so(server, socket, when):
    wait = "executor._pool.join()" if when == "before" else ""
    program = never_done(socket, wait)
    server.kill()
    text = ends_with(program)
    assert text.count("\n") == 1 and "not done: 1 task" in text


def test_no_task_is_taken_while_the_program_ends():
    late = """
import threading, quintet
executor = quintet.Executor()
def submit():
    threading.main_thread().join()
    try:
        executor.submit(pow, 2, 3)
    except RuntimeError as error:
        print(error)
threading.Thread(target=submit).start()
"""
    ended = subprocess.run([sys.executable, "-c", late], timeout=LONG_S, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "") and ended.stdout != ""


def test_a_forked_child_does_not_wait_for_its_parents_tasks(socket):
    program = never_done(socket, "child = os.fork()\nif child: os.waitpid(child, 0); print('ended', flush=True)")
    assert program.stdout.readline() == "ended\n"
    program.kill()
    program.communicate()


def test_a_dropped_executor_leaves_no_thread_and_no_waiter(socket):
    with quintet.connect(str(socket)) as lab:
        before = lab.space.status().waiters
        executor = quintet.Executor(lab)
        future, gone = executor.submit(pow, 2, 3), weakref.ref(executor)
        collector = executor._pool._collector
        del executor
        gc.collect()
        assert gone() is None
        with lab.space.lease(tasks.TASK, str, int, bytes) as task:
            task.acknowledge((tasks.RESULT, task[1], task[2], *tasks.run(task[3]), 0, 1))
        assert future.result(LONG_S) == 8, "what is under way is done"
        collector.join(LONG_S)
        assert not collector.is_alive()
        while lab.space.status().waiters > before:
            threading.Event().wait(0)
        assert lab.space.status().tuples == 0


def test_a_future_that_ends_at_this_moment_keeps_no_other_one_from_its_end(monkeypatch):
    with quintet.Executor() as executor:
        future = executor.submit(int)
        assert future.result(LONG_S) == 0
        monkeypatch.setattr(future, "done", lambda: False)
        pool._end(future, ValueError())
        assert future.exception() is None
