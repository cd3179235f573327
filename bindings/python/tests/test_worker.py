"""A worker process that is asked to end leaves nothing behind, whenever that comes."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

import pytest
from conftest import LONG_S

import quintet
from quintet import presence, tasks
from quintet.ending import Ending

ASKED_TO_END = """
import contextlib, os, signal, sys, types
import quintet
from quintet import worker

class Space:
    '''A space that has the worker asked to end as soon as a tuple of that name was put, before anybody knows of it.'''
    def __init__(self, space):
        self._space = space

    def __getattr__(self, name):
        return getattr(self._space, name)

    def begin(self):
        return Begin(self._space.begin())

class Begin:
    def __init__(self, begin):
        self._begin = begin

    def __getattr__(self, name):
        return getattr(self._begin, name)

    def out(self, *fields):
        put = self._begin.out(*fields)
        put.result()
        if fields[0] == sys.argv[1]:
            os.kill(os.getpid(), getattr(signal, sys.argv[2]))
        return put

@contextlib.contextmanager
def connect():
    with quintet.connect() as lab:
        yield types.SimpleNamespace(is_embedded=False, space=Space(lab.space))

worker.connect = connect
sys.exit(worker.main())
"""


@pytest.mark.parametrize("name", [tasks.WORKER, presence.PRESENCE])
@pytest.mark.parametrize("number", ["SIGTERM", "SIGINT"])
def test_a_worker_that_is_asked_to_end_while_it_begins_leaves_nothing(socket, monkeypatch, name, number):
    monkeypatch.setenv("QUINTET_SPACE", str(socket))
    ended = subprocess.run([sys.executable, "-c", ASKED_TO_END, name, number], timeout=LONG_S, stderr=subprocess.PIPE, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
    with quintet.connect() as lab:
        while lab.space.status().hidden > 0:
            threading.Event().wait(0)
        assert lab.space.status().tuples == 0


def test_a_worker_ends_where_it_waits_and_not_between():
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    ending, went_on = Ending(), []

    def wait():
        signal.raise_signal(signal.SIGTERM)
        went_on.append("in the wait")

    def undo():
        try:
            ending.within(wait)
        finally:
            signal.raise_signal(signal.SIGTERM)
            went_on.append("what undoes it")

    ending.listen()
    try:
        with pytest.raises(tasks.Ended):
            undo()
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(tasks.Ended):
            ending.within(went_on.append, "the next wait")
    finally:
        for number, handler in zip((signal.SIGTERM, signal.SIGINT), before):
            signal.signal(number, handler)
    assert went_on == ["what undoes it"]
