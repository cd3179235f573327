"""What an executor says of tasks that wait."""

from __future__ import annotations

import logging
import threading

import pytest
from conftest import LONG_S

import quintet
from quintet import stalls, tasks
from quintet.worker import work


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(stalls, "QUIET_S", 0.0)


@pytest.fixture
def said(caplog):
    """What was said so far; waits for one if asked to."""

    def get(wait: bool) -> list[str]:
        while wait and not caplog.records:
            threading.Event().wait(0.01)
        return [record.getMessage() for record in caplog.records]

    with caplog.at_level(logging.WARNING, logger="quintet"):
        yield get


def test_tasks_without_workers_are_said_once(socket, said):
    with quintet.connect(str(socket)) as lab:
        executor = quintet.Executor(lab)
        futures = [executor.submit(pow, n, 2) for n in range(3)]
        assert f"no worker has announced itself at shm:{socket}" in said(True)[0]
        look = executor._pool._stall.look
        look()
        threading.Thread(target=work, args=(lab.space, 0), daemon=True).start()
        assert [future.result(LONG_S) for future in futures] == [0, 1, 4]
        look()
        executor.shutdown()
        assert len(said(False)) == 1


def test_nothing_is_said_while_workers_do_all_tasks(socket, said):
    with quintet.connect(str(socket)) as lab:
        executor = quintet.Executor(lab)
        future = executor.submit(pow, 2, 3)
        with lab.space.lease(tasks.TASK, str, int, bytes) as task:
            executor._pool._stall.look()
            task.acknowledge((tasks.RESULT, task[1], task[2], *tasks.run(task[3]), 0, 1))
        assert future.result(LONG_S) == 8
        executor._pool._stall.look()
        assert said(False) == []
        executor.shutdown()


def test_a_task_that_keeps_the_worker_it_waits_for_is_said(socket, said):
    def start(lab, rank):
        threading.Thread(target=work, args=(lab.space, rank), daemon=True).start()

    with quintet.connect(str(socket)) as lab, quintet.connect(str(socket)) as other:
        executor = quintet.Executor(lab)
        inner = quintet.Executor(other)
        _shared.update(inner=inner)
        start(lab, 0)
        future = executor.submit(_wait_for_another)
        text = said(True)[0]
        assert f"task {future.number} " in text and "all 1 workers" in text
        with quintet.connect(str(socket)) as third:
            start(third, 1)
            assert future.result(LONG_S) == 8
        inner.shutdown()
        executor.shutdown()


_shared: dict[str, quintet.Executor] = {}
"""What a task of a thread of this process finds."""


def _wait_for_another():
    return _shared["inner"].submit(pow, 2, 3).result(LONG_S)
