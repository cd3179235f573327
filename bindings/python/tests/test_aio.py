"""asyncio, embedded and served; a cancelled await loses nothing."""

from __future__ import annotations

import asyncio
import gc

import pytest
from conftest import LONG_S

import quintet
from quintet import aio


@pytest.fixture(params=["embedded", "served"])
def address(request: pytest.FixtureRequest) -> str | None:
    return None if request.param == "embedded" else f"quintet://{request.getfixturevalue('socket')}"


def test_every_operation(address):
    async def main():
        async with aio.connect(address) as lab:
            space = lab.space
            await space.out("a", 1)
            await space.out_many([("a", 2), ("a", 3)])
            assert await space.count("a", int) == 3
            assert await space.read("a", int) == ("a", 1)
            assert await space.read_if("a", 3) == ("a", 3)
            assert await space.take("a", int) == ("a", 1)
            assert await space.take_if("a", int) == ("a", 2)
            async with space.lease("a", int) as task:
                assert task == ("a", 3)
                assert (await space.status()).leases == 1
            with pytest.raises(quintet.TimedOut):
                await space.take("a", int, timeout=0.02)
            with pytest.raises(quintet.BadValue):
                await space.out(object())

    asyncio.run(asyncio.wait_for(main(), LONG_S))


def test_takes_wait_together(address):
    async def main():
        async with aio.connect(address) as lab:
            takes = [asyncio.ensure_future(lab.space.take("n", number)) for number in range(50)]
            while (await lab.space.status()).waiters < 50:
                await asyncio.sleep(0)
            for number in reversed(range(50)):
                await lab.space.out("n", number)
            assert [number for _, number in await asyncio.gather(*takes)] == list(range(50))

    asyncio.run(asyncio.wait_for(main(), LONG_S))


def test_a_cancelled_await_loses_nothing(address):
    async def main():
        async with aio.connect(address) as lab:
            for number in range(100):
                take = asyncio.ensure_future(lab.space.take("kept", int))
                await asyncio.sleep(0)
                # The tuple may be on its way when the take is cancelled, or there already.
                lab.native.space.out("kept", number)
                take.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await take
                assert await lab.space.take("kept", int, timeout=LONG_S) == ("kept", number)

    gc.disable()
    try:
        asyncio.run(asyncio.wait_for(main(), 2 * LONG_S))
    finally:
        gc.enable()


def test_a_closed_lab_ends_what_is_awaited(address):
    async def main():
        async with aio.connect(address) as lab:
            take = asyncio.ensure_future(lab.space.take("never"))
            await asyncio.sleep(0)
        with pytest.raises(quintet.Closed):
            await take

    asyncio.run(asyncio.wait_for(main(), LONG_S))


def test_a_lease_returns_on_an_exception(address):
    async def main():
        async with aio.connect(address) as lab:
            await lab.space.out("task", 1)
            with pytest.raises(KeyError):
                async with lab.space.lease("task", int):
                    raise KeyError
            async with lab.space.lease("task", int) as task:
                assert task.attempt == 2

    asyncio.run(asyncio.wait_for(main(), LONG_S))
