"""What a worker does before its first task of an executor, beside the standard library's."""

from __future__ import annotations

import concurrent.futures
import os

import joblib
import numpy
import pytest
from conftest import LONG_S

import quintet
from quintet import bulk, tasks

told = []


def tell(*arguments):
    told.append(arguments)


def fail(text):
    raise KeyError(text)


def what_was_told(_number):
    return os.getpid(), [*told]


@pytest.fixture(params=["quintet", "processes"])
def make(request):
    """Makes an executor with two workers."""
    if request.param == "processes":
        return lambda **settings: concurrent.futures.ProcessPoolExecutor(2, **settings)
    start = request.getfixturevalue("worker")
    start()
    start()
    return quintet.Executor


def test_a_worker_is_initialized_once(make):
    with make(initializer=tell, initargs=("so", 3)) as executor:
        for _, was_told in executor.map(what_was_told, range(50)):
            assert was_told == [("so", 3)]


def test_an_initializer_that_fails_breaks_the_executor(make):
    executor = make(initializer=fail, initargs=("no such",))
    future = executor.submit(pow, 2, 3)
    with pytest.raises(concurrent.futures.BrokenExecutor):
        future.result(LONG_S)
    with pytest.raises(concurrent.futures.BrokenExecutor):
        executor.submit(pow, 2, 3)
    executor.shutdown()


@pytest.mark.parametrize("initializer", [3, "tell"])
def test_what_cannot_be_called_is_refused(make, initializer):
    with pytest.raises(TypeError, match="initializer must be a callable"):
        make(initializer=initializer)


def test_each_executor_has_its_own_and_leaves_nothing(worker):
    worker()
    with quintet.connect() as lab:
        for name in ("one", "other"):
            with quintet.Executor(lab, initializer=tell, initargs=(name, numpy.zeros(1_000_000))) as executor:
                _, was_told = executor.submit(what_was_told, 0).result(LONG_S)
                assert was_told[-1][0] == name
        assert len(was_told) == 2
        assert lab.space.status().tuples == 1, "the worker's announcement"


def test_a_broken_executor_leaves_nothing(worker):
    with quintet.connect() as lab:
        broken = quintet.Executor(lab, initializer=fail, initargs=("no such",), ahead_tasks=3)
        futures = [broken.submit(pow, n, 2) for n in range(10)]
        worker()
        for future in futures:
            with pytest.raises(concurrent.futures.BrokenExecutor, match="KeyError: 'no such'"):
                future.result(LONG_S)
        broken.shutdown()
        assert lab.space.count(tasks.TASK, str, int, bytes) == lab.space.count(bulk.BULK, str, str, quintet.array("u1")) == 0


def test_joblib_takes_an_initializer_and_refuses_what_it_does_not_know(worker):
    worker()
    with joblib.parallel_config(backend="quintet", n_jobs=2, initializer=tell, initargs=("joblib",)):
        for _, was_told in joblib.Parallel()(joblib.delayed(what_was_told)(n) for n in range(10)):
            assert was_told == [("joblib",)]
    with pytest.raises(TypeError, match="takes no colour"):
        with joblib.parallel_config(backend="quintet", colour="red"):
            pass
