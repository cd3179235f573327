"""Processes are generators: they wait, share, interrupt and record; the numbers are those that are known exactly."""

from __future__ import annotations

import gc
import math
import pickle
import weakref
from pathlib import Path

import pytest

import quintet
from quintet import simulate

MODELS = Path(__file__).parents[3] / "models"


def once(*functions, end: str | None = None, seed: int = 0, **keys) -> simulate.Result:
    """One run of a model of these processes alone."""
    model = simulate.Model("test", end=end, **keys)
    for function in functions:
        model.process(function)
    return model.run(seed)


def log_of(*functions, **keys) -> list:
    """What processes noted, each with the time, rounded to nanoseconds."""
    log = []

    def noting(function):
        def process(run):
            yield from function(run, lambda what: log.append((round(run.now, 9), what)))

        return process

    once(*map(noting, functions), **keys)
    return log


# Truths.


def customer(run, service: float):
    came = run.now
    with (yield run.resource("server").request()):
        yield run.timeout(run.exponential(service))
    run.measure("stay").record(run.now - came)


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


# Waiting.


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


# Resources and stores.


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


# What is measured.


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


# Beside the elements of a model.


def mixed() -> simulate.Model:
    """A client, which processes stand for, asks a server over a link of 1 ms."""
    model = simulate.Model("mixed")
    model.processor("cpu", cycle="1 us", instructions={"think": "2 ms"})
    model.processor("server", instructions={"serve": "10 ms"})
    model.device("net", "link", ["cpu", "server"], delay="1 ms")
    question = simulate.send("question", "serve", "100 B", through="net")
    model.module("client", on="cpu", waits_for={"answer": 1}, do=[simulate.execute("think"), question])
    answer = simulate.send("answer", "client", "200 B", through="net")
    model.module("serve", on="server", waits_for={"question": 1}, do=[simulate.execute("serve"), answer])
    return model


def test_a_process_stands_in_the_place_of_a_module():
    log = []

    def client(run):
        program = run.program("client")
        for _ in range(2):
            yield program.execute("think")
            yield program.execute(cycles=500)
            log.append(round(run.now, 6))
            yield program.send("question")
            message = yield program.receive("answer")
            log.append((round(run.now, 6), message.name, message.bytes, round(message.came, 6)))

    result = mixed().process(client, module="client").run()
    expected = [0.0025, (0.0145, "answer", 200, 0.0145), 0.017, (0.029, "answer", 200, 0.029)]
    assert log == expected
    assert result["module.serve.activations"] == 2
    assert result["processor.cpu.utilisation"] == pytest.approx(0.005 / 0.029)
    assert result.modules["client"].activations == 0, "the module itself does nothing"


def test_a_process_shares_a_processor_with_modules_and_may_be_added_to_a_file():
    model = simulate.Model.from_text(
        """
        [model]
        name = "file"
        end = "1 s"
        [processor.cpu]
        instructions = { work = "10 ms" }
        [module.busy]
        on = "cpu"
        every = "20 ms"
        do = [{ execute = "work" }]
        [module.own]
        on = "cpu"
        start = "0 s"
        """
    )

    def own(run):
        yield run.program("own").execute("work", times=3)
        run.measure("end").record(run.now)

    result = model.process(own, start="5 ms", module="own").run()
    assert result["measure.end"] == pytest.approx(0.040), "after the module's 10 ms"
    assert model.parameters == ()


def test_a_message_that_nobody_receives_is_kept_and_lengths_can_be_given():
    def client(run):
        program = run.program("client")
        yield program.send("question", bytes=1)
        yield program.send("question", to="serve")
        yield 1
        for _ in range(2):
            message = yield program.receive()
            run.measure("came").record(message.came)

    result = mixed().process(client, module="client").run()
    assert result.measures["came"].times.count == 2


def test_what_a_module_cannot_do_is_said():
    def client(run):
        program = run.program("client")
        wrong = {
            "sends no questoin; did you mean question?": lambda: program.send("questoin"),
            "sends no question to client": lambda: program.send("question", to="client"),
            "waits for no answr; did you mean answer?": lambda: program.receive("answr"),
            "has no instruction thinq; did you mean think?": lambda: program.execute("thinq"),
            "takes an instruction, or cycles": lambda: program.execute(),
        }
        for text, call in wrong.items():
            with pytest.raises(quintet.BadValue, match=text.replace("?", r"\?")):
                call()
        with pytest.raises(ValueError, match="in the place of a module sreve"):
            run.program("sreve")
        yield 0

    mixed().process(client, module="client").run()
    with pytest.raises(quintet.BadValue, match="did you mean client"):
        mixed().process(client, module="cleint").run()


# Errors.


def test_a_process_that_raises_ends_the_run():
    def failing(run):
        yield 2.5
        raise LookupError("lost")

    with pytest.raises(quintet.TaskFailed, match="process failing-1 at 2.500 s: LookupError: lost") as raised:
        once(failing)
    cause = raised.value.__cause__
    assert isinstance(cause, LookupError)
    assert cause.__traceback__.tb_frame.f_code.co_name == "failing" or cause.__traceback__.tb_next is not None


def test_what_is_no_event_is_named_where_it_was_yielded():
    def process(run):
        for wrong, text in [("soon", "'soon'"), (None, "None"), (-1.0, "-1 s"), (True, "True"), (math.nan, "NaN s")]:
            with pytest.raises(quintet.BadValue, match=text):
                yield wrong
        with pytest.raises(quintet.BadValue):
            run.timeout(-1)

    once(process)

    def other(run):
        yield "soon"

    with pytest.raises(quintet.TaskFailed, match="other-1 at 0 ps: .*yielded 'soon'"):
        once(other)


def test_an_event_of_another_run_is_refused():
    kept = []

    def first(run):
        kept.append(run.event())
        yield 0

    def second(run):
        with pytest.raises(quintet.BadValue, match="another run"):
            yield kept[0]

    once(first)
    once(second)


def test_an_event_that_fails_unheard_ends_the_run():
    def process(run):
        run.event().fail(LookupError("lost"))
        yield 1

    with pytest.raises(LookupError, match="lost"):
        once(process)


def test_who_waits_for_ever_is_named():
    def server(run):
        while True:
            yield run.store("work").get()

    def hopeful(run):
        yield 2
        yield run.resource("server").request()
        yield run.resource("server").request()

    def hopeless(run):
        yield run.event()

    result = once(server, hopeful, hopeless)
    assert result.ended == "nothing left" and result.simulated == 2
    blocked = [(one.process, one.waits_for, one.since) for one in result.processes.blocked]
    assert blocked == [
        ("server-1", "an item of store work", 0), ("hopeful-2", "resource server", 2), ("hopeless-3", "an event", 0),
    ]  # fmt: skip
    assert (result.processes.begun, result.processes.ended, result.processes.blocked_count) == (3, 0, 3)
    assert "3 processes wait for ever" in repr(result)


def test_at_the_end_of_a_run_nobody_is_blocked_who_waits_for_a_time():
    def process(run):
        while True:
            yield 1

    result = once(process, end="3 s")
    assert (result.ended, result.simulated, result.processes.blocked_count) == ("end", 3, 0)


@pytest.mark.parametrize("yielded", [lambda run: 0, lambda run: run.store("all").put(1)])
def test_a_process_that_lets_no_time_pass_ends_the_run(yielded):
    def process(run):
        while True:
            yield yielded(run)

    assert once(process).ended == "stalled"


def test_ctrl_c_ends_a_run():
    def process(run):
        yield 1
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        once(process)


def test_what_is_no_process_is_refused():
    with pytest.raises(quintet.BadValue, match="expected a function"):
        simulate.Model("test").process(3)
    with pytest.raises(quintet.BadValue, match="the count is 0"):
        simulate.Model("test").process(customer, count=0)
    with pytest.raises(quintet.BadValue, match=r"process.customer.every"):
        simulate.Model("test").process(customer, every="3 m").run()
    with pytest.raises(TypeError, match="a process is a generator.*found NoneType"):
        once(lambda run: None)

    def other(run):
        with pytest.raises(TypeError, match="found list"):
            run.process([])
        for call in (lambda: run.resource("none", 0), lambda: run.store("none", 0)):
            with pytest.raises(quintet.BadValue):
                call()
        run.resource("two", 2)
        with pytest.raises(quintet.BadValue):
            run.resource("two", 3)
        yield 0

    once(other)


def test_a_measure_of_the_model_keeps_its_name():
    def client(run):
        with pytest.raises(quintet.BadValue, match="one of the model"):
            run.measure("rate")
        yield 0

    model = mixed().measure("rate", throughput={"of": "serve"}).process(client, module="client")
    assert model.run()["measure.rate"] == 0


# Runs leave nothing behind.


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
