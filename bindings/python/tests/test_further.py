"""Replacements and selects."""

from __future__ import annotations

import asyncio
import threading

import pytest

import quintet
from quintet import aio


@pytest.fixture(params=["embedded", "served"])
def address(request: pytest.FixtureRequest) -> str | None:
    return None if request.param == "embedded" else f"quintet://{request.getfixturevalue('socket')}"


@pytest.fixture
def space(address):
    with quintet.connect(address) as lab:
        yield lab.space


def test_a_counter_of_many_threads_is_replaced_once_a_step(space):
    space.out("counter", 0)

    def count():
        done = 0
        while done < 40:
            _, n = space.read("counter", int)
            done += space.replace_if(("counter", n), ("counter", n + 1)) is not None

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert space.take("counter", int) == ("counter", 160)


def test_a_replacement_waits_and_puts_several(space):
    waiting = space.begin().replace(("ready", int), ("started", 1), ("log", "go"))
    space.out("ready", 7)
    assert waiting.result(30) == ("ready", 7)
    assert space.take("log", str, timeout=30) == ("log", "go")
    assert space.replace(("started", int), ("done", 2.5), timeout=30) == ("started", 1)
    assert space.read_if("done", float) == ("done", 2.5)
    assert space.begin().replace_if(("none",), ("x",)).result(30) is None
    with pytest.raises(quintet.TimedOut):
        space.replace(("none",), ("x",), timeout=0.01)
    with pytest.raises(quintet.BadValue, match="at least one tuple"):
        space.replace(("done", float))
    with pytest.raises(quintet.BadValue, match="tuple 0: a tuple is wanted"):
        space.replace(("done", float), "done")


def test_a_select_takes_the_oldest_of_all_and_says_which(space):
    space.out("job", 1)
    space.out("stop")
    assert space.select_read(("stop",), ("job", int)) == (1, ("job", 1))
    assert space.select(("stop",), ("job", int), timeout=30) == (1, ("job", 1))
    assert space.select_if(("stop",), ("job", int)) == (0, ("stop",))
    assert space.select_if(("stop",), ("job", int)) is None
    assert space.select_read_if(("stop",)) is None
    waiting = space.begin().select(("stop",), ("job", int))
    space.out("job", 2)
    assert waiting.result(30) == (1, ("job", 2))
    with pytest.raises(quintet.TimedOut, match="or: nothing matched"):
        space.select(("stop",), ("job", int), timeout=0.01)
    with pytest.raises(quintet.BadValue, match="1 to 32"):
        space.select()
    with pytest.raises(quintet.BadValue, match="template 1: a tuple is wanted"):
        space.select(("stop",), "job")


def test_a_select_leases(space):
    space.out("job", 1)
    which, job = space.select_lease(("urgent", int), ("job", int), timeout=30)
    with pytest.raises(ValueError, match="not done"), job:
        assert (which, job.fields) == (1, ("job", 1))
        raise ValueError("not done")
    which, again = space.begin().select_lease(("job", int)).result(30)
    with again:
        assert (which, again.attempt) == (0, 2)
    assert space.count("job", int) == 0


def test_both_with_asyncio(address):
    async def run():
        async with aio.connect(address) as lab:
            space = lab.space
            waiting = asyncio.create_task(space.select(("stop",), ("job", int)))
            cancelled = asyncio.create_task(space.select(("job", int)))
            await space.count("job", int)
            cancelled.cancel()
            await space.out("job", 1)
            assert await waiting == (1, ("job", 1))
            await space.out("job", 2)
            async with space.select_lease(("none",), ("job", int)) as (which, job):
                assert (which, job.fields) == (1, ("job", 2))
            await space.out("state", "idle")
            assert await space.select_read(("state", str)) == (0, ("state", "idle"))
            assert await space.replace(("state", str), ("state", "busy"), timeout=30) == ("state", "idle")
            assert await space.replace_if(("state", "idle"), ("state", "busy")) is None
            assert await space.select_if(("stop",), ("state", str)) == (1, ("state", "busy"))
            assert await space.select_read_if(("stop",)) is None

    asyncio.run(run())
