"""The same for asyncio: `async with quintet.aio.connect() as lab: await lab.space.take("row", int)`.

A cancelled await loses nothing: its operation is cancelled, and a tuple that was on its way goes back to its place.
"""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from quintet import _native, connecting
from quintet._native import Pending
from quintet.errors import Closed, Code, Error, TimedOut
from quintet.status import Status

PROBE_S = 1.0
"""How long one probe of the progress thread lives."""

LOOK_S = 0.02
"""How late the progress thread may notice that nothing is under way, and an embedded space a deadline."""


@asynccontextmanager
async def connect(address: str | None = None) -> AsyncIterator[Lab]:
    """Connects as `quintet.connect`, and closes at the end. Raises as it does."""
    loop = asyncio.get_running_loop()
    native = await loop.run_in_executor(None, connecting.connect, address)
    lab = Lab(native)
    try:
        yield lab
    finally:
        await loop.run_in_executor(None, lab.close)


class Lab:
    """A connection to everything, for asyncio. `native` is the one it stands on; it may be used as well."""

    def __init__(self, native: _native.Lab) -> None:
        self.native = native
        self.space = Space(native.space)

    def close(self) -> None:
        """Ends the connection; what is awaited ends with Closed."""
        self.native.close()
        self.space._close()

    def __repr__(self) -> str:
        return f"<quintet.aio.Lab {self.native!r}>"


class Space:
    """A tuple space whose operations are awaited. Each does and raises what `quintet.Space`'s does."""

    def __init__(self, native: _native.Space) -> None:
        self._native = native
        self._progress = _Progress(native)

    async def out(self, *fields: Any, timeout: float | None = None) -> None:
        """Puts a tuple."""
        await self._run(self._native.initiate_out, *fields, timeout=timeout)

    async def out_many(self, tuples: Iterable[tuple[Any, ...]], timeout: float | None = None) -> None:
        """Puts all these tuples at one instant, or none."""
        puts = list(tuples)
        if puts:
            await self._run(self._native.initiate_out_many, puts, timeout=timeout)

    async def take(self, *template: Any, timeout: float | None = None) -> tuple[Any, ...]:
        """Takes the oldest matching tuple."""
        return await self._run(self._native.initiate_take, *template, timeout=timeout)

    async def read(self, *template: Any, timeout: float | None = None) -> tuple[Any, ...]:
        """Reads the oldest matching tuple, which stays."""
        return await self._run(self._native.initiate_read, *template, timeout=timeout)

    async def take_if(self, *template: Any) -> tuple[Any, ...] | None:
        """Takes the oldest matching tuple if there is one."""
        return self._native.take_if(*template)

    async def read_if(self, *template: Any) -> tuple[Any, ...] | None:
        """Reads the oldest matching tuple if there is one."""
        return self._native.read_if(*template)

    @asynccontextmanager
    async def lease(self, *template: Any, timeout: float | None = None) -> AsyncIterator[_native.Lease]:
        """`async with space.lease("task", int) as task`: acknowledged at the end, returned on an exception."""
        lease = await self._run(self._native.initiate_lease, *template, timeout=timeout)
        with lease:
            yield lease

    async def count(self, *template: Any) -> int:
        """How many tuples match now."""
        return self._native.count(*template)

    async def status(self) -> Status:
        """The space's numbers."""
        return self._native.status()

    async def _run(self, begin: Callable[..., Pending], *fields: Any, timeout: float | None) -> Any:
        loop, done = asyncio.get_running_loop(), asyncio.Event()

        def tell() -> None:
            try:
                loop.call_soon_threadsafe(done.set)
            except RuntimeError:
                return  # The loop was closed: nobody waits any more.

        pending = begin(*fields, timeout=timeout)
        self._progress.begin(tell)
        try:
            pending.notify(tell)
            await done.wait()
            if not pending.done():
                raise Closed(Code.Closed, "this lab was closed by the program")
            return pending.result()
        finally:
            # Dropped, an operation that was not answered is cancelled, and a tuple that nobody got goes back. The traceback
            # of a cancellation would keep it.
            del pending
            self._progress.end(tell)

    def _close(self) -> None:
        self._progress.close()


class _Progress:
    """Lets the operations of one connection go on while nobody waits in a thread of his own.

    A thread waits for a tuple that never comes; whoever waits takes in what comes for all.
    """

    def __init__(self, space: _native.Space) -> None:
        self._space = space
        self._changed = threading.Condition()
        self._under_way: set[Callable[[], None]] = set()
        self._closed = False
        self._thread: threading.Thread | None = None

    def begin(self, tell: Callable[[], None]) -> None:
        """An operation begins; `tell` ends its wait."""
        with self._changed:
            self._under_way.add(tell)
            if self._thread is None:
                self._thread = threading.Thread(target=self._go_on, name="quintet-progress", daemon=True)
                self._thread.start()
            elif len(self._under_way) == 1:
                self._changed.notify()

    def end(self, tell: Callable[[], None]) -> None:
        """An operation has ended."""
        with self._changed:
            self._under_way.discard(tell)

    def close(self) -> None:
        """The connection is closed: ends every wait, and waits for the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
            for tell in self._under_way:
                tell()
        if self._thread is not None:
            self._thread.join()

    def _go_on(self) -> None:
        try:
            while self._wanted():
                probe = self._space.initiate_take("quintet.progress", uuid.uuid4().hex, timeout=PROBE_S)
                while self._under_way and not self._closed and not _waited(probe):
                    pass
        except Error:
            return  # The connection has ended, and with it everything under way.

    def _wanted(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or bool(self._under_way))
            return not self._closed


def _waited(probe: Pending) -> bool:
    """Waits for a moment; whether the probe has ended."""
    try:
        probe.result(LOOK_S)
    except TimedOut:
        return probe.done()
    return True
