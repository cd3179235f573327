"""Processes are generators: they wait, interrupt each other and draw; the numbers are those that are known exactly."""

from __future__ import annotations

import gc
import math
import pickle
import weakref

import pytest
from process_runs import customer, log_of, once

from quintet import simulate


def servers(run, count: int):
    run.resource("server", capacity=count)
    yield 0


def test_an_mm1_waits_as_the_formula_says():
    load, service = 0.6, 0.010
    model = simulate.Model("M/M/1", end="40 s", warm_up="4 s").parameter("load", load)
    model.process(customer, service, every=simulate.exponential("10 ms / load"))
    study = model.replicate(seeds=20)
    waiting = study["resource.server.waiting"]
    assert waiting.interval(0.95).contains(load / (1 - load) * service)
    assert not waiting.interval(0.95).contains(1.1 * load / (1 - load) * service), "narrow enough to notice a tenth"
    assert study["measure.stay"].interval(0.95).contains(service / (1 - load))
    assert study["resource.server.utilisation"].interval(0.95).contains(load)
    assert study["resource.server.queue"].interval(0.95).contains(load**2 / (1 - load))


def test_an_mmc_waits_as_erlang_says():
    places, service, every = 3, 0.010, 0.004
    offered = service / every
    tail = offered**places / math.factorial(places) * places / (places - offered)
    waits = tail / (sum(offered**count / math.factorial(count) for count in range(places)) + tail)
    model = simulate.Model("M/M/3", end="20 s", warm_up="2 s").process(servers, places)
    model.process(customer, service, every=simulate.exponential("4 ms"))
    study = model.replicate(seeds=10)
    assert study["resource.server.waiting"].interval(0.95).contains(waits * service / (places - offered))
    assert study["resource.server.utilisation"].interval(0.95).contains(offered / places)


def test_runs_of_a_seed_are_one_run_and_streams_do_not_touch_each_other():
    model = simulate.Model("M/M/1", end="2 s").process(customer, 0.010, every=simulate.exponential("20 ms"))
    one, same, other = model.run(1), model.run(1), model.run(2)
    assert (one.digest, one.quantities) == (same.digest, same.quantities)
    assert one.digest != other.digest

    def draws(run, others: int):
        mine = run.stream("mine")
        for _ in range(others):
            run.random()
        for name in ("exponential", "poisson", "random"):
            run.measure(name).record(getattr(mine, name)(*(() if name == "random" else (2.0,))))
        yield 0

    few, many = (simulate.Model("draws").process(draws, count).run(3).quantities for count in (0, 5))
    assert few == many


def test_draws_are_within_their_limits():
    drawn = {}

    def process(run):
        yield 0
        drawn["random"] = [run.random() for _ in range(1000)]
        drawn["integer"] = [run.integer(-1, 1) for _ in range(1000)]
        drawn["uniform"] = [run.uniform(2, 3) for _ in range(1000)]
        drawn["normal"] = [run.normal(1, 1) for _ in range(1000)]
        drawn["gamma"] = [run.gamma(2, 0.5) for _ in range(1000)]
        drawn["widest"] = run.integer(-(2**63), 2**63 - 1)
        for wrong in (lambda: run.integer(1, 0), lambda: run.exponential(-1), lambda: run.uniform(2, 1)):
            with pytest.raises(ValueError):
                wrong()

    once(process)
    assert all(0 <= value < 1 for value in drawn["random"]) and 0.4 < sum(drawn["random"]) / 1000 < 0.6
    assert set(drawn["integer"]) == {-1, 0, 1}
    assert all(2 <= value <= 3 for value in drawn["uniform"])
    assert all(value >= 0 for value in drawn["normal"])
    assert 0.9 < sum(drawn["gamma"]) / 1000 < 1.1


def test_a_process_waits_for_a_time_as_an_event_and_as_a_number():
    def process(run, note):
        value = yield run.timeout(1.5, "value")
        note(value)
        note((yield run.timeout(0.5)))
        yield 0.25
        note("float")
        yield 1
        note("int")

    assert log_of(process) == [(1.5, "value"), (2.0, None), (2.25, "float"), (3.25, "int")]


def test_what_is_due_at_once_comes_in_the_order_of_its_scheduling():
    def process(run, note):
        for name in "abc":
            run.process(child(run, note, name))
        note("parent")
        yield run.timeout(0)
        note("parent again")

    def child(run, note, name):
        note(name)
        yield 1
        note(name)

    expected = ["parent", "a", "b", "c", "parent again", "a", "b", "c"]
    assert [what for _, what in log_of(process)] == expected


def test_an_event_is_given_to_all_who_wait_and_to_who_comes_later():
    def process(run, note):
        event = run.event()
        for name in "ab":
            run.process(child(note, event, name))
        yield 1
        assert not event.triggered
        with pytest.raises(RuntimeError):
            _ = event.value
        event.succeed("now")
        assert event.triggered and not event.processed and event.value == "now"
        with pytest.raises(RuntimeError):
            event.succeed()
        yield 1
        assert event.processed and event.ok
        note((yield event))

    def child(note, event, name):
        note(name + (yield event))

    assert log_of(process) == [(1, "anow"), (1, "bnow"), (2, "now")]


def test_a_process_is_the_event_of_its_end():
    def process(run, note):
        child = run.process(work())
        assert child.is_alive and child.name == "work-2"
        note((yield child))
        assert not child.is_alive
        note((yield child))
        quick = run.process(work())
        yield 5
        note((yield quick))

    def work():
        yield 1
        return "done"

    assert log_of(process) == [(1, "done"), (1, "done"), (6, "done")]


def test_any_and_all_of_several_events():
    def process(run, note):
        slow, quick = run.timeout(2, "slow"), run.timeout(1, "quick")
        found = yield slow | quick
        note(list(found.values()))
        found = yield slow & quick
        note([found[slow], found[quick]])
        note((yield run.all_of([])))
        note(list((yield run.any_of([slow, run.event()])).values()))
        third = run.timeout(1)
        found = yield run.any_of([run.event(), third, run.event()])
        note(list(found) == [third])

    expected = [(1, ["quick"]), (2, ["slow", "quick"]), (2, {}), (2, ["slow"]), (3, True)]
    assert log_of(process) == expected


def test_what_fails_is_raised_where_it_is_waited_for():
    def process(run, note):
        for failing in (
            lambda: run.process(child()),
            lambda: run.event().fail(ValueError("no")),
            lambda: run.timeout(9) | run.process(child()),
        ):
            try:
                yield failing()
            except ValueError as error:
                note(str(error))

    def child():
        yield 1
        raise ValueError("no")

    assert log_of(process) == [(1, "no"), (1, "no"), (2, "no")]


def test_a_process_is_interrupted_where_it_waits():
    def process(run, note):
        sleeper = run.process(sleep(run, note))
        yield 1
        sleeper.interrupt("alarm")
        yield 5
        with pytest.raises(RuntimeError, match="ended"):
            sleeper.interrupt()

    # A wait that was left does not end the next one.
    def sleep(run, note):
        try:
            yield 3
        except simulate.Interrupt as interrupt:
            note(interrupt.cause)
        yield 4
        note("rested")

    assert log_of(process) == [(1, "alarm"), (5, "rested")]


def test_a_run_leaves_nothing_behind():
    class Thing:
        pass

    things = []

    def holder(run):
        thing = Thing()
        things.append(weakref.ref(thing))
        server = run.resource("server", preemptive=True)
        with (yield server.request()):
            yield run.event() | run.store("none").get()
        del thing

    gc.disable()
    try:
        model = simulate.Model("test", end="5 s").process(holder, every="1 s")
        model.run()
        assert len(things) == 6 and not any(thing() for thing in things), "without the collector"
    finally:
        gc.enable()


def test_what_is_kept_of_a_run_does_nothing_after_it():
    kept = {}

    def process(run):
        kept.update(run=run, server=run.resource("server"), store=run.store("store"), measure=run.measure("m"))
        yield 1

    once(process)
    kept["server"].request()
    kept["store"].put(1)
    kept["measure"].record(1)
    kept["run"].timeout(1)
    assert kept["run"].now == 0 and kept["server"].count == 0


def test_a_model_with_processes_can_be_copied():
    model = simulate.Model("M/M/1", end="1 s").process(customer, 0.010, every=simulate.exponential("20 ms"))
    assert pickle.loads(pickle.dumps(model)).run(1).digest == model.run(1).digest
    assert model.with_settings(end="2 s").run(1).simulated == 2
