"""Watches: what happens to tuples, in its order and without gaps."""

from __future__ import annotations

import asyncio
import threading

import pytest
from conftest import LONG_S

import quintet
from quintet import aio


@pytest.fixture(params=["embedded", "served"])
def address(request: pytest.FixtureRequest) -> str | None:
    return None if request.param == "embedded" else f"quintet://{request.getfixturevalue('socket')}"


@pytest.fixture
def space(address):
    with quintet.connect(address) as lab:
        yield lab.space


def test_events_come_in_their_order_and_whoever_comes_back_goes_on(space):
    space.out("order", 1)
    watch = space.watch("order", int, timeout=LONG_S)
    space.out("other", 2)
    space.out("order", 2)
    with space.lease("order", 2) as lease:
        lease.release()
    space.take("order", 1)
    events = [next(watch) for _ in range(4)]
    changes = [(event.change, event.fields) for event in events]
    two = ("order", 2)
    assert changes == [("put", two), ("leased", two), ("returned", two), ("taken", ("order", 1))]
    assert watch.number == events[-1].number
    again = space.watch("order", int, since=events[1].number, timeout=LONG_S)
    assert [next(again), next(again)] == events[2:]


def test_a_replacement_is_told_as_what_was_taken_and_what_was_put(space):
    space.out("state", "idle")
    states = space.watch("state", str, timeout=LONG_S)
    space.replace(("state", "idle"), ("state", "busy"))
    changes = [(event.change, event.fields) for event in (next(states), next(states))]
    assert changes == [("taken", ("state", "idle")), ("put", ("state", "busy"))]


def test_a_watch_waits_for_an_event_and_no_longer_than_it_is_told_to(space):
    watch = space.watch("order", int, timeout=LONG_S)
    thread = threading.Thread(target=space.out, args=("order", 7))
    thread.start()
    assert next(watch).fields == ("order", 7)
    thread.join()
    with pytest.raises(quintet.TimedOut, match="no event"):
        next(space.watch("order", int, timeout=0))


def test_what_is_there_comes_first(space):
    space.out_many([("row", n) for n in range(600)])
    watch = space.watch("row", int, existing=True, timeout=LONG_S)
    space.take("row", 300)
    there = [next(watch) for _ in range(600)]
    assert [event.fields[1] for event in there] == list(range(600))
    assert {event.change for event in there} == {"there"}
    taken = next(watch)
    assert (taken.change, taken.fields, taken.age) == ("taken", ("row", 300), there[300].age)
    with pytest.raises(ValueError, match="since or existing"):
        space.watch(since=1, existing=True)


def test_who_comes_too_late_is_told_behind_which_number_events_are(space):
    number = space.watch().number
    with pytest.raises(quintet.TooOld) as raised:
        next(space.watch(since=number + 1_000_000, timeout=LONG_S))
    assert raised.value.oldest == number
    assert raised.value.retry == "useless"


def test_the_same_in_asyncio(address):
    async def main() -> None:
        async with aio.connect(address) as lab:
            watch = await lab.space.watch("order", int).start()
            putting = asyncio.create_task(lab.space.out("order", 1))
            async for event in watch:
                assert (event.change, event.fields) == ("put", ("order", 1))
                break
            await putting
            # A cancelled await loses nothing.
            waiting = asyncio.ensure_future(watch.__anext__())
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            await lab.space.take("order", int)
            assert (await watch.__anext__()).change == "taken"
            existing = lab.space.watch("order", int, since=event.number)
            assert (await existing.__anext__()).change == "taken"

    asyncio.run(main())
