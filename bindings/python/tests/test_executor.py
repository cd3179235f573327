"""The executor and joblib's backend, with workers in threads and in processes, also when workers die."""

from __future__ import annotations

import asyncio
import collections
import concurrent.futures
import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import types

import pytest
from conftest import LONG_S

import quintet
from quintet import presence, tasks
from quintet.connecting import embedded
from quintet.worker import _work_present, work
from quintet.worker_threads import EMBEDDED_WORKERS


class OwnError(Exception):
    """Of this module, which a worker does not know."""


def fail(text):
    raise KeyError(text)


def never_end():
    """Until a signal's handler raises, also if the signal comes before this."""
    while True:
        threading.Event().wait(0.01)


class Unreadable:
    """Cannot be unpickled."""

    def __reduce__(self):
        return fail, ("unreadable",)


class UnreadableResult:
    """Cannot be unpickled, and says so with what is no Exception."""

    def __reduce__(self):
        return sys.exit, ("unreadable",)


@pytest.fixture(params=["threads", "served", "processes"])
def executor(request):
    if request.param == "served":
        request.getfixturevalue("worker")()
    with quintet.Executor(2, threads=request.param == "threads") as executor:
        yield executor


def test_calls(executor):
    assert executor.submit(pow, 2, 10).result(LONG_S) == 1024
    assert list(executor.map(lambda a, b: a * b, range(20), range(20))) == [n * n for n in range(20)]
    futures = [executor.submit(divmod, n, 3) for n in range(9)]
    done, _ = concurrent.futures.wait(futures, LONG_S)
    assert len(done) == 9


def test_failures(executor):
    with pytest.raises(KeyError, match="no such") as raised:
        executor.submit(fail, "no such").result(LONG_S)
    assert "in fail" in str(raised.value.__cause__)
    with pytest.raises(KeyError, match="unreadable"):
        executor.submit(len, Unreadable()).result(LONG_S)
    with pytest.raises(SystemExit):
        executor.submit(sys.exit, 3).result(LONG_S)
    with pytest.raises(quintet.TaskFailed, match="SystemExit: unreadable"):
        executor.submit(UnreadableResult).result(LONG_S)
    with pytest.raises(TypeError, match="pickle"):
        executor.submit(threading.Lock).result(LONG_S)
    assert executor.submit(pow, 2, 2).result(LONG_S) == 4, "the worker lives"


@pytest.mark.parametrize("error", [asyncio.CancelledError, KeyboardInterrupt, GeneratorExit])
def test_whatever_a_task_raises_is_its_failure(executor, error):
    def fail_so():
        raise error("so")

    for _ in range(EMBEDDED_WORKERS + 1):
        with pytest.raises(error, match="so"):
            executor.submit(fail_so).result(LONG_S)
    assert executor.submit(pow, 2, 2).result(LONG_S) == 4, "the workers live"


def test_an_exception_that_cannot_be_told_is_a_failure(executor):
    class Untold(Exception):
        def __str__(self):
            raise asyncio.CancelledError

        def __reduce__(self):
            raise asyncio.CancelledError

    def fail_so():
        raise Untold

    with pytest.raises(quintet.TaskFailed, match="Untold"):
        executor.submit(fail_so).result(LONG_S)
    assert executor.submit(pow, 2, 2).result(LONG_S) == 4, "the workers live"


def test_a_result_that_the_space_can_never_hold_fails_its_task(tmp_path):
    with quintet.serve(tmp_path / "space", max_bytes=100_000) as server, quintet.connect(server.address) as lab:
        threading.Thread(target=work, args=(lab.space, 0), daemon=True).start()
        with quintet.Executor(lab) as executor:
            with pytest.raises(quintet.TooLarge):
                executor.submit(bytes, 200_000).result(LONG_S)
            assert executor.submit(pow, 2, 3).result(LONG_S) == 8, "the worker lives"
            assert lab.space.status().redone == 0, "the task was done once"


def test_an_exception_of_another_module_is_the_same_class_here(executor):
    def own():
        raise OwnError("mine")

    with pytest.raises((OwnError, quintet.TaskFailed), match="mine"):
        executor.submit(own).result(LONG_S)


def test_cancelling_takes_the_task_back(socket):
    with quintet.connect(f"quintet://{socket}") as lab:
        executor = quintet.Executor(lab)
        kept, cancelled = executor.submit(pow, 2, 3), executor.submit(pow, 2, 4)
        assert cancelled.cancel() and cancelled.cancelled() and cancelled.cancel()
        assert lab.space.count(tasks.TASK, str, int, bytes) == 1
        with lab.space.lease(tasks.TASK, str, int, bytes) as task:
            assert not kept.cancel(), "a worker has it"
            task.acknowledge((tasks.RESULT, executor.pool, task[2], *tasks.run(task[3]), 0, 1))
        assert kept.result(LONG_S) == 8
        last = executor.submit(pow, 2, 5)
        executor.shutdown(cancel_futures=True)
        assert last.cancelled() and not lab.closed
        with pytest.raises(RuntimeError, match="shut down"):
            executor.submit(pow, 2, 6)


def test_a_task_that_kills_its_workers_fails(socket):
    with quintet.connect(f"quintet://{socket}") as lab, quintet.Executor(lab) as executor:
        future = executor.submit(pow, 2, 3)
        for _ in range(5):
            lab.space.lease(tasks.TASK, str, int, bytes, timeout=LONG_S).release()
        with pytest.raises(quintet.TaskFailed, match="after 5 attempts"):
            future.result(LONG_S)


def test_a_space_that_ends_ends_every_future(tmp_path):
    with quintet.serve(tmp_path / "space") as server, quintet.connect(server.address) as lab:
        executor = quintet.Executor(lab)
        future = executor.submit(pow, 2, 3)
        server.stop()
        with pytest.raises(ConnectionError):
            future.result(LONG_S)
        with pytest.raises(concurrent.futures.BrokenExecutor, match="lost its space") as raised:
            executor.submit(pow, 2, 3)
        assert raised.value.__cause__ is future.exception()
        executor.shutdown()


def test_a_shutdown_that_cannot_cancel_ends_all_the_same(tmp_path, monkeypatch):
    class Silent:
        def __init__(self, space):
            self._space = space

        def begin(self):
            return types.SimpleNamespace(out=self._space.begin().out, take=self._space.begin().take, take_if=self._refuse)

        def _refuse(self, *_template):
            raise quintet.PeerSilent(quintet.Code.PeerSilent)

        def __getattr__(self, name):
            return getattr(self._space, name)

    with quintet.serve(tmp_path / "space") as server:
        monkeypatch.setenv("QUINTET_SPACE", str(tmp_path / "space"))
        executor = quintet.Executor()
        future = executor.submit(pow, 2, 3)
        executor._pool.space = Silent(executor.lab.space)
        executor.shutdown(wait=False, cancel_futures=True)
        assert not future.cancelled()
        server.stop()
        with pytest.raises(ConnectionError):
            future.result(LONG_S)
        executor.shutdown()
        assert executor.lab.closed


def test_a_killed_workers_task_is_held_by_another(worker, monkeypatch):
    monkeypatch.setenv("QUINTET_EVENTS", "1")
    first = worker()
    with quintet.connect() as lab:
        future = quintet.Executor(lab).submit(signal.pause)
        lab.space.take(tasks.EVENT, tasks.HOLDING, 0, future.number, 1, timeout=LONG_S)
        worker()
        first.kill()
        event = lab.space.take(tasks.EVENT, tasks.HOLDING, 1, future.number, int, timeout=LONG_S)
        assert event[4] == 2, "the second attempt"
        assert lab.space.status().redone == 2, "the task, and the worker's presence"
        assert not future.done()


def test_a_result_of_a_second_attempt_is_right(worker, monkeypatch):
    monkeypatch.setenv("QUINTET_EVENTS", "1")
    holder = worker()
    lab = quintet.connect()

    def suicide_once(first_pid):
        if os.getpid() == first_pid:
            os.kill(first_pid, signal.SIGKILL)
        return 42

    with lab, quintet.Executor(lab) as executor:
        future = executor.submit(suicide_once, holder.pid)
        holder.wait(LONG_S)
        worker()
        assert future.result(LONG_S) == 42
        assert lab.space.take(tasks.EVENT, tasks.DONE, 1, future.number, int, timeout=LONG_S)[4] == 2


@pytest.mark.parametrize("events", ["0", "1"])
def test_workers_join_a_space_that_is_full_of_tasks(tmp_path, monkeypatch, events):
    monkeypatch.setenv("QUINTET_EVENTS", events)
    with quintet.serve(tmp_path / "space", max_tuples=8) as server, quintet.connect(server.address) as lab:
        space, told = lab.space, collections.Counter()

        def watch():
            with contextlib.suppress(*quintet.errors.GONE):
                while True:
                    told[space.take(tasks.EVENT, str, int, int, int)[1]] += 1

        executor, futures = quintet.Executor(lab), []
        submit = threading.Thread(target=lambda: futures.extend(executor.submit(pow, n, 2) for n in range(50)), daemon=True)
        for thread in (threading.Thread(target=watch, daemon=True), submit):
            thread.start()
        while space.status().parked == 0:
            threading.Event().wait(0.001)
        with quintet.connect(server.address) as first, quintet.connect(server.address) as second:
            for rank, other in enumerate((first, second)):
                threading.Thread(target=_work_present, args=(other.space, rank), daemon=True).start()
            submit.join(LONG_S)
            assert [future.result(LONG_S) for future in futures] == [n * n for n in range(50)]
            for rank in range(2):
                space.read(tasks.WORKER, rank, os.getpid(), timeout=LONG_S)
            assert executor.workers() == 2, "both are present"
        if events == "1":
            while told[tasks.DONE] < 50:
                threading.Event().wait(0.001)
            assert told == {tasks.SUBMITTED: 50, tasks.HOLDING: 50, tasks.DONE: 50}


def _grow(data):
    return data + bytes(50_000)


def test_results_larger_than_their_tasks_find_room(tmp_path):
    with quintet.serve(tmp_path / "space", max_bytes=1_000_000) as server, quintet.connect(server.address) as lab:
        executor = quintet.Executor(lab)
        # A connection each: what one waits for keeps no other waiting. Tasks enough to fill the space three times over.
        others = [quintet.connect(server.address) for _ in range(4)]
        for rank, other in enumerate(others):
            threading.Thread(target=_work_present, args=(other.space, rank), daemon=True).start()
        futures = [executor.submit(_grow, bytes(10_000)) for _ in range(300)]
        assert all(len(future.result(LONG_S)) == 60_000 for future in futures)
        executor.shutdown()
        for other in others:
            other.close()


def test_an_executor_bounds_what_it_puts_ahead(socket):
    with quintet.connect(f"quintet://{socket}") as lab:
        executor = quintet.Executor(lab, ahead_tasks=3)
        futures = [executor.submit(pow, n, 2) for n in range(10)]
        assert lab.space.count(tasks.TASK, str, int, bytes) == 3
        assert futures[9].cancel() and futures[9].cancelled(), "it was never put"
        with lab.space.lease(tasks.TASK, str, int, bytes) as task:
            task.acknowledge((tasks.RESULT, executor.pool, task[2], *tasks.run(task[3]), 0, 1))
        assert futures[0].result(LONG_S) == 0
        lab.space.read(tasks.TASK, executor.pool, futures[3].number, bytes, timeout=LONG_S)
        assert lab.space.count(tasks.TASK, str, int, bytes) == 3
        threading.Thread(target=work, args=(lab.space, 0), daemon=True).start()
        executor.shutdown()
        assert [future.result() for future in futures[:9]] == [n * n for n in range(9)]


def test_an_executor_bounds_the_bytes_it_puts_ahead(socket):
    with quintet.connect(f"quintet://{socket}") as lab:
        executor = quintet.Executor(lab, ahead_bytes=25_000)
        futures = [executor.submit(len, bytes(size)) for size in (30_000, 10_000, 10_000, 10_000)]
        assert lab.space.count(tasks.TASK, str, int, bytes) == 1, "one is put, whatever its size"
        threading.Thread(target=work, args=(lab.space, 0), daemon=True).start()
        assert [future.result(LONG_S) for future in futures] == [30_000, 10_000, 10_000, 10_000]
        executor.shutdown()


def test_a_task_that_a_callback_submits_to_a_full_space_is_done(tmp_path):
    with quintet.serve(tmp_path / "space", max_tuples=4) as server, quintet.connect(server.address) as lab:
        executor, more = quintet.Executor(lab), queue.Queue()

        def fill_and_submit(_):
            with contextlib.suppress(quintet.SpaceFull):
                while True:
                    lab.space.out("filling", 1, timeout=0.0)
            more.put(executor.submit(pow, 3, 3))

        executor.submit(pow, 2, 2).add_done_callback(fill_and_submit)
        threading.Thread(target=work, args=(lab.space, 0), daemon=True).start()
        second = more.get(timeout=LONG_S)
        assert not second.done()
        for _ in range(2):
            lab.space.take("filling", int, timeout=LONG_S)
        assert second.result(LONG_S) == 27
        executor.shutdown()


def test_a_worker_is_present_from_when_there_is_room(tmp_path):
    with quintet.serve(tmp_path / "space", max_tuples=2) as server, quintet.connect(server.address) as lab:
        space = lab.space
        space.out_many([("filling", 1), ("filling", 2)])
        with presence.held(space, 0), presence.announced(space, 0):
            assert space.status().parked == 2
        assert (space.status().parked, space.status().waiters) == (0, 0), "it was never there"
        with presence.held(space, 0), presence.announced(space, 0):
            for _ in range(2):
                space.take("filling", int)
            assert (space.status().parked, space.status().leases) == (0, 1), "its presence is under a lease"
            assert presence.count(lab) == 1
        assert (space.status().tuples, space.status().leases) == (0, 0)


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [("CLUSTER", "8", "WrongCluster"), ("RANK", "x", "BadValue"), ("LEASE_MS", "abc", "BadValue"), ("SPACE", "/none", "Unreachable")],
)
def test_a_worker_that_cannot_begin_says_why(socket, name, value, code):
    environment = {**os.environ, "QUINTET_SPACE": str(socket), f"QUINTET_{name}": value}
    command = [sys.executable, "-m", "quintet.worker"]
    worker = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LONG_S)
    assert worker.returncode == quintet.errors.from_code(quintet.Code[code], "").exit_status
    assert worker.stderr.startswith("quintet.worker: ") and worker.stderr.count("\n") == 1


def test_workers_end_quietly(worker, socket):
    process = worker()
    lab = quintet.connect()
    lab.space.read(tasks.WORKER, 0, process.pid, timeout=LONG_S)
    process.terminate()
    assert process.wait(LONG_S) == 0 and process.stderr.read() == ""


def test_a_killed_workers_announcement_ends_with_it(worker):
    first, second = worker(), worker()
    with quintet.connect() as lab, quintet.Executor(lab) as executor:
        for process in (first, second):
            lab.space.read(tasks.WORKER, int, process.pid, timeout=LONG_S)
        assert executor.workers() == 2
        first.kill()
        # The space has noticed the death.
        lab.space.read(presence.PRESENCE, 0, first.pid, str, timeout=LONG_S)
        assert executor.workers() == 1
        assert lab.space.count(tasks.WORKER, int, first.pid) == 0
        assert lab.space.count(presence.PRESENCE, int, int, str) == 0
        assert executor.submit(pow, 2, 3).result(LONG_S) == 8
        assert executor.workers() == 1


def test_the_dead_of_one_space_are_not_those_of_another(tmp_path):
    with quintet.serve(tmp_path / "a") as a, quintet.serve(tmp_path / "b") as b:
        with quintet.connect(a.address) as lab, quintet.connect(b.address) as other:
            lab.space.out(presence.PRESENCE, 0, 1, "not under a lease: its worker is dead")
            assert presence.count(lab) == presence.count(other) == 0
            assert (presence.found_dead(lab), presence.found_dead(other)) == (1, 0)
        with quintet.connect(a.address) as lab:
            assert presence.found_dead(lab) == 1, "by another connection too"


def test_a_terminated_worker_takes_its_announcement_back(worker):
    process = worker()
    with quintet.connect() as lab:
        lab.space.read(tasks.WORKER, 0, process.pid, timeout=LONG_S)
        process.terminate()
        assert process.wait(LONG_S) == 0
        status = lab.space.status()
        assert (status.tuples, status.hidden, status.redone) == (0, 0, 0)


def test_a_worker_ends_with_its_space(tmp_path, monkeypatch):
    with quintet.serve(tmp_path / "space") as server, quintet.connect(server.address) as lab:
        environment = {**os.environ, "QUINTET_SPACE": str(tmp_path / "space")}
        process = subprocess.Popen([sys.executable, "-m", "quintet.worker"], env=environment, stderr=subprocess.PIPE)
        lab.space.take(tasks.WORKER, int, process.pid, timeout=LONG_S)
    _, text = process.communicate(timeout=LONG_S)
    assert (process.returncode, text) == (0, b"")


def test_a_task_is_given_back_on_sigterm(worker, monkeypatch):
    monkeypatch.setenv("QUINTET_EVENTS", "1")
    process = worker()
    lab = quintet.connect()
    with lab:
        executor = quintet.Executor(lab)
        future = executor.submit(never_end)
        lab.space.take(tasks.EVENT, tasks.HOLDING, 0, future.number, 1, timeout=LONG_S)
        process.terminate()
        assert process.wait(LONG_S) == 0
        assert lab.space.lease(tasks.TASK, str, int, bytes, timeout=LONG_S).attempt == 1, "the task is not blamed"


def test_a_task_outlives_any_number_of_workers_that_are_asked_to_end(worker, monkeypatch):
    monkeypatch.setenv("QUINTET_EVENTS", "1")
    with quintet.connect() as lab, quintet.Executor(lab) as executor:
        future = executor.submit(never_end)
        for n in range(7):
            process = worker()
            lab.space.take(tasks.EVENT, tasks.HOLDING, n, future.number, 1, timeout=LONG_S)
            process.terminate()
            assert process.wait(LONG_S) == 0
        assert not future.done() and lab.space.status().dead_letters == 0
        assert future.cancel()


@pytest.fixture
def unlucky_thread(monkeypatch):
    """Has the next thread of that name not start."""

    def next_one(name: str) -> None:
        start = threading.Thread.start

        def fail(thread):
            if thread.name == name:
                monkeypatch.setattr(threading.Thread, "start", start)
                raise KeyboardInterrupt
            start(thread)

        monkeypatch.setattr(threading.Thread, "start", fail)

    return next_one


def test_an_executor_whose_workers_could_not_be_started_starts_them_the_next_time(unlucky_thread):
    with quintet.connect() as lab:
        unlucky_thread("quintet-worker-0")
        with pytest.raises(KeyboardInterrupt):
            quintet.Executor(lab)
        with quintet.Executor(lab) as executor:
            assert executor.submit(pow, 2, 3).result(LONG_S) == 8


@pytest.mark.parametrize("name", ["quintet-worker-0", "quintet-collect"])
def test_an_executor_that_could_not_be_made_closes_its_lab(unlucky_thread, monkeypatch, name):
    made = []
    monkeypatch.setattr("quintet.executor.embedded", lambda: made.append(embedded()) or made[0])
    unlucky_thread(name)
    with pytest.raises(KeyboardInterrupt):
        quintet.Executor(threads=True)
    assert made[0].closed


class InterruptedSpace:
    """A space in which an interrupt comes as soon as a task was taken back."""

    def __init__(self, space: quintet.Space) -> None:
        self._space = space
        self._interrupts = iter([KeyboardInterrupt])

    def __getattr__(self, name):
        return getattr(self._space, name)

    def begin(self):
        return types.SimpleNamespace(out=self._space.begin().out, take=self._space.begin().take, take_if=self._take_if)

    def _take_if(self, *template):
        self.taking = self._space.begin().take_if(*template)
        return self

    def result(self):
        taken = self.taking.result()
        for interrupt in self._interrupts:
            raise interrupt
        return taken


def test_a_cancel_that_was_interrupted_has_ended_its_future(socket):
    with quintet.connect(f"quintet://{socket}") as lab:
        executor = quintet.Executor(lab)
        future = executor.submit(pow, 2, 3)
        executor._pool.space = InterruptedSpace(lab.space)
        with pytest.raises(KeyboardInterrupt):
            future.cancel()
        assert future.cancelled()
        executor.shutdown()
