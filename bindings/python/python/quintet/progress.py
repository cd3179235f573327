"""What lets the operations of a connection go on while an event loop of asyncio runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from quintet import _native
from quintet.errors import Closed, Code


class UnderWay(Protocol):
    """Something that was begun."""

    def result(self) -> Any:
        """Its outcome."""

    def done(self) -> bool:
        """Whether that is there."""

    def notify(self, callback: Callable[[], object], /) -> None:
        """Calls back once it is."""


class Progress:
    """Lets the operations of one connection go on while the event loop runs: it watches the connection's descriptor as long
    as something is under way.
    """

    def __init__(self, lab: _native.Lab) -> None:
        self._lab = lab
        self._under_way: set[Callable[[], None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._fd = -1
        self._others: list[Progress] = []

    def beside(self, lab: _native.Lab) -> Progress:
        """That of a connection which ends with this one."""
        other = Progress(lab)
        self._others.append(other)
        return other

    async def run(self, begin: Callable[..., UnderWay], *arguments: Any) -> Any:
        """Begins something and awaits its outcome. Cancelled, it is dropped before it is done."""
        loop, done = asyncio.get_running_loop(), asyncio.Event()

        def tell() -> None:
            try:
                loop.call_soon_threadsafe(done.set)
            except RuntimeError:
                return  # The loop was closed: nobody waits any more.

        pending = begin(*arguments)
        try:
            self._begin(tell)
            pending.notify(tell)
            await done.wait()
            if not pending.done():
                raise Closed(Code.Closed, "this lab was closed by the program")
            return pending.result()
        finally:
            self._end(tell)
            # Dropped, an operation that was not answered is cancelled, and a tuple that nobody got goes back. The traceback
            # of a cancellation would keep it.
            del pending

    def _begin(self, tell: Callable[[], None]) -> None:
        if self._loop is None:
            self._fd = self._lab.fileno()
            self._loop = asyncio.get_running_loop()
            self._loop.add_reader(self._fd, self._go_on)
        self._under_way.add(tell)

    def _end(self, tell: Callable[[], None]) -> None:
        self._under_way.discard(tell)
        if not self._under_way:
            self._rest()

    def close(self) -> None:
        """The connection is closed: ends every wait."""
        self._rest()
        for tell in self._under_way:
            tell()
        for other in self._others:
            other.close()

    def _go_on(self) -> None:
        try:
            self._lab.progress()
        except Closed:
            self.close()

    def _rest(self) -> None:
        loop, self._loop = self._loop, None
        if loop is not None and not loop.is_closed():
            loop.remove_reader(self._fd)
