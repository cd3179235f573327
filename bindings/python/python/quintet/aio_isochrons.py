"""Isochrons for asyncio: what `quintet.aio.Lab.isochrons` is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Generator
from functools import partial
from typing import Any

from quintet import _native, isochrons
from quintet.counters import Counters, PeerCounters
from quintet.errors import BadValue, Closed, Code, ViewChanged
from quintet.isochron import Data, Part, Place
from quintet.isochron import Read as PlainRead
from quintet.isonet_shape import Event, Shape, Wanted
from quintet.variables import Variable


class Read(PlainRead):
    """What an isochron reads. `await` it for the value, once the isochron was begun; `.value` is there once it is executed."""

    def __await__(self) -> Generator[Any, None, Any]:
        return self._wait().__await__()

    async def _wait(self) -> Any:
        """Raises NoValue as `.value`, and what `await` of its isochron raises; BadValue before that was begun."""
        if self._isochron._executed is None and self._isochron._pending is not None:
            await done(self._isochron._pending.done, self._isochron._pending.notify)
        return self.value


class Isochron(Part):
    """An isochron that is put together. `async with isonet.isochron() as i:` executes it at the end of the block, and waits for it; `with` begins it there, and
    `await i` waits. After an exception nothing of it happens.
    """

    def __init__(self, shape: Shape, native: _native.Isochron, open_: set[asyncio.Task[Any] | None]) -> None:
        super().__init__(shape, native)
        self._open = open_

    def read(self, variable: Variable) -> Read:
        """Reads a variable, behind what the isochron does before. Raises BadValue, TooLarge."""
        return Read(self, variable, self._read(variable))

    async def execute(self) -> Place:
        """Executes it: as `quintet.isochrons.Isochron.execute`. A cancelled await goes on."""
        self._pending = self._native.begin(True)
        return await self

    def __await__(self) -> Generator[Any, None, Place]:
        return self._wait().__await__()

    async def _wait(self) -> Place:
        if self._pending is None:
            self._pending = self._native.begin(True)
        await done(self._pending.done, self._pending.notify)
        return self._take(None)

    def __enter__(self) -> Isochron:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self.abandon()
        elif self._pending is None:
            self._pending = self._native.begin(True)

    async def __aenter__(self) -> Isochron:
        self._open.add(asyncio.current_task())
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        self._open.discard(asyncio.current_task())
        if kind is not None:
            self.abandon()
        else:
            await self


class Isonet(isochrons.Member):
    """A member of an isonet, for one event loop. Each method does and raises what `quintet.isochrons.Isonet`'s does; `native` is the one it stands on."""

    def __init__(self, wanted: Wanted, native: _native.Isonet) -> None:
        super().__init__(wanted, native)
        self._open: set[asyncio.Task[Any] | None] = set()

    def isochron(self) -> Isochron:
        """Begins to put an isochron together: `async with isonet.isochron() as i:`. Raises BadValue if this task is in such a block of another one, which would be executed behind it."""
        if self._open and asyncio.current_task() in self._open:
            raise BadValue(Code.BadValue, isochrons.WITHIN_ANOTHER)
        return Isochron(self._shape, self._isochrons.isochron(), self._open)

    async def send(self, member: int, handler: int | str, data: Data = b"") -> None:
        """An isochron of one message."""
        await self._in_any_view(lambda isochron: isochron.send(member, handler, data))

    async def read(self, *variables: Variable) -> Any:
        """The value of a variable; of several, a tuple of their values at one instant."""
        reads = await self._in_any_view(lambda isochron: [isochron.read(variable) for variable in variables])
        return reads[0].value if len(reads) == 1 else tuple(read.value for read in reads)

    async def write(self, variable: Variable, value: Any) -> None:
        """An isochron of one write."""
        await self._in_any_view(lambda isochron: isochron.write(variable, value))

    async def _in_any_view(self, operate: Callable[[Isochron], Any]) -> Any:
        """An isochron of what `operate` adds to it, begun again where a view began before it was executed."""
        while True:
            try:
                async with self.isochron() as isochron:
                    result = operate(isochron)
                return result
            except ViewChanged:
                continue

    async def update(self, function: Callable[..., Any], *variables: Variable) -> Any:
        """Gives variables the values that the function, a plain one, returns for what they have. If the await is cancelled before that, they keep what they have."""
        reserving = self._reserve(variables)
        try:
            await done(reserving.done, reserving.notify)
            values, assigning = self._computed(reserving, function, variables)
        finally:
            reserving.give_back()  # unless it has its values
        await done(assigning.done, assigning.notify)
        assigning.result(0)
        return values

    async def send_plain(self, member: int, handler: int | str, data: Data = b"") -> None:
        """Sends a plain message, and waits until it has arrived. A cancelled await goes on."""
        pending = self._begin_plain(member, handler, data)
        await done(pending.done, pending.notify)
        pending.result(0)

    async def compare_and_swap(self, variable: Variable, expected: Any, value: Any) -> bool:
        """Gives a variable a value if it has the expected one, and says whether it had."""
        had, swap = isochrons.swapped(variable, expected, value)
        await self.update(swap, variable)
        return had[0]

    async def events(self) -> AsyncIterator[Event]:
        """`async for event in isonet.events()`: what isochrons change here since this member has joined, in the one order."""
        self._check_events()
        while True:
            try:
                event = self.native.event(0)
            except Closed:
                return
            if event is None:
                await done(lambda: False, self.native.notify_event)
            else:
                yield self._shape.event(event)

    async def counters(self) -> Counters:
        """What this member has counted since it has joined; once it is closed, until then."""
        return await _in_a_thread(self.native.counters)

    async def peers(self) -> list[PeerCounters]:
        """How each other member of the view keeps up: whom this member waits for comes first, of several the one of which nothing was heard for longest."""
        return await _in_a_thread(self.native.peers)

    async def close(self) -> None:
        """Waits until all isochrons of this member are executed and all members close, and ends."""
        await _in_a_thread(self.native.close)


class Isochrons:
    """As `quintet.isochrons.Isochrons`: `async with lab.isochrons("bank", ...) as isonet:`."""

    def __init__(self, joining: isochrons.Isochrons) -> None:
        self._joining = joining
        self._isonet: Isonet | None = None

    def __call__(self, name: str = "isochrons", **said: Any) -> Isochrons:
        """What this process says of an isonet: as `quintet.isochrons.Isochrons` takes it."""
        return Isochrons(self._joining(name, **said))

    async def join(self) -> Isonet:
        """Joins: waits until all members are there and linked to each other."""
        wanted = self._joining._wanted
        return Isonet(wanted, await _in_a_thread(wanted.join))

    async def __aenter__(self) -> Isonet:
        self._isonet = await self.join()
        return self._isonet

    async def __aexit__(self, kind: object, *_: object) -> None:
        isonet, self._isonet = self._isonet, None
        if isonet is None:
            return
        if kind is None:
            await isonet.close()
        else:
            await _in_a_thread(isonet.leave)


async def done(is_done: Callable[[], bool], notify: Callable[[Callable[[], object]], None]) -> None:
    """Waits, in the event loop, until something tells that it is done."""
    if is_done():
        return
    loop, told = asyncio.get_running_loop(), asyncio.Event()
    notify(partial(_tell, loop, told.set))
    await told.wait()


def _tell(loop: asyncio.AbstractEventLoop, callback: Callable[[], object]) -> None:
    try:
        loop.call_soon_threadsafe(callback)
    except RuntimeError:
        return  # The loop was closed: nobody waits any more.


async def _in_a_thread(work: Callable[[], Any]) -> Any:
    """What waits for other members: the event loop goes on meanwhile."""
    return await asyncio.get_running_loop().run_in_executor(None, work)


__all__ = ["Event", "Isochron", "Isochrons", "Isonet", "Read"]
