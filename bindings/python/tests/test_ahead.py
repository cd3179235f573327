"""Short tasks that a worker leases ahead, and tasks that are put together: whatever becomes of one of them, the others are done."""

from __future__ import annotations

import os
import select
import threading
from types import SimpleNamespace

import pytest
from conftest import LONG_S

import quintet
from quintet import ahead, tasks
from quintet.ahead import Ahead
from quintet.worker import work


def wait_for(pipe):
    """Until another task has written into the pipe."""
    with open(pipe, "rb", buffering=0) as end:
        ready, _, _ = select.select([end], [], [], LONG_S)
        assert ready


def tell(pipe):
    with open(pipe, "wb") as end:
        end.write(b"\n")


def die(_number):
    os.abort()


def put(space, count):
    for number in range(count):
        space.out(tasks.TASK, "pool", number, tasks.dumps((abs, (number,), {})))


def leased(space):
    return space.begin().lease(*ahead.TEMPLATE).result(LONG_S)


@pytest.fixture
def unhurried(monkeypatch):
    """Nothing goes back because this machine is busy."""
    monkeypatch.setattr(ahead, "LOOK_S", LONG_S)


def learnt(space):
    """What a worker has whose tasks were short so far."""
    there = Ahead(space)
    for _ in range(20):
        there.took(0.0)
    return there


def test_more_and_more_short_tasks_are_leased_at_a_time(unhurried):
    with quintet.connect() as lab:
        put(lab.space, 100)
        there, seen = learnt(lab.space), []
        for _ in range(6):
            first = leased(lab.space)
            there.lease_more(first)
            begun = [first]
            while (lease := there.next()) is not None:
                begun.append(lease)
            seen.append(len(begun))
            for lease in begun:
                there.acknowledge(lease, ("done", lease[2]))
            there.settle()
        assert seen == [2, 3, 5, 9, 17, 17]
        assert [lab.space.take("done", int)[1] for _ in range(sum(seen))] == list(range(sum(seen))), "in their order"
        there.end()


@pytest.mark.parametrize("seconds", [0.001, 0.5])
def test_no_task_is_leased_ahead_of_long_ones(seconds):
    with quintet.connect() as lab:
        put(lab.space, 10)
        there = learnt(lab.space)
        there.took(seconds)
        there.took(seconds)
        there.lease_more(leased(lab.space))
        assert there.next() is None


def test_nothing_is_leased_behind_a_task_whose_worker_died():
    with quintet.connect() as lab:
        put(lab.space, 3)
        leased(lab.space).release()
        there, first = learnt(lab.space), leased(lab.space)
        assert (first[2], first.attempt) == (0, 2)
        there.lease_more(first)
        assert there.next() is None


def test_what_is_behind_a_task_whose_worker_died_goes_back(unhurried):
    with quintet.connect() as lab:
        put(lab.space, 5)
        first, second = leased(lab.space), leased(lab.space)
        second.release()
        there = learnt(lab.space)
        there._wanted = 3
        there.lease_more(first)
        again = there.next()
        assert (again[2], again.attempt) == (1, 2)
        assert there.next() is None
        assert lab.space.count(*ahead.TEMPLATE) == 3


def test_a_worker_that_is_asked_to_end_while_it_leases_leaves_no_attempt():
    class Interrupted:
        """A lease that was begun, whose first wait is interrupted."""

        def __init__(self, begun):
            self._begun, self._is_first = begun, True

        def result(self, timeout=None):
            if self._is_first:
                self._is_first = False
                raise tasks.Ended
            return self._begun.result(timeout)

    with quintet.connect() as lab:
        put(lab.space, 6)
        there, first = learnt(lab.space), leased(lab.space)
        there._wanted = 5
        begun = [lab.space.begin().lease_if(*ahead.TEMPLATE) for _ in range(5)]
        begun[2] = Interrupted(begun[2])
        there._space = SimpleNamespace(begin=lambda: SimpleNamespace(lease_if=lambda *_: begun.pop(0)))
        with pytest.raises(tasks.Ended):
            there.lease_more(first)
        ahead.give_back(first)
        there.end()
        again = [leased(lab.space) for _ in range(6)]
        assert sorted(lease[2] for lease in again) == list(range(6))
        assert [lease.attempt for lease in again] == [1] * 6


def test_a_worker_that_is_asked_to_end_waits_once_for_room_for_all_results(monkeypatch):
    now, waits = [0.0], []

    class Full:
        def result(self, timeout):
            waits.append(timeout)
            now[0] += timeout
            raise quintet.TimedOut(quintet.errors.Code.TimedOut, "no room")

    monkeypatch.setattr(ahead, "time", SimpleNamespace(monotonic=lambda: now[0]))
    with quintet.connect() as lab:
        there = Ahead(lab.space)
        there._acknowledging.extend(Full() for _ in range(ahead.MOST))
        there.end()
    assert len(waits) == ahead.MOST and sum(waits) == ahead.SETTLE_S


def test_what_is_ahead_of_a_long_task_is_done_by_others(tmp_path):
    with quintet.Executor(2) as executor:
        for number in range(3):
            pipe = tmp_path / str(number)
            os.mkfifo(pipe)
            # It has a reader and a writer from here on, so that neither task waits to open it.
            with open(os.open(pipe, os.O_RDWR), "rb"):
                # Workers have got used to short ones, so that the last of these have the next ones behind them.
                futures = [executor.submit(abs, -n) for n in range(300)]
                futures += [executor.submit(wait_for, str(pipe)), executor.submit(tell, str(pipe))]
                for future in futures:
                    future.result(LONG_S)


def test_a_task_that_ends_workers_ends_none_of_those_around_it():
    with quintet.Executor(2) as executor:
        futures = [executor.submit(die if n == 150 else abs, n) for n in range(300)]
        for n, future in enumerate(futures):
            if n != 150:
                assert future.result(LONG_S) == n
        with pytest.raises(quintet.TaskFailed, match="after 5 attempts"):
            futures[150].result(LONG_S)


def test_a_burst_of_tasks_goes_through_a_space_that_holds_a_few(tmp_path):
    with quintet.serve(tmp_path / "space", max_tuples=6) as server, quintet.connect(server.address) as lab:
        executor, other = quintet.Executor(lab), quintet.connect(server.address)
        threading.Thread(target=work, args=(other.space, 0), daemon=True).start()
        futures = [executor.submit(abs, -n) for n in range(500)]
        assert [future.result(LONG_S) for future in futures] == list(range(500))
        executor.shutdown()
        other.close()


def test_tasks_of_a_burst_can_be_cancelled(socket):
    with quintet.connect(str(socket)) as lab:
        executor = quintet.Executor(lab)
        futures = [executor.submit(abs, -n) for n in range(1000)]
        for future in futures:
            lab.space.read(tasks.TASK, str, future.number, bytes, timeout=LONG_S)
        assert all(future.cancel() for future in reversed(futures))
        executor.shutdown()
        assert lab.space.count(*ahead.TEMPLATE) == 0
