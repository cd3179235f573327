"""Calls between processes: handlers and those who call them, with threads and with asyncio."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading

import pytest

import quintet

WITHIN_S = 60


@contextlib.contextmanager
def serving(lab, name, function, **limits):
    """A handler whose calls a thread handles."""
    handler = lab.messaging.handle(name, **limits)
    thread = threading.Thread(target=handler.serve, args=(function,))
    thread.start()
    try:
        yield handler
    finally:
        handler.leave()
        thread.join()


@pytest.fixture
def lab():
    with quintet.connect() as lab:
        yield lab


def test_a_call_is_replied_to(lab):
    with serving(lab, "double", lambda call: call.payload * 2):
        double = lab.messaging.to("double")
        assert double.call(b"ab") == b"abab"
        assert double.call(bytearray(b"x"), timeout=60) == b"xx"
        assert double.call(memoryview(b"yz")) == b"yzyz"
        under_way = [double.begin_call(bytes([number])) for number in range(50)]
        assert [pending.result(60) for pending in under_way] == [bytes([number] * 2) for number in range(50)]


def test_large_messages_go_as_they_are(lab):
    large = os.urandom(3 << 20)
    with serving(lab, "echo", lambda call: call.payload, max_request_bytes=4 << 20):
        assert lab.messaging.to("echo").call(large) == large
        with pytest.raises(quintet.TooLarge):
            lab.messaging.to("echo").call(bytes(5 << 20))


def test_what_is_no_bytes_is_refused_on_both_sides(lab):
    with serving(lab, "seven", lambda call: 7):
        for request in ("text", 7, None, object()):
            with pytest.raises(quintet.BadValue, match="a request and a reply are bytes, and no"):
                lab.messaging.to("seven").call(request)
        with pytest.raises(quintet.TaskFailed, match="and no int"):
            lab.messaging.to("seven").call(b"")
    with pytest.raises(quintet.BadValue, match="text of 1 to 128 bytes"):
        lab.messaging.to("").call(b"")


def test_nobody_and_too_many_are_exceptions_of_their_own(lab):
    with pytest.raises(quintet.NoHandler):
        lab.messaging.to("nobody").call(b"")
    with lab.messaging.handle("slow", at_once=1, waiting=1) as handler:
        slow = lab.messaging.to("slow")
        first = slow.begin_call(b"1")
        call = handler.next()
        second = slow.begin_call(b"2")
        with pytest.raises(quintet.Busy):
            slow.call(b"3")
        call.reply(b"done")
        assert first.result() == b"done"
        handler.next().reply()
        assert second.result() == b""
    with pytest.raises(quintet.NoHandler):
        lab.messaging.to("slow").call(b"")


def test_a_handler_that_fails_fails_its_call_and_goes_on(lab):
    def fails(call):
        if call.payload == b"bad":
            raise ValueError("no such thing")
        return None

    with serving(lab, "fails", fails):
        with pytest.raises(quintet.TaskFailed, match="ValueError: no such thing"):
            lab.messaging.to("fails").call(b"bad")
        assert lab.messaging.to("fails").call(b"good") == b""


def test_a_call_has_a_deadline_which_its_handler_sees(lab):
    with lab.messaging.handle("late") as handler:
        late = lab.messaging.to("late")
        with pytest.raises(quintet.TimedOut):
            late.call(b"", timeout=0.01)
        pending = late.begin_call(b"x", timeout=60)
        call = handler.next()
        assert 0 < call.remaining <= 60 and call.payload == b"x" and not call.is_one_way and not call.has_ended
        pending.cancel()
        with pytest.raises(quintet.Cancelled):
            pending.result(60)
        call.reply(b"to nobody")
        assert call.has_ended
        with pytest.raises(quintet.BadValue, match="has ended"):
            call.reply(b"again")
        with pytest.raises(quintet.TimedOut):
            handler.next(timeout=0)
    with pytest.raises(quintet.Cancelled):
        handler.next()
    assert handler.has_left


def test_a_call_that_is_dropped_fails(lab):
    with lab.messaging.handle("drops") as handler:
        pending = lab.messaging.to("drops").begin_call(b"")
        handler.next()
        with pytest.raises(quintet.TaskFailed, match="without a reply"):
            pending.result(60)


def test_one_way_calls_are_handled_later(lab):
    seen = []
    with lab.messaging.handle("log") as handler:
        lab.messaging.to("log").send(b"one")
        lab.messaging.to("log").send(b"two")
        for _ in range(2):
            call = handler.next()
            assert call.is_one_way and call.remaining is None
            seen.append(call.payload)
            call.reply()
    assert seen == [b"one", b"two"]


def test_ranks_are_told_apart(lab):
    with lab.messaging.handle("who", rank=0) as zero, lab.messaging.handle("who", rank=1) as one:
        pending = lab.messaging.to("who", rank=1).begin_call(b"")
        with pytest.raises(quintet.TimedOut):
            zero.next(timeout=0.01)
        one.next().reply(b"1")
        assert pending.result() == b"1"
    with pytest.raises(quintet.BadValue, match="limits"):
        lab.messaging.handle("who", at_once=0)


def test_serve_ends_with_the_lab():
    lab = quintet.connect()
    handler = lab.messaging.handle("x")
    thread = threading.Thread(target=handler.serve, args=(lambda call: None,))
    thread.start()
    lab.close()
    thread.join()
    with pytest.raises(quintet.Closed):
        _ = lab.messaging.to("x")
    with pytest.raises(quintet.Closed):
        lab.messaging.handle("x")


HANDLER = """
import os, quintet, sys
lab = quintet.connect()
handler = lab.messaging.handle("far")
print("ready", flush=True)
call = handler.next()
if call.payload == b"die":
    os.kill(os.getpid(), 9)
call.reply(b"from far: " + call.payload)
handler.serve(lambda call: b"served " + call.payload)
"""


def far(server):
    environment = {**os.environ, "QUINTET_SPACE": server.address, "QUINTET_CLUSTER": str(server.cluster)}
    return subprocess.Popen([sys.executable, "-c", HANDLER], env=environment, stdout=subprocess.PIPE, text=True)


def test_a_handler_in_another_process_is_waited_for_called_and_missed(tmp_path):
    with quintet.serve(str(tmp_path / "space")) as server, quintet.connect(server.address) as lab:
        to = lab.messaging.to("far")
        with pytest.raises(quintet.TimedOut):
            to.wait_for_handler(timeout=0.01)
        process = far(server)
        to.wait_for_handler(timeout=60)
        assert to.call(b"x", timeout=60) == b"from far: x"
        assert to.call(b"y", timeout=60) == b"served y"
        process.send_signal(signal.SIGINT)
        assert process.wait() != 0
        with pytest.raises(quintet.NoHandler):
            to.call(b"z")
        process = far(server)
        to.wait_for_handler(timeout=60)
        with pytest.raises(quintet.PeerDied):
            to.call(b"die", timeout=60)
        process.wait()


def test_ctrl_c_ends_a_wait_and_a_call_that_comes_goes_on(lab):
    def interrupt(number, frame):
        raise KeyboardInterrupt

    with lab.messaging.handle("waits") as handler:
        before = signal.signal(signal.SIGALRM, interrupt)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            with pytest.raises(KeyboardInterrupt):
                handler.next()
        finally:
            signal.signal(signal.SIGALRM, before)
        pending = lab.messaging.to("waits").begin_call(b"x")
        handler.next().reply(b"y")
        assert pending.result() == b"y"


def test_asyncio_handles_and_calls_many_at_a_time():
    async def main():
        async with quintet.aio.connect() as lab:
            at_once = asyncio.Event()
            under_way = 0

            async def both(call):
                nonlocal under_way
                under_way += 1
                if under_way == 2:
                    at_once.set()
                await at_once.wait()
                return call.payload.upper()

            async with lab.messaging.handle("both") as handler:
                serving = asyncio.create_task(handler.serve(both))
                to = lab.messaging.to("both")
                # Each waits for the other: one after the other neither would end.
                assert await asyncio.gather(to.call(b"a"), to.call(b"b")) == [b"A", b"B"]
                # Tuples and calls go over one connection and one loop.
                taken = asyncio.create_task(lab.space.take("row", int))
                await lab.space.out("row", 1)
                assert await taken == ("row", 1)
            await serving

    asyncio.run(asyncio.wait_for(main(), WITHIN_S))


def test_asyncio_tells_errors_deadlines_and_cancels():
    async def main():
        async with quintet.aio.connect() as lab:
            to = lab.messaging.to("x")
            with pytest.raises(quintet.NoHandler):
                await to.call(b"")
            with pytest.raises(quintet.TimedOut):
                await to.wait_for_handler(timeout=0.01)
            async with lab.messaging.handle("x", at_once=1, waiting=1) as handler:
                with pytest.raises(quintet.TimedOut):
                    await to.call(b"", timeout=0.01)
                calling = asyncio.create_task(to.call(b"1"))
                call = await handler.next()
                second = asyncio.create_task(to.call(b"2"))
                await asyncio.sleep(0)
                with pytest.raises(quintet.Busy):
                    await to.call(b"3")
                second.cancel()
                await call.fail("not today")
                with pytest.raises(quintet.TaskFailed, match="not today"):
                    await calling
                # The one that was cancelled was not begun.
                with pytest.raises(quintet.TimedOut):
                    await handler.next(timeout=0.01)
                await to.send(b"later")
                call = await handler.next()
                assert call.is_one_way and call.payload == b"later"
                await call.reply()

                async def fails(call):
                    raise RuntimeError("as it is")

                serving = asyncio.create_task(handler.serve(fails))
                with pytest.raises(quintet.TaskFailed, match="RuntimeError: as it is"):
                    await to.call(b"")
                stands = asyncio.create_task(to.call(b""))
                with pytest.raises(quintet.TaskFailed):
                    await stands
                serving.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await serving

    asyncio.run(asyncio.wait_for(main(), WITHIN_S))


def test_a_call_that_an_await_gave_up_goes_to_the_next():
    async def main():
        async with quintet.aio.connect() as lab, lab.messaging.handle("x") as handler:
            waiting = asyncio.create_task(handler.next())
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            calling = asyncio.create_task(lab.messaging.to("x").call(b"kept"))
            call = await handler.next(timeout=60)
            assert call.payload == b"kept"
            await call.reply(call.payload)
            assert await calling == b"kept"

    asyncio.run(asyncio.wait_for(main(), WITHIN_S))
