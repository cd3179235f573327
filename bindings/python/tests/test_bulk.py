"""Large arrays of arguments and results: apart from the pickles, sent once, and gone from the space with their tasks."""

from __future__ import annotations

import concurrent.futures
import gc
import threading

import joblib
import numpy
import pytest
from conftest import LONG_S

import quintet
from quintet import bulk, tasks
from quintet._native import bulk_bytes_copied
from quintet.worker import work

LARGE = 1_000_000
FORMAL = quintet.array("u1", 1)


def sum_of(array, number=0):
    return float(array.sum()) + number


def made(number):
    return {"array": numpy.full(LARGE, number), "number": number}


def is_writable(array):
    return array.flags.writeable


@pytest.fixture(params=["embedded", "served"])
def executor(request):
    if request.param == "served":
        request.getfixturevalue("worker")()
    with quintet.Executor() as executor:
        yield executor
    if request.param == "served":
        with quintet.connect() as lab:
            assert lab.space.count(bulk.BULK, str, str, FORMAL) == 0, "nothing is left"


ARRAYS = {
    "ordinary": numpy.arange(float(LARGE)),
    "by columns": numpy.asfortranarray(numpy.arange(float(LARGE)).reshape(1000, 1000)),
    "every second": numpy.arange(float(LARGE))[::2],
    "big-endian": numpy.arange(LARGE, dtype=">i8"),
    "structures": numpy.zeros(LARGE, dtype=[("a", "i4"), ("b", "f8")]),
    "objects": numpy.array([{"n": 1}] * 1000),
    "none": numpy.empty((0, 5)),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_every_kind_come_and_go(executor, name):
    array = ARRAYS[name]
    back = executor.submit(lambda array: array, array).result(LONG_S)
    assert back.dtype == array.dtype and back.shape == array.shape
    assert (back == array).all()


@pytest.fixture(params=["quintet", "processes"])
def either(request):
    if request.param == "processes":
        with concurrent.futures.ProcessPoolExecutor(2) as executor:
            yield executor
    else:
        request.getfixturevalue("worker")()
        with quintet.Executor() as executor:
            yield executor


def test_results_can_be_written_and_arguments_are_as_they_were_at_the_call(either):
    array = numpy.ones(LARGE)
    futures = []
    for n in range(4):
        array[0] = n
        futures.append(either.submit(sum_of, array))
        futures[-1].result(LONG_S)
    assert [future.result() for future in futures] == [LARGE - 1 + n for n in range(4)]
    results = list(either.map(made, range(3)))
    for n, result in enumerate(results):
        result["array"] += 1
        assert (result["array"] == n + 1).all()


def test_arguments_are_views_that_cannot_be_written(executor):
    assert not executor.submit(is_writable, numpy.ones(LARGE)).result(LONG_S)
    assert executor.submit(is_writable, numpy.ones(100)).result(LONG_S), "a small one is a copy"


def test_an_array_of_many_tasks_is_sent_once(socket):
    with quintet.connect(str(socket)) as lab:
        executor = quintet.Executor(lab)
        array = numpy.ones(LARGE)
        results = executor.map(sum_of, [array] * 20, range(20))
        assert lab.space.count(bulk.BULK, str, str, FORMAL) == 1
        threading.Thread(target=work, args=(lab.space, 0), daemon=True).start()
        assert list(results) == [LARGE + n for n in range(20)]
        assert lab.space.count(bulk.BULK, str, str, FORMAL) == 0
        executor.shutdown()


def test_the_same_place_with_another_array_is_not_the_same(executor):
    def arrays():
        for n in range(30):
            yield numpy.full(LARGE, float(n))

    assert list(executor.map(sum_of, arrays())) == [float(n) * LARGE for n in range(30)]


@pytest.mark.parametrize("kind", ["one for all", "one each"])
def test_joblib_sends_an_array_of_many_tasks_once(worker, kind):
    worker()
    array = numpy.ones(LARGE)
    with joblib.parallel_config(backend="quintet", n_jobs=2):
        arrays = ((array if kind == "one for all" else numpy.full(LARGE, float(n))) for n in range(20))
        sums = joblib.Parallel()(joblib.delayed(sum_of)(array, 1) for array in arrays)
    assert sums == [(1 if kind == "one for all" else n) * LARGE + 1.0 for n in range(20)]
    with quintet.connect() as lab:
        while lab.space.count(bulk.BULK, str, str, FORMAL) > 0:
            threading.Event().wait(0)


def test_an_array_that_the_space_cannot_hold_is_refused_before_it_is_sent(tmp_path):
    with quintet.serve(tmp_path / "space", max_bytes=1_000_000) as server, quintet.connect(server.address) as lab:
        with quintet.Executor(lab) as executor:
            with pytest.raises(quintet.TooLarge):
                executor.submit(sum_of, numpy.ones(LARGE))
            assert lab.space.status().tuples == 0


def test_an_array_above_every_limit_is_refused(monkeypatch):
    monkeypatch.setattr(bulk, "MAX_BYTES", 1_000_000)
    with quintet.Executor() as executor, pytest.raises(quintet.TooLarge, match="8000000 bytes; 1000000 may travel"):
        executor.submit(sum_of, numpy.ones(LARGE))


def test_more_arrays_than_the_space_holds_wait_for_their_turn(tmp_path):
    with quintet.serve(tmp_path / "space", max_bytes=30_000_000) as server, quintet.connect(server.address) as lab:
        executor = quintet.Executor(lab)
        arrays = [numpy.full(LARGE, float(n)) for n in range(10)]
        results = executor.map(sum_of, [array for array in arrays for _ in range(2)], chunksize=1)
        kept = executor._pool._feed._kept
        first = min(kept)
        while next(iter(kept), first) <= first:
            threading.Event().wait(0.01)
        with quintet.connect(server.address) as other:
            threading.Thread(target=work, args=(other.space, 0), daemon=True).start()
            assert list(results) == [float(n // 2) * LARGE for n in range(20)], "others passed one that found no room"
        executor.shutdown()


def test_what_a_cancelled_task_would_have_had_goes(socket):
    with quintet.connect(str(socket)) as lab:
        executor = quintet.Executor(lab)
        futures = [executor.submit(sum_of, numpy.ones(LARGE)) for _ in range(3)]
        assert lab.space.count(bulk.BULK, str, str, FORMAL) == 3
        assert all(future.cancel() for future in futures)
        assert lab.space.status().tuples == 0
        executor.shutdown()


def test_a_task_that_is_done_again_has_its_arrays(socket):
    with quintet.connect(str(socket)) as lab:
        executor = quintet.Executor(lab)
        future = executor.submit(sum_of, numpy.ones(LARGE))
        lab.space.lease(tasks.TASK, str, int, bytes).release()
        threading.Thread(target=work, args=(lab.space, 0), daemon=True).start()
        assert future.result(LONG_S) == LARGE
        executor.shutdown()


def test_a_worker_keeps_a_few_arrays_that_are_shared(socket):
    with quintet.connect(str(socket)) as lab:
        reader = bulk.Reader(lab.space)
        for n in range(bulk.CACHED_ARRAYS + 1):
            lab.space.out(bulk.BULK, "pool", str(n), numpy.full(10, n, "u1"))
        pickled = bulk.Pickled(b"", ["0", "1"], [True, False])
        first, second = reader.arrays("pool", pickled)
        assert reader.arrays("pool", pickled)[0] is first and reader.arrays("pool", pickled)[1] is not second
        for n in range(1, bulk.CACHED_ARRAYS + 1):
            reader.arrays("pool", bulk.Pickled(b"", [str(n)], [True]))
        assert reader.arrays("pool", pickled)[0] is not first
        again = reader.arrays("pool", pickled)[0]
        reader.forget()
        assert reader.arrays("pool", pickled)[0] is not again


def test_a_shared_array_goes_with_the_program_that_had_it():
    sharing = bulk.Sharing(compares=False)
    array = numpy.ones(LARGE)
    assert sharing.key(memoryview(array)) is None
    assert sharing.name(memoryview(array), "key", None)
    assert sharing.key(memoryview(array[:])) == "key"
    assert sharing.key(memoryview(array[1:])) is None
    del array
    gc.collect()
    assert list(sharing.dropped) == ["key"]


def test_an_array_that_none_of_the_next_tasks_names_is_kept_no_longer():
    with quintet.connect() as lab:
        uses = bulk.Uses(lab.space, "pool", 100 * LARGE)
        sharing = uses.share(compares=False)
        arrays = [numpy.zeros(LARGE, "u1") for _ in range(2 * bulk.OFFERED_TASKS)]

        def names(*numbers):
            views = [memoryview(arrays[number]) for number in numbers]
            keys, absent = uses.pack(views, sharing)
            for key, view in zip(keys, absent):
                if view is not None:
                    uses.offer(view, key, sharing, None)
            uses.release(keys)
            return [view is None for view in absent]

        assert names(0, 1) == [False, False]
        assert names(1) == [True], "a task has named it already"
        for number in range(2, 2 + bulk.OFFERED_TASKS):
            assert names(number) == [False]
        assert names(0) == [False], "it has gone, though the program has it"
        assert names(1) == [True], "one that two tasks had stays"
        sharing.end()


def total_of(array, *_long):
    return float(array[::4096].sum())


@pytest.mark.parametrize("text", ["short", "long" * 1000])
def test_large_arrays_are_copied_once_into_memory_that_workers_see(text):
    arrays = [numpy.full(LARGE, float(n)) for n in range(24)]
    with quintet.Executor(2) as executor:
        before = bulk_bytes_copied()
        assert list(executor.map(total_of, arrays, [text] * 24)) == [total_of(array) for array in arrays]
        copied = bulk_bytes_copied() - before
    # One or another finds no place where it is lent, if nobody has had time to give one back.
    assert copied < 12 * arrays[0].nbytes


def test_what_was_taken_is_gone_while_results_are_waited_for(socket):
    with quintet.connect(str(socket)) as lab, quintet.Executor(lab) as executor:
        threading.Thread(target=work, args=(lab.space, 0), daemon=True).start()
        for n in range(20):
            assert executor.submit(abs, -n).result(LONG_S) == n
        hidden = {row.signature: row.hidden for row in lab.space.status().rows}
        assert hidden["(str, str, int, bool, bytes, int, int)"] <= 1


def test_a_task_does_not_name_an_array_that_goes_at_this_moment():
    with quintet.connect() as lab:
        uses = bulk.Uses(lab.space, "pool", LARGE)
        sharing, view = uses.share(compares=False), memoryview(numpy.zeros(LARGE, "u1"))
        (key,), _ = uses.pack([view], sharing)
        uses.offer(view, key, sharing, None)
        uses.release([key])
        assert uses.pack([view], sharing) == ([key], [None])
        uses.release([key])
        known = sharing.key

        def known_until_now(view):
            key = known(view)
            sharing.end()
            uses.tidy()
            return key

        sharing.key = known_until_now
        (another,), absent = uses.pack([view], sharing)
        assert another != key and absent == [view]


def filled(buffer, number):
    """What a program does that reads into one buffer again and again."""
    buffer[:] = number
    return buffer


def test_a_buffer_that_is_filled_anew_is_sent_anew():
    with quintet.Executor(1) as executor:
        buffer = numpy.zeros(LARGE)
        results = executor.map(first_of, (filled(buffer, float(n)) for n in range(20)), buffersize=1)
        assert list(results) == [float(n) for n in range(20)]


def first_of(array):
    assert array[0] == array[-1]
    return float(array[0])
