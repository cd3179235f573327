"""asyncio, embedded and served; a cancelled await loses nothing."""

from __future__ import annotations

import asyncio
import gc
import os
import selectors
import signal
import threading

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


def test_only_what_is_awaited_is_in_the_space(address):
    async def main():
        async with aio.connect(address) as lab:
            threads = threading.active_count()
            take = asyncio.ensure_future(lab.space.take("never"))
            for _ in range(3):
                await lab.space.out("x", 1)
            status = await lab.space.status()
            assert (status.tuples, status.waiters, status.signatures) == (3, 1, 2)
            assert threading.active_count() == threads, "no thread was started for it"
            take.cancel()

    asyncio.run(asyncio.wait_for(main(), LONG_S))


def test_the_loop_goes_on_while_the_space_is_asked(server, socket):
    async def main():
        async with aio.connect(f"quintet://{socket}") as lab:
            space = lab.space
            os.kill(server.pid, signal.SIGSTOP)
            try:
                os.waitpid(server.pid, os.WUNTRACED)
                questions = space.take_if("a", int), space.read_if("a", int), space.count("a", int), space.status()
                asked = [asyncio.ensure_future(question) for question in questions]
                await asyncio.sleep(0)
                assert not any(question.done() for question in asked)
            finally:
                os.kill(server.pid, signal.SIGCONT)
            assert (await asyncio.gather(*asked))[:3] == [None, None, 0]

    asyncio.run(asyncio.wait_for(main(), LONG_S))


def test_another_clients_tuple_ends_an_await(socket):
    async def main():
        async with aio.connect(f"quintet://{socket}") as lab:
            with quintet.connect(f"quintet://{socket}") as other:
                for number in range(50):
                    take = asyncio.ensure_future(lab.space.take("n", number))
                    await asyncio.sleep(0)
                    other.space.out("n", number)
                    assert await take == ("n", number)

    asyncio.run(asyncio.wait_for(main(), LONG_S))


def test_a_space_that_ends_ends_what_is_awaited(tmp_path):
    async def main():
        with quintet.serve(tmp_path / "space") as server:
            async with aio.connect(server.address) as lab:
                take = asyncio.ensure_future(lab.space.take("never"))
                await asyncio.sleep(0)
                server.stop()
                with pytest.raises(quintet.PeerDied):
                    await take

    asyncio.run(asyncio.wait_for(main(), LONG_S))


def test_a_lab_in_a_loop_of_the_programs_own(address):
    with quintet.connect(address) as lab, selectors.DefaultSelector() as selector:
        selector.register(lab, selectors.EVENT_READ)
        take = lab.space.begin().take("late", int)
        late = threading.Thread(target=lab.space.out, args=("late", 1))
        late.start()
        while not take.done():
            assert selector.select(LONG_S)
            lab.progress()
        assert take.result() == ("late", 1)
        late.join()
        selector.unregister(lab)
    with pytest.raises(quintet.Closed):
        lab.fileno()


def test_an_acknowledgement_waits_for_room_beside_others(tmp_path):
    async def main():
        with quintet.serve(tmp_path / "space", max_tuples=2) as server:
            async with aio.connect(server.address) as lab:
                space = lab.space
                await space.out_many([("task", 1), ("before",)])
                async with space.lease("before") as before:
                    await space.acknowledge(before, ("reserve", 1), ("reserve", 2))
                await space.out("filling", 1)
                results = ("result", 1), ("result", 2)
                async with space.lease("task", int) as task:
                    waiting = asyncio.ensure_future(space.acknowledge(task, *results))
                    while (await space.status()).parked == 0:
                        await asyncio.sleep(0)
                    waiting.cancel()
                    with pytest.raises(asyncio.CancelledError):
                        await waiting
                async with space.lease("task", int, timeout=LONG_S) as task:
                    assert task.attempt == 2, "it was called off"
                    waiting = asyncio.ensure_future(space.acknowledge(task, *results))
                    while (await space.status()).parked == 0:
                        await asyncio.sleep(0)
                    await space.take("filling", int)
                    await waiting
                assert await space.count("result", int) == 2

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


def test_a_listing_fetches_its_pages_while_the_loop_goes_on(address):
    async def main() -> None:
        async with aio.connect(address) as lab:
            await lab.space.out_many(("row", number) for number in range(300))
            assert [row.fields[1] async for row in lab.space.list("row", int)] == list(range(300))
            assert await lab.space.count("row", int) == 300

    asyncio.run(main())
