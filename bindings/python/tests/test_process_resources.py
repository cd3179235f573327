"""Processes share resources and stores, and what they do is measured."""

from __future__ import annotations

import math
import sys

import pytest
from process_runs import customer, log_of, once

from quintet import simulate


def test_requests_are_granted_by_priority_and_then_in_order():
    def process(run, note):
        server = run.resource("server")
        for name, priority in [("first", 9), ("late", 5), ("soon", 1), ("too", 5)]:
            run.process(client(run, note, server, name, priority))
        yield 0.5
        note((server.capacity, server.count, server.waiting, server.name))

    def client(run, note, server, name, priority):
        with (yield server.request(priority=priority)):
            yield 1
            note(name)

    expected = [(0.5, (1, 1, 3, "server")), (1, "first"), (2, "soon"), (3, "late"), (4, "too")]
    assert log_of(process) == expected


def test_a_request_that_is_given_up_leaves_the_queue():
    def process(run, note):
        server = run.resource("server")
        run.process(holder(run, server))
        yield 1
        with server.request() as turn:
            found = yield turn | run.timeout(1)
            note(turn in found)
        note(server.waiting)
        request = server.request()
        request.cancel()
        server.release(request)
        yield server.request()
        note("free")
        note(server.count)

    def holder(run, server):
        with server.request() as turn:
            yield turn
            yield 5

    assert log_of(process) == [(2, False), (2, 0), (5, "free"), (5, 1)]


def test_a_place_is_taken_from_who_has_a_larger_priority():
    def process(run, note):
        server = run.resource("server", preemptive=True)
        run.process(client(run, note, server, "low", 5))
        yield 1
        run.process(client(run, note, server, "high", 1))
        run.process(client(run, note, server, "middle", 3))

    def client(run, note, server, name, priority):
        with server.request(priority) as turn:
            yield turn
            try:
                yield 4
                note(name)
            except simulate.Interrupt as interrupt:
                note((name, interrupt.cause.since, interrupt.cause.resource, interrupt.cause.by.name))

    expected = [(1, ("low", 0, "server", "client-3")), (5, "high"), (9, "middle")]
    assert log_of(process) == expected


def test_a_store_keeps_the_order_and_has_room_for_so_many():
    def producer(run, note):
        store = run.store("pipe", capacity=2)
        for number in range(4):
            yield store.put(number)
            note(f"put {number}")

    def consumer(run, note):
        store = run.store("pipe")
        yield 1
        assert len(store) == 2 and store.name == "pipe"
        for _ in range(4):
            note((yield store.get()))
            yield 1

    expected = [
        (0, "put 0"), (0, "put 1"), (1, 0), (1, "put 2"), (2, 1), (2, "put 3"), (3, 2), (4, 3),
    ]  # fmt: skip
    assert log_of(producer, consumer) == expected


def test_a_store_gives_the_smallest_priority_first_and_waits_for_items():
    def process(run, note):
        store = run.store("bag")
        given_up = store.get()
        given_up.cancel()
        run.process(getter(run, note, store))
        yield 1
        for item, priority in [("c", 2), ("b", 1), ("a", 1)]:
            yield store.put(item, priority=priority)
        for _ in range(2):
            note((yield store.get()))

    def getter(run, note, store):
        note(("waited", (yield store.get())))

    assert log_of(process) == [(1, "b"), (1, "a"), (1, ("waited", "c"))]


def test_what_is_recorded_before_the_end_of_the_warm_up_does_not_count():
    def process(run):
        for value in (1.0, 2.0, 4.0):
            run.measure("value").record(value)
            run.store("items").put(value)
            yield 1

    result = once(process, end="4 s", warm_up="0.5 s")
    assert result.measures["value"].times.count == 2
    assert result["measure.value"] == 3 and result["measure.value.median"] == pytest.approx(2, rel=1e-2)
    assert result["store.items.items"] == pytest.approx((0.5 * 1 + 2 + 3 + 3) / 3.5)
    assert once(process, end="4 s").measures["value"].times.count == 3


def test_recorded_values_need_not_be_times():
    def process(run):
        for value in (-1.0, 3.0):
            run.measure("value").record(value)
        with pytest.raises(ValueError):
            run.measure("value").record(math.nan)
        yield 0

    result = once(process)
    assert result["measure.value"] == 1 and "measure.value.median" not in result


def test_a_study_and_a_sweep_have_a_table():
    pandas = pytest.importorskip("pandas")
    model = simulate.Model("M/M/1", end="0.5 s").parameter("load", 0.5)
    model.process(customer, 0.010, every=simulate.exponential("10 ms / load"))
    table = model.replicate(seeds=range(3)).to_pandas()
    assert isinstance(table, pandas.DataFrame) and list(table.index) == [0, 1, 2]
    assert (table["measure.stay"] > 0).all()
    sweep = model.sweep("load", [0.2, 0.9], seeds=2)
    assert sweep["resource.server.utilisation"].mean[0] < sweep["resource.server.utilisation"].mean[1]
    assert sweep.to_pandas().shape[0] == 4


def test_parameters_are_known_to_processes():
    def process(run):
        yield run.parameters["pause"]
        run.measure("end").record(run.now)

    model = simulate.Model("test").parameter("pause", "2 * 1.5").process(process)
    assert model.run()["measure.end"] == 3
    assert model.with_parameters(pause=5).run()["measure.end"] == 5


def test_sources_begin_as_often_as_they_are_told():
    def process(run):
        run.measure("begins").record(run.now)
        yield 0

    def begins(**keys):
        result = simulate.Model("test", end="10 s").process(process, **keys).run()
        times = result.measures["begins"].times
        return times.count, times.least, times.largest

    assert begins() == (1, 0, 0)
    assert begins(count=3) == (3, 0, 0)
    assert begins(start="2 s", count=3) == (3, 2, 2)
    assert begins(every="3 s") == (4, 0, 9)
    assert begins(every="3 s", start="2 s", count=2) == (2, 2, 5)


def test_what_is_cancelled_leaves_its_queue():
    def process(run, note):
        empty, full = run.store("empty"), run.store("full", capacity=1)
        yield full.put("first")
        for event in (empty.get(), full.put("second")):
            kept = sys.getrefcount(event)
            event.cancel()
            note(kept - sys.getrefcount(event))
        yield full.get()
        note(len(full))

    assert [what for _, what in log_of(process)] == [1, 1, 0]
