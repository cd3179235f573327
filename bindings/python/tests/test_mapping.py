"""How `Executor.map` makes tasks of calls: of short ones few, of long ones many; whatever becomes of them, each result comes at its place."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
import time

import pytest
from conftest import LONG_S

import quintet
from quintet import mapping, tasks


def pause(seconds):
    time.sleep(seconds)
    return seconds


def lock_of(number):
    """What cannot be pickled, for the number 3."""
    return threading.Lock() if number == 3 else number


def die_of(number):
    if number == 70:
        os.abort()
    return number


@pytest.fixture(scope="module")
def own():
    with quintet.Executor(2) as executor:
        yield executor


@pytest.mark.parametrize(("seconds", "calls", "least", "most"), [(0.0, 5000, 1, 500), (0.01, 20, 20, 20)])
def test_short_calls_go_together_and_long_ones_alone(worker, monkeypatch, seconds, calls, least, most):
    monkeypatch.setenv("QUINTET_EVENTS", "1")
    worker()
    with quintet.Executor() as executor:
        assert list(executor.map(pause, [seconds] * calls)) == [seconds] * calls
        assert least <= executor.lab.space.count(tasks.EVENT, tasks.SUBMITTED, -1, int, int) <= most


def test_a_chunk_that_takes_too_long_gives_back_what_it_has_not_begun(own, monkeypatch):
    monkeypatch.setattr(mapping, "LIMIT_S", 0.0)
    assert list(own.map(abs, range(-300, 0), timeout=LONG_S)) == list(range(300, 0, -1))


def test_a_call_that_kills_every_worker_fails_at_its_place(own):
    results = own.map(die_of, range(200))
    assert list(itertools.islice(results, 70)) == list(range(70))
    with pytest.raises(quintet.TaskFailed, match="after 5 attempts"):
        next(results)
    assert own.submit(pow, 2, 3).result(LONG_S) == 8


@pytest.mark.parametrize("size", [None, 1, 10])
def test_a_result_that_cannot_be_pickled_loses_none_before_it(own, size):
    results = own.map(lock_of, range(10), chunksize=size)
    assert list(itertools.islice(results, 3)) == [0, 1, 2]
    with pytest.raises(TypeError, match="pickle"):
        next(results)


def test_arguments_that_cannot_be_pickled_fail_at_their_place(own):
    results = own.map(abs, itertools.chain(range(5), [threading.Lock()]), chunksize=1, buffersize=2)
    assert list(itertools.islice(results, 5)) == list(range(5))
    with pytest.raises(TypeError, match="pickle"):
        next(results)


def test_what_was_begun_goes_on_after_the_shutdown():
    with quintet.Executor(1) as executor:
        results = executor.map(abs, range(20_000))
    assert list(results) == list(range(20_000))
    with pytest.raises(RuntimeError, match="shut down"):
        executor.map(abs, [1])


def test_a_program_that_ends_has_all_its_calls_done(tmp_path):
    program = "import quintet\nquintet.Executor(2).map(lambda n: open(str(n), 'w').close(), range(300))"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, timeout=LONG_S, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(list(tmp_path.iterdir())) == 300


def test_a_buffer_bounds_what_is_collected_ahead(own):
    pulled = 0

    def endless():
        nonlocal pulled
        for n in itertools.count():
            pulled += 1
            yield n

    results = own.map(abs, endless(), buffersize=10)
    assert pulled <= 10, "some are begun at once"
    for n in range(500):
        assert next(results) == n
        assert pulled <= n + 10
    results.close()


@pytest.mark.parametrize(("size", "buffer"), [(1, 3), (None, 1000)])
def test_arguments_that_wait_hold_up_no_result(own, size, buffer):
    """They come from a thread of the program's, and no lock is held meanwhile."""
    waits, may_end, mine = threading.Event(), threading.Event(), threading.get_ident()
    drawn_by = set()

    def slow():
        for n in range(100):
            drawn_by.add(threading.get_ident())
            if n == 5:
                assert own.submit(pow, 2, 3).result(LONG_S) == 8, "no thread that others need is here"
                waits.set()
                assert may_end.wait(LONG_S)
            yield n

    def go_on():
        assert waits.wait(LONG_S)
        assert own.submit(abs, -2).result(LONG_S) == 2
        may_end.set()

    # Where workers are fast, so many are drawn before map returns.
    threading.Thread(target=go_on).start()
    results = own.map(abs, slow(), chunksize=size, buffersize=buffer)
    assert own.submit(abs, -1).result(LONG_S) == 1, "those before it are done"
    assert list(results) == list(range(100))
    assert drawn_by == {mine}


@pytest.mark.parametrize("buffer", [1, 2, 7, 64, 1000])
@pytest.mark.parametrize("size", [None, 3])
def test_with_a_buffer_all_calls_are_done_in_order(own, monkeypatch, buffer, size):
    monkeypatch.setattr(mapping, "LIMIT_S", 0.0)
    assert list(own.map(abs, range(0, -2000, -1), chunksize=size, buffersize=buffer)) == list(range(2000))


@pytest.mark.parametrize("buffer", [1000, 100, 10])
def test_what_the_calls_themselves_raise_comes_behind_the_results_before_it(own, buffer):
    def broken():
        yield from range(500)
        raise KeyError("the input is broken")

    got = []
    with pytest.raises(KeyError, match="the input is broken"):
        got.extend(own.map(abs, broken(), buffersize=buffer))
    assert got == list(range(500))


def test_a_closed_map_submits_no_more(own):
    results = own.map(pause, [0.02] * 100, buffersize=4)
    next(results)
    results.close()
    number = own.submit(int).number
    assert own.submit(int).number == number + 1
    with pytest.raises(StopIteration):
        next(results)


@pytest.mark.parametrize("size", [0, -1])
def test_a_buffer_of_nothing_is_refused(own, size):
    with pytest.raises(ValueError, match="buffersize must be None or > 0"):
        own.map(abs, [1], buffersize=size)
