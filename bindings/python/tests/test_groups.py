"""Groups: takes, reads and puts that happen at one instant, or not at all."""

from __future__ import annotations

import asyncio
import os
import signal
import threading

import pytest
from conftest import LONG_S, serving

import quintet
from quintet import aio


@pytest.fixture(params=["embedded", "served"])
def address(request: pytest.FixtureRequest) -> str | None:
    return None if request.param == "embedded" else f"quintet://{request.getfixturevalue('socket')}"


@pytest.fixture
def space(address):
    with quintet.connect(address) as lab:
        yield lab.space


def test_a_counter_of_many_threads_loses_no_step(space):
    space.out("counter", 0)

    def count():
        for _ in range(40):
            with space.group() as group:
                _, n = group.take("counter", int)
                group.out("counter", n + 1)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert space.take("counter", int) == ("counter", 160)


def test_after_an_exception_nothing_has_happened(space):
    space.out_many([("n", 1), ("n", 2)])
    with pytest.raises(ZeroDivisionError), space.group() as group:
        assert group.take("n", int) == ("n", 1)
        assert group.take_if("n", int) == ("n", 2)
        assert group.take_if("n", int) is None
        group.out("n", 1 // 0)
    assert group.ended
    assert repr(group) == "<quintet.Group, ended>"
    assert [space.take("n", int), space.take("n", int)] == [("n", 1), ("n", 2)]
    assert space.status().redone == 0


def test_a_group_is_ended_once_and_then_takes_nothing(space):
    space.out("n", 1)
    with space.group() as group:
        group.take("n", int)
        group.abort()
        for use in (group.abort, group.commit, lambda: group.take_if("n", int), lambda: group.out("n", 2)):
            with pytest.raises(quintet.LeaseLost):
                use()
    with space.group() as group:
        group.take("n", int)
        group.commit()
    assert space.take_if("n", int) is None


def test_what_was_read_and_is_gone_is_a_conflict(space):
    space.out("price", 5)
    with pytest.raises(quintet.Conflict), space.group() as group:
        _, price = group.read("price", int)
        group.out("sold", price)
        assert space.take("price", int) == ("price", 5)
    assert space.take_if("sold", int) is None
    space.out("price", 6)
    with space.group() as group:
        assert group.read_if("price", int) == ("price", 6)
        assert group.read_if("price", 5) is None
        group.out("sold", 6)
    assert space.count("price", int) == 1
    assert space.take("sold", int) == ("sold", 6)


def test_a_group_ends_with_its_time(space):
    space.out("a")
    with pytest.raises(quintet.TimedOut), space.group(timeout=0.02) as group:
        group.take("a")
        assert space.count("a") == 0
        # Nobody renews it: the space returns what it has.
        assert space.take("a", timeout=LONG_S) == ("a",)
    with space.group(timeout=None) as group, pytest.raises(quintet.TimedOut):
        group.take("b", timeout=0.01)
    for bad in (-1, float("nan")):
        with pytest.raises(quintet.BadValue):
            space.group(timeout=bad)


def test_operations_of_a_group_are_begun_and_waited_for_later(space):
    space.out_many([("n", 1), ("m", 2)])
    with space.group() as group:
        pending = [group.begin_take("n", int), group.begin_read_if("m", int), group.begin_take_if("x")]
        group.begin_take("m", int)  # Dropped: it is none of the group's.
        assert [one.result() for one in pending] == [("n", 1), ("m", 2), None]
        assert group.begin_read("m", int).result() == ("m", 2)
        group.begin_commit().result()
    assert (space.count("n", int), space.count("m", int)) == (0, 1)


def test_a_group_of_a_process_that_is_killed_has_not_happened(tmp_path):
    with serving(str(tmp_path / "space")) as (_, address), quintet.connect(address) as lab:
        lab.space.out("n", 1)
        child = os.fork()
        if child == 0:
            group = quintet.connect(address).space.group()
            group.take("n", int)
            group.out("m")
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(child, 0)
        assert lab.space.take("n", int, timeout=LONG_S) == ("n", 1)
        assert lab.space.take_if("m") is None


def test_groups_with_asyncio(address):
    async def main():
        async with aio.connect(address) as lab:
            space = lab.space
            await space.out("n", 1)
            async with space.group() as group:
                _, n = await group.take("n", int)
                group.out("n", n + 1)
            with pytest.raises(ZeroDivisionError):
                async with space.group() as group:
                    _, n = await group.take("n", int, timeout=LONG_S)
                    group.out("n", n // 0)
            with pytest.raises(quintet.Conflict):
                async with space.group() as group:
                    assert await group.read("n", int) == ("n", 2)
                    assert await space.take("n", int) == ("n", 2)
            async with space.group() as group:
                assert await group.take_if("n", int) is None
                assert await group.read_if("n", int) is None
                group.abort()
            assert (await space.status()).tuples == 0

    asyncio.run(asyncio.wait_for(main(), LONG_S))


def test_a_cancelled_take_of_a_group_loses_nothing(address):
    async def main():
        async with aio.connect(address) as lab:
            space = lab.space
            async with space.group() as group:
                waiting = asyncio.ensure_future(group.take("late", int))
                while (await space.status()).waiters == 0:
                    await asyncio.sleep(0)
                waiting.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await waiting
                await space.out("late", 1)
                assert await group.take("late", int) == ("late", 1)
            assert await space.take_if("late", int) is None

    asyncio.run(asyncio.wait_for(main(), LONG_S))
