"""`Executor.map` beside those of the standard library."""

from __future__ import annotations

import concurrent.futures
import itertools

import pytest

import quintet
from quintet import tasks


def inverse(number):
    return 1 / number


def product(one, other):
    return one * other


@pytest.fixture(params=["quintet", "threads", "processes"])
def executor(request):
    makes = {
        "quintet": quintet.Executor,
        "threads": lambda: concurrent.futures.ThreadPoolExecutor(2),
        "processes": lambda: concurrent.futures.ProcessPoolExecutor(2),
    }
    with makes[request.param]() as executor:
        yield executor


@pytest.mark.parametrize("size", [1, 7, 100])
def test_results_come_in_order(executor, size):
    assert list(executor.map(product, range(50), range(40), chunksize=size)) == [n * n for n in range(40)]
    assert list(executor.map(inverse, [], chunksize=size)) == []


def test_a_failure_comes_at_its_place(executor):
    results = executor.map(inverse, [1, 2, 0, 4])
    assert [next(results), next(results)] == [1, 0.5]
    with pytest.raises(ZeroDivisionError):
        next(results)
    with pytest.raises(StopIteration):
        next(results)


def test_a_failure_in_a_chunk_comes_at_the_chunks_place(executor):
    results = executor.map(inverse, [1, 2, 4, 0, 5, 6], chunksize=2)
    assert [next(results), next(results)] == [1, 0.5]
    with pytest.raises(ZeroDivisionError):
        list(results)
    with pytest.raises(StopIteration):
        next(results)


def test_what_a_chunk_has_done_before_a_failure_is_given():
    with quintet.Executor() as executor:
        results = executor.map(inverse, [1, 2, 4, 0, 5], chunksize=5)
        assert list(itertools.islice(results, 3)) == [1, 0.5, 0.25]
        with pytest.raises(ZeroDivisionError) as raised:
            next(results)
        assert "in inverse" in str(raised.value.__cause__)


@pytest.mark.parametrize("size", [0, -1])
def test_a_chunk_of_nothing_is_refused(size):
    for make in (quintet.Executor, concurrent.futures.ProcessPoolExecutor):
        with make() as executor, pytest.raises(ValueError, match="chunksize must be >= 1"):
            executor.map(inverse, [1], chunksize=size)


def test_a_chunk_is_one_task(socket):
    with quintet.connect(str(socket)) as lab:
        executor = quintet.Executor(lab)
        results = executor.map(product, range(10), range(10), chunksize=4)
        assert lab.space.count(tasks.TASK, str, int, bytes) == 3, "collected at once"
        with lab.space.lease(tasks.TASK, str, int, bytes) as task:
            task.acknowledge((tasks.RESULT, task[1], task[2], *tasks.run(task[3]), 0, 1))
        assert [next(results) for _ in range(4)] == [0, 1, 4, 9]
        results.close()
        assert lab.space.count(tasks.TASK, str, int, bytes) == 0, "those that nobody wants are taken back"
        executor.shutdown()


@pytest.mark.parametrize("size", [1, 4])
def test_a_map_that_is_not_done_in_time_takes_its_tasks_back(socket, size):
    with quintet.connect(str(socket)) as lab:
        executor = quintet.Executor(lab)
        with pytest.raises(concurrent.futures.TimeoutError):
            next(executor.map(product, range(10), range(10), timeout=0, chunksize=size))
        assert lab.space.count(tasks.TASK, str, int, bytes) == 0
        executor.shutdown()
