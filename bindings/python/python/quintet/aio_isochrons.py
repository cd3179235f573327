"""Isochrons for asyncio: what `quintet.aio.Lab.isochrons` is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

from quintet import _native, isochrons
from quintet.errors import Closed, ViewChanged
from quintet.isochron import Data, Part, Place
from quintet.isonet_shape import Event, Wanted
from quintet.variables import Variable


class Isochron(Part):
    """An isochron that is put together. `async with isonet.isochron() as i:` executes it at the end of the block, and waits for it; `with` begins it there, and
    `await i` waits. After an exception nothing of it happens.
    """

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
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self.abandon()
        else:
            await self


class Isonet(isochrons.Member):
    """A member of an isonet, for one event loop. Each method does and raises what `quintet.isochrons.Isonet`'s does; `native` is the one it stands on."""

    def __init__(self, wanted: Wanted, native: _native.Isonet) -> None:
        super().__init__(wanted, native)
        self._updates = {variable.number: asyncio.Lock() for variable in self._shape.variables}

    def isochron(self) -> Isochron:
        """Begins to put an isochron together: `async with isonet.isochron() as i:`."""
        return Isochron(self._shape, self._isochrons.isochron())

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

    async def _is_done_in_this_view(self, isochron: Part) -> bool:
        assert isochron._pending is not None
        await done(isochron._pending.done, isochron._pending.notify)
        return self._take_in_this_view(isochron)

    async def update(self, function: Callable[..., Any], *variables: Variable) -> Any:
        """Gives variables the values that the function, a plain one, returns for what they have. If the await is cancelled before that, they keep what they have."""
        async with self._updating(variables) as hand_over:
            isochron = Part(self._shape, self._isochrons.isochron())
            try:
                reads = self._reserve(isochron, variables)
                while not await self._is_done_in_this_view(isochron):
                    isochron = Part(self._shape, self._isochrons.isochron())
                    reads = self._reserve(isochron, variables)
                values = function(*(read.value for read in reads))
                assigning = self._assigning(variables, values)
                self._keep(isochron, assigning)
            except BaseException:
                self._give_back(isochron, hand_over())
                raise
            # It happens, whether somebody waits for it or not.
            while not await self._is_done_in_this_view(assigning):
                assigning = self._assigning(variables, values)
                assigning._pending = assigning._native.begin(False)
        return values

    @asynccontextmanager
    async def _updating(self, variables: tuple[Variable, ...]) -> AsyncIterator[Callable[[], Callable[[], None]]]:
        """A member has one reserved place of a variable at a time: others of its tasks wait here. What this gives hands the end over to a callback."""
        async with AsyncExitStack() as stack:
            for number in sorted({self._shape.known(variable) for variable in variables}):
                await stack.enter_async_context(self._updates[number])
            yield partial(self._hand_over, stack)

    def _hand_over(self, stack: AsyncExitStack) -> Callable[[], None]:
        loop, kept = asyncio.get_running_loop(), stack.pop_all()
        # Locks that are held for a callback, and released in the loop.
        return partial(_tell, loop, lambda: loop.create_task(kept.aclose()))

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


__all__ = ["Event", "Isochron", "Isochrons", "Isonet"]
