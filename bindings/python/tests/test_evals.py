"""Live tuples that workers evaluate: each tuple comes once, whoever dies, and who waits is told why."""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import logging
import os
import signal
import subprocess
import sys
import threading
import time

import numpy
import pytest
from conftest import LONG_S

import quintet
from quintet import aio, evaluating, masters, presence, tasks, worker_threads
from quintet.worker import work


@pytest.fixture(params=["embedded", "served"])
def space(request):
    """Of which somebody does the live tuples."""
    if request.param == "served":
        request.getfixturevalue("worker")()
    with quintet.connect() as lab:
        yield lab.space


def square(number):
    return number * number


def pids(space, name, number):
    """The processes that say so with ("began", name, pid), in a list of that length."""
    return [space.take("began", name, int, timeout=LONG_S)[2] for _ in range(number)]


def say_and_wait(name):
    """Says who it is, and waits for ("go on", name). In a worker, which has a connection of its own."""
    with quintet.connect() as lab:
        lab.space.out("began", name, os.getpid())
        lab.space.read("go on", name)
    return os.getpid()


def wait_until(is_so):
    end = time.monotonic() + LONG_S
    while not is_so():
        assert time.monotonic() < end
        threading.Event().wait(0.01)


def is_empty(space):
    """But for workers' announcements."""
    status = space.status()
    return status.tuples == space.count(tasks.WORKER, int, int) and space.count(masters.MASTER, str, str) == 0


def test_the_tuple_comes_and_leaves_nothing_else(space):
    evaluation = space.eval("square", 7, functools.partial(square, 7), lambda: "text", on="workers")
    assert evaluation.result(LONG_S) is None
    assert space.take_if("square", 7, int, str) == ("square", 7, 49, "text"), "it is there before the evaluation is over"
    assert evaluation.done() and not evaluation.is_alive() and not evaluation.cancel()
    wait_until(lambda: is_empty(space))


def test_many_are_evaluated_in_order(space):
    evaluations = [space.eval("n", n, functools.partial(square, n), on="workers") for n in range(100)]
    done, _ = concurrent.futures.wait(evaluations, LONG_S)
    assert len(done) == 100
    found = space.collect("n", int, int)
    assert sorted(found) == [("n", n, n * n) for n in range(100)]


def test_arrays_and_values_of_numpy(space):
    rows = numpy.arange(100_000.0)
    space.eval("sum", rows, functools.partial(numpy.sum, rows), functools.partial(numpy.outer, rows[:300], rows[:300]), on="workers").result(LONG_S)
    _, same, total, product = space.take("sum", quintet.array(float, 1), numpy.float64, quintet.array(float, 2))
    assert (same == rows).all() and total == rows.sum() and product[299, 299] == 299.0**2


def test_a_failure_is_a_tuple_and_is_raised(space):
    def fail():
        raise KeyError("no such thing")

    with pytest.raises(KeyError, match="no such thing") as raised:
        space.eval("bad", fail, on="workers").result(LONG_S)
    assert "in fail" in str(raised.value.__cause__)
    failed = space.take_if("quintet.failed", str, str)
    assert failed[1].endswith("fail") and "no such thing" in failed[2]
    assert space.take_if("bad", int) is None


@pytest.mark.parametrize(
    ("function", "error", "text"),
    [
        (lambda: object(), quintet.BadValue, "field 1"),
        (functools.partial(sys.exit, 3), SystemExit, "3"),
    ],
)
def test_whatever_goes_wrong_is_a_failure(space, function, error, text):
    evaluation = space.eval("bad", function, on="workers")
    assert isinstance(evaluation.exception(LONG_S), error)
    _, name, told = space.take("quintet.failed", str, str, timeout=LONG_S)
    assert name == evaluation.name and error.__name__ in told and text in told
    assert space.status().redone == 0, "it was done once"
    space.eval("good", functools.partial(square, 2), on="workers").result(LONG_S)


def test_a_tuple_that_the_space_can_never_hold_is_a_failure(tmp_path):
    with quintet.serve(tmp_path / "space", max_bytes=100_000) as server, quintet.connect(server.address) as lab:
        threading.Thread(target=work, args=(lab.space, 0), daemon=True).start()
        with pytest.raises(quintet.TooLarge):
            lab.space.eval("bytes", functools.partial(bytes, 200_000), on="workers").result(LONG_S)
        assert "TooLarge" in lab.space.take("quintet.failed", "bytes", str, timeout=LONG_S)[2]
        assert lab.space.status().redone == 0, "it was done once"


def test_what_a_worker_cannot_unpickle_is_a_failure(worker, tmp_path, monkeypatch):
    (tmp_path / "here_only.py").write_text("def own():\n    return 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    import here_only

    worker()
    with quintet.connect() as lab:
        with pytest.raises(ModuleNotFoundError, match="here_only"):
            lab.space.eval("x", here_only.own, on="workers").result(LONG_S)
        assert lab.space.take("quintet.failed", "own", str, timeout=LONG_S)


def test_what_cannot_be_asked_for_is_told_at_once(space):
    with pytest.raises(TypeError, match="pickle"):
        space.eval("x", threading.Lock(), on="workers")
    with pytest.raises(quintet.BadValue, match="thread.*workers"):
        space.eval("x", int, on="the moon")
    assert space.count(tasks.TASK, str, int, bytes) == 0


@pytest.mark.parametrize("kills", [1, 3])
def test_a_killed_worker_costs_an_attempt_and_the_tuple_comes_once(worker, kills):
    with quintet.connect() as lab:
        space = lab.space
        evaluation = space.eval("who", functools.partial(say_and_wait, "killed"), on="workers")
        for _ in range(kills):
            process = worker()
            assert pids(space, "killed", 1) == [process.pid]
            process.kill()
        survivor = worker()
        assert pids(space, "killed", 1) == [survivor.pid]
        space.out("go on", "killed")
        evaluation.result(LONG_S)
        assert space.collect("who", int) == [("who", survivor.pid)]
        assert space.status().redone == 2 * kills, "its task, and its presence"


def test_workers_killed_at_any_moment_lose_and_double_no_tuple(worker):
    """Killed while they acknowledge, too: each takes a fraction of a millisecond, and so do these."""
    number = 300
    with quintet.connect() as lab:
        space = lab.space
        workers = [worker(), worker()]
        evaluations = [space.eval("n", n, functools.partial(square, n), on="workers") for n in range(number)]
        for killed in range(12):
            workers.pop(0).kill()
            workers.append(worker())
            wait_until(lambda done=killed: sum(e.done() for e in evaluations) > done * 5)
        for evaluation in evaluations:
            evaluation.result(LONG_S)
        assert sorted(space.collect("n", int, int)) == [("n", n, n * n) for n in range(number)]


def test_a_worker_that_was_frozen_too_long_puts_no_second_tuple(worker, socket, monkeypatch):
    monkeypatch.setenv("QUINTET_LEASE_MS", "500")
    with quintet.connect() as lab:
        space = lab.space
        frozen = worker()
        evaluation = space.eval("who", functools.partial(say_and_wait, "frozen"), on="workers")
        assert pids(space, "frozen", 1) == [frozen.pid]
        os.kill(frozen.pid, signal.SIGSTOP)
        other = worker()
        assert pids(space, "frozen", 1) == [other.pid]
        space.out("go on", "frozen")
        evaluation.result(LONG_S)
        os.kill(frozen.pid, signal.SIGCONT)
        # It does the next one, so it is over with that.
        other.kill()
        space.eval("next", os.getpid, on="workers").result(LONG_S)
        assert space.take("next", int)[1] == frozen.pid
        assert space.collect("who", int) == [("who", other.pid)]


def test_one_whose_workers_all_die_fails(worker):
    with quintet.connect() as lab:
        evaluation = lab.space.eval("never", die, on="workers")
        for _ in range(5):
            worker().wait(LONG_S)
        with pytest.raises(quintet.TaskFailed, match="5 attempts"):
            evaluation.result(LONG_S)
        assert "5 attempts" in lab.space.take("quintet.failed", "die", str, timeout=LONG_S)[2]
        wait_until(lambda: presence.count(lab) == 0)
        wait_until(lambda: is_empty(lab.space))


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def test_one_that_no_worker_has_can_be_cancelled(worker):
    with quintet.connect() as lab:
        space = lab.space
        evaluation = space.eval("x", int, on="workers")
        assert evaluation.cancel() and evaluation.cancelled() and evaluation.cancel()
        with pytest.raises(concurrent.futures.CancelledError):
            evaluation.result(LONG_S)
        begun = space.eval("who", functools.partial(say_and_wait, "begun"), on="workers")
        worker()
        pids(space, "begun", 1)
        assert not begun.cancel() and begun.is_alive()
        space.out("go on", "begun")
        begun.result(LONG_S)
        assert space.count("x", int) == 0


def test_without_a_worker_whoever_asks_is_told(socket, monkeypatch, caplog):
    monkeypatch.setenv("QUINTET_SPACE", str(socket))
    monkeypatch.setattr(evaluating, "QUIET_S", 0.1)
    with quintet.connect() as lab:
        evaluation = lab.space.eval("x", functools.partial(square, 3), on="workers")
        with pytest.raises(quintet.TimedOut, match="square was not evaluated within 0.01 s: no worker has announced itself"):
            evaluation.result(0.01)
        with pytest.raises(TimeoutError, match="no worker"):
            evaluation.exception(0.01)
        evaluation.join(0.01)
        assert evaluation.is_alive()
        with caplog.at_level(logging.WARNING, "quintet"):
            wait_until(lambda: "no worker" in caplog.text)
        assert [row.fields[0] for row in lab.space.list(tasks.TASK, str, int, bytes)] == [tasks.TASK], "others see it as well"


def test_more_evals_than_workers_wait_and_are_told_for_what(worker):
    with quintet.connect() as lab:
        space = lab.space
        worker()
        first = space.eval("who", functools.partial(say_and_wait, "first"), on="workers")
        pids(space, "first", 1)
        second, third = (space.eval("n", n, functools.partial(square, n), on="workers") for n in (2, 3))
        with pytest.raises(quintet.TimedOut, match=r"it waits for a worker, with 2 tasks in all; workers: 1"):
            third.result(0.01)
        with pytest.raises(quintet.TimedOut, match="the worker .* has had it for"):
            first.result(0.01)
        assert [row.template[:2] for row in space.waiting() if row.operation == "read"] == [("go on", "first")]
        space.out("go on", "first")
        third.result(LONG_S)
        assert space.collect("n", int, int) == [("n", 2, 4), ("n", 3, 9)]
        second.result(LONG_S)


ASKS = """
import functools, os, sys, quintet
lab = quintet.connect()
from test_evals import say_and_wait
for name in sys.argv[1:]:
    lab.space.eval("who", functools.partial(say_and_wait, name), on="workers")
print("asked", flush=True)
sys.stdin.read()
"""


def test_a_live_tuple_outlives_who_asked_for_it(worker, socket):
    process = worker()
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(__file__)}
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", ASKS, "a", "b"], env=environment, stdin=pipe, stdout=pipe, text=True) as asks:
        assert asks.stdout.readline() == "asked\n"
        asks.kill()
    with quintet.connect() as lab:
        # The worker has seen that it is gone.
        wait_until(lambda: list(lab.space.list(masters.MASTER, str, str)) == [])
        for name in ("a", "b"):
            assert pids(lab.space, name, 1) == [process.pid]
            lab.space.out("go on", name)
            assert lab.space.take("who", int, timeout=LONG_S) == ("who", process.pid)
        lab.space.collect("go on", str)
        wait_until(lambda: is_empty(lab.space))
        wait_until(lambda: sorted(row.template[0] for row in lab.space.waiting()) == [masters.MASTER, tasks.TASK])


def test_a_closed_lab_ends_what_waits(socket):
    lab = quintet.connect(str(socket))
    evaluation = lab.space.eval("x", int, on="workers")
    lab.close()
    assert isinstance(evaluation.exception(LONG_S), quintet.Closed)
    with quintet.connect(str(socket)) as other:
        assert other.space.count(tasks.TASK, str, int, bytes) == 1, "the live tuple is the space's"


def test_an_executors_own_workers_do_live_tuples():
    with quintet.Executor(2) as executor:
        space = executor.lab.space
        space.eval("who", os.getpid, on="workers").result(LONG_S)
        assert space.take("who", int)[1] != os.getpid()
        assert executor.submit(square, 3).result(LONG_S) == 9


def test_named_spaces_have_their_own():
    with quintet.connect() as lab:
        orders = lab.create_space("orders")
        orders.eval("x", functools.partial(square, 3), on="workers").result(LONG_S)
        lab.space.eval("x", functools.partial(square, 4), on="workers").result(LONG_S)
        assert (orders.take("x", int), lab.space.take("x", int)) == (("x", 9), ("x", 16))


def test_threads_have_the_same_handle():
    with quintet.connect() as lab:
        evaluation = lab.space.eval("x", functools.partial(square, 3))
        evaluation.join(LONG_S)
        assert lab.space.take_if("x", int) == ("x", 9) and evaluation.result() is None
        with pytest.raises(KeyError):
            lab.space.eval("x", functools.partial({}.__getitem__, "y")).result(LONG_S)
        ends = threading.Event()
        waiting = lab.space.eval("x", ends.wait)
        with pytest.raises(quintet.TimedOut, match="a thread of this process"):
            waiting.result(0.01)
        assert not waiting.cancel()
        ends.set()
        waiting.result(LONG_S)


def test_a_forked_child_has_evaluations_of_its_own(worker, socket):
    worker()
    with quintet.connect() as lab:
        lab.space.eval("x", int, on="workers").result(LONG_S)
        child = os.fork()
        if child == 0:
            with quintet.connect() as own:
                own.space.eval("child", functools.partial(square, 5), on="workers").result(LONG_S)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert lab.space.take("child", int, timeout=LONG_S) == ("child", 25)


def test_a_forked_child_has_threads_of_its_own():
    with quintet.connect() as lab:
        lab.space.eval("x", int, on="workers").result(LONG_S)
        child = os.fork()
        if child == 0:
            # A space of the child's may lie where the parent's did.
            os._exit(len(worker_threads._served))
        assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("on", ["thread", "workers"])
def test_asyncio(on):
    async def main():
        async with aio.connect() as lab:
            evaluation = await lab.space.eval("square", functools.partial(square, 6), on=on)
            assert await lab.space.take("square", int) == ("square", 36)
            await evaluation
            with pytest.raises(KeyError):
                await (await lab.space.eval("bad", functools.partial({}.__getitem__, "y"), on=on))
            assert (await lab.space.take("quintet.failed", str, str))[1] == "dict.__getitem__"

    asyncio.run(asyncio.wait_for(main(), LONG_S))


def test_a_cancelled_await_takes_a_live_tuple_back(socket):
    async def main():
        async with aio.connect(str(socket)) as lab:
            evaluation = await lab.space.eval("x", int, on="workers")
            assert await lab.space.count(tasks.TASK, str, int, bytes) == 1
            evaluation.cancel()
            with pytest.raises(asyncio.CancelledError):
                await evaluation
            while await lab.space.count(tasks.TASK, str, int, bytes) > 0:
                await asyncio.sleep(0)

    asyncio.run(asyncio.wait_for(main(), LONG_S))
