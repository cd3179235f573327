"""Tuples that expire."""

from __future__ import annotations

import asyncio
import math

import pytest

import quintet
from quintet import aio

LONG = 100_000.0


def test_what_expires_is_there_until_its_time_and_then_gone():
    with quintet.connect() as lab:
        space = lab.space
        events = space.watch("here", int, timeout=20)
        space.out("here", 1, expires_in=LONG)
        space.out_many([("here", 2), ("here", 3)], expires_in=0.001)
        changes = [(event.change, event.fields[1]) for event in (next(events) for _ in range(5))]
        assert changes[:3] == [("put", 1), ("put", 2), ("put", 3)]
        assert sorted(changes[3:]) == [("expired", 2), ("expired", 3)]
        assert list(space.copy_collect("here", int)) == [("here", 1)]
        space.out("kept", 1)
        left = {row.fields[0]: row.expires_in for row in space.list()}
        assert 0 < left["here"] <= LONG and left["kept"] is None


def test_a_group_puts_what_expires_and_what_does_not():
    with quintet.connect() as lab:
        events = lab.space.watch(timeout=20)
        with lab.space.group() as group:
            group.out("kept", 1)
            group.out("gone", 1, expires_in=0.001)
        assert [next(events).change for _ in range(3)] == ["put", "put", "expired"]
        assert lab.space.take_if("kept", int) == ("kept", 1)


def test_results_of_a_lease_expire():
    with quintet.connect() as lab:
        space = lab.space
        events = space.watch("result", int, timeout=20)
        for number in range(3):
            space.out("task", number)
        space.lease("task", int).acknowledge(("result", 0), expires_in=0.001)
        assert [next(events).change for _ in range(2)] == ["put", "expired"]
        space.lease("task", int).begin_acknowledge(("result", 1), expires_in=0.001).result()
        assert [next(events).change for _ in range(2)] == ["put", "expired"]
        lease = space.lease("task", int)
        with pytest.raises(quintet.BadValue, match="expires_in"):
            lease.acknowledge(("result", 2), expires_in=-1.0)
        lease.acknowledge(("result", 2), expires_in=LONG)
        left = {row.fields: row.expires_in for row in space.list()}
        assert 0 < left["result", 2] <= LONG


@pytest.mark.parametrize("expires_in", [-1.0, math.nan])
def test_what_is_no_span_is_refused(expires_in):
    with quintet.connect() as lab:
        with pytest.raises(quintet.BadValue, match="expires_in"):
            lab.space.out("x", expires_in=expires_in)
        with pytest.raises(quintet.BadValue, match="expires_in"):
            lab.space.begin().out("x", expires_in=expires_in)
        lab.space.out("endless", expires_in=math.inf)
        assert lab.space.take_if("endless") == ("endless",)


def test_asyncio_puts_what_expires():
    async def run() -> None:
        async with aio.connect() as lab:
            watch = await lab.space.watch().start()
            await lab.space.out("x", 1, expires_in=0.001)
            await lab.space.out_many([("y", 1)], expires_in=LONG)
            async with lab.space.lease("y", int) as task:
                await lab.space.acknowledge(task, ("w", 1), expires_in=0.001)
            async with lab.space.group() as group:
                group.out("z", 1, expires_in=LONG)
            changes = {(event.change, event.fields[0]) async for event in first(watch, 8)}
            expired = {(change, name) for change in ("put", "expired") for name in ("x", "w")}
            assert changes == expired | {(change, "y") for change in ("put", "leased", "done")} | {("put", "z")}

    asyncio.run(run())


async def first(watch, number):
    for _ in range(number):
        yield await anext(watch)
