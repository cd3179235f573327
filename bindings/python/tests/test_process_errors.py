"""How runs with processes end: failures, those who wait for ever, and time that stands still."""

from __future__ import annotations

import math

import pytest
from process_runs import customer, once

import quintet
from quintet import simulate


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
