"""Calls of handlers for asyncio: what `quintet.aio.Lab.messaging` is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar, Union

from quintet import _native, handling
from quintet.errors import Cancelled, Closed
from quintet.progress import Progress

Bytes = Union[bytes, bytearray, memoryview]
Result = TypeVar("Result")


class Messaging:
    """As `quintet.Messaging`, awaited."""

    def __init__(self, native: _native.Messaging, progress: Progress) -> None:
        self._native = native
        self._progress = progress

    @asynccontextmanager
    async def handle(
        self,
        name: str,
        *,
        rank: int | None = None,
        max_request_bytes: int | None = None,
        at_once: int | None = None,
        waiting: int | None = None,
    ) -> AsyncIterator[Handler]:
        """`async with messaging.handle("double") as handler`: handles calls of a name until the end of the block. Raises as
        `quintet.Messaging.handle`.
        """
        native = await _in_a_thread(
            lambda: self._native.handle(
                name, rank=rank, max_request_bytes=max_request_bytes, at_once=at_once, waiting=waiting
            )
        )
        handler = Handler(native, self._progress)
        try:
            yield handler
        finally:
            await handler.leave()

    def to(self, name: str, *, rank: int | None = None) -> Recipient:
        """The handlers of a name; with a rank those of that worker alone."""
        return Recipient(self._native.to(name, rank=rank), self._progress)


class Recipient:
    """As `quintet.Recipient`, awaited. A call whose await is cancelled is cancelled."""

    def __init__(self, native: _native.Recipient, progress: Progress) -> None:
        self._native = native
        self._progress = progress

    async def call(self, request: Bytes, timeout: float | None = None) -> bytes:
        """Calls, and waits for the reply. Raises as `quintet.Recipient.call`."""
        reply: bytes = await self._progress.run(self._native.begin_call, request, timeout)
        return reply

    async def send(self, request: Bytes) -> None:
        """Calls one-way. Raises as `quintet.Recipient.send`."""
        await _in_a_thread(lambda: self._native.send(request))

    async def wait_for_handler(self, timeout: float | None = None) -> None:
        """Waits until there is a handler. Raises as `quintet.Recipient.wait_for_handler`."""
        await self._progress.run(self._native.begin_wait, timeout)


class Handler:
    """As `quintet.Handler`, awaited."""

    def __init__(self, native: _native.Handler, progress: Progress) -> None:
        self._native = native
        self._progress = progress

    async def next(self, timeout: float | None = None) -> Call:
        """The next call. One that comes as the await is cancelled goes to another handler, or waits on. Raises as `quintet.Handler.next`."""
        return Call(await self._progress.run(self._native.begin_next, timeout))

    async def serve(self, function: Callable[[Call], Awaitable[Union[Bytes, None]]]) -> None:
        """Handles calls, each in a task of its own, as many at a time as the handler's `at_once`, until the handler leaves or
        the lab is closed. What `function` returns is the reply; an exception fails its call. Cancelled, it cancels the calls that it
        has, which fail.
        """
        tasks: set[asyncio.Task[None]] = set()
        try:
            while True:
                try:
                    call = await self.next()
                except (Cancelled, Closed):
                    if self._native.has_left:
                        return
                    raise
                task = asyncio.create_task(_handle(call, function))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
                del call
        except asyncio.CancelledError:
            for task in tasks:
                task.cancel()
            raise
        finally:
            await asyncio.gather(*tasks, return_exceptions=True)

    async def leave(self) -> None:
        """Takes no more calls."""
        if not self._native.has_left:
            await _in_a_thread(self._native.leave)


class Call:
    """As `quintet.Call`, awaited."""

    def __init__(self, native: _native.Call) -> None:
        self.native = native

    @property
    def payload(self) -> bytes:
        """What its caller has sent."""
        return self.native.payload

    @property
    def is_one_way(self) -> bool:
        """Whether nobody waits for a reply."""
        return self.native.is_one_way

    @property
    def remaining(self) -> float | None:
        """How many seconds its caller still waits; None: without end."""
        return self.native.remaining

    async def reply(self, reply: Bytes | None = None) -> None:
        """Replies. Raises as `quintet.Call.reply`."""
        await _in_a_thread(lambda: self.native.reply(reply))

    async def fail(self, text: str) -> None:
        """Fails. Raises as `quintet.Call.fail`."""
        await _in_a_thread(lambda: self.native.fail(text))


async def _handle(call: Call, function: Callable[[Call], Awaitable[Bytes | None]]) -> None:
    try:
        reply = await function(call)
    except Exception as error:
        text = handling.text_of(error)
        if not call.native.has_ended:
            await call.fail(text)
        return
    except asyncio.CancelledError:
        if not call.native.has_ended:
            call.native.fail("the handler was cancelled")
        raise
    await _in_a_thread(lambda: handling.finish(call.native, reply))


async def _in_a_thread(ask: Callable[[], Result]) -> Result:
    """What is answered at once, but over a link: the event loop goes on meanwhile."""
    return await asyncio.get_running_loop().run_in_executor(None, ask)


__all__ = ["Call", "Handler", "Messaging", "Recipient"]
