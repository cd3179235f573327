"""The same for asyncio: `async with quintet.aio.connect() as lab: await lab.space.take("row", int)`.

A cancelled await loses nothing: its operation is cancelled, and a tuple that was on its way goes back to its place. No
thread is started: the event loop watches the connection's descriptor while something is awaited.
"""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Literal

from quintet import _native, connecting
from quintet._native import Pending
from quintet.aio_isochrons import Isochrons
from quintet.aio_messaging import Messaging
from quintet.inspecting import Client, HotKey, Partition, Replica, WaitingRequest
from quintet.listing import ListedTuple
from quintet.progress import Progress
from quintet.status import KeptSpace, NamedSpace, Status
from quintet.watching import AsyncWatch


@asynccontextmanager
async def connect(address: str | None = None) -> AsyncIterator[Lab]:
    """Connects as `quintet.connect`, and closes at the end. Raises as it does."""
    loop = asyncio.get_running_loop()
    native = await loop.run_in_executor(None, connecting.connect, address)
    lab = Lab(native)
    try:
        yield lab
    finally:
        lab._progress.close()
        await loop.run_in_executor(None, native.close)


class Lab:
    """A connection to everything, for one event loop. `native` is the one it stands on; it may be used as well."""

    def __init__(self, native: _native.Lab) -> None:
        self.native = native
        self._progress = Progress(native)
        self.space = Space(native, self._progress)
        self.messaging = Messaging(native.messaging, self._progress)

    @property
    def isochrons(self) -> Isochrons:
        """Isochrons between the processes of a job: `async with lab.isochrons("bank", variables=[TOTAL]) as isonet:` joins, and closes at the end."""
        return Isochrons(self.native.isochrons)

    async def create_space(
        self,
        name: str,
        *,
        max_bytes: int | None = None,
        max_tuples: int | None = None,
        policy: str = "volatile",
        allow: Sequence[str | bytes] | None = None,
        allow_own_machine: bool = False,
    ) -> Space:
        """Creates a named space, as `quintet.Lab.create_space`."""
        create = partial(
            self.native.create_space,
            name,
            max_bytes=max_bytes,
            max_tuples=max_tuples,
            policy=policy,
            allow=allow,
            allow_own_machine=allow_own_machine,
        )
        return self.space._beside(await asyncio.get_running_loop().run_in_executor(None, create))

    async def allow_space(
        self, name: str, *, grant: Sequence[str | bytes] = (), revoke: Sequence[str | bytes] = ()
    ) -> None:
        """Says who may use a space that machines of the lab's cluster keep, as `quintet.Lab.allow_space`."""
        allow = partial(self.native.allow_space, name, grant=grant, revoke=revoke)
        await asyncio.get_running_loop().run_in_executor(None, allow)

    async def remove_space(self, name: str) -> None:
        """Removes a named space with its tuples."""
        await asyncio.get_running_loop().run_in_executor(None, self.native.remove_space, name)

    async def spaces(self) -> list[NamedSpace]:
        """The named spaces, by name."""
        return await asyncio.get_running_loop().run_in_executor(None, self.native.spaces)

    async def kept_spaces(self) -> list[KeptSpace]:
        """The spaces that machines of the lab's cluster keep on their disks, by name."""
        return self.native.kept_spaces()

    async def replicas(self) -> list[Replica]:
        """What each server of a replicated space does, as `quintet.Lab.replicas`."""
        return await asyncio.get_running_loop().run_in_executor(None, self.native.replicas)

    def close(self) -> None:
        """Ends the connection; what is awaited ends with Closed. To be called in the event loop."""
        self._progress.close()
        self.native.close()

    def __repr__(self) -> str:
        return f"<quintet.aio.Lab {self.native!r}>"


class Space:
    """A tuple space whose operations are awaited. Each does and raises what `quintet.Space`'s does."""

    def __init__(self, lab: _native.Lab, progress: Progress | None = None) -> None:
        self._native = lab.space
        self._progress = progress or Progress(lab)

    def _beside(self, native: _native.Space) -> Space:
        """Another space of the same connection, or with one of its own."""
        space = Space.__new__(Space)
        space._native, own = native, native._own_lab()
        space._progress = self._progress if own is None else self._progress.beside(own)
        return space

    async def __call__(self, name: str, *, policy: str | None = None) -> Space:
        """The named space of this name: `orders = await lab.space("orders")`; with a policy it is created if it is not there, as by `quintet.Space`."""
        find = partial(self._native, name, policy=policy)
        return self._beside(await asyncio.get_running_loop().run_in_executor(None, find))

    @property
    def name(self) -> str | None:
        """What it is called; None: it is the space without a name."""
        return self._native.name

    async def out(
        self, *fields: Any, timeout: float | None = None, expires_in: float | None = None
    ) -> None:
        """Puts a tuple, which leaves the space by itself so many seconds after it was put, if it is to expire."""
        await self._run(partial(self._native.begin(timeout).out, expires_in=expires_in), *fields)

    async def out_many(
        self,
        tuples: Iterable[tuple[Any, ...]],
        timeout: float | None = None,
        expires_in: float | None = None,
    ) -> None:
        """Puts all these tuples at one instant, or none."""
        puts = list(tuples)
        if puts:
            await self._run(partial(self._native.begin(timeout).out_many, expires_in=expires_in), puts)

    async def take(self, *template: Any, timeout: float | None = None) -> tuple[Any, ...]:
        """Takes the oldest matching tuple."""
        return await self._run(self._native.begin(timeout).take, *template)

    async def read(self, *template: Any, timeout: float | None = None) -> tuple[Any, ...]:
        """Reads the oldest matching tuple, which stays."""
        return await self._run(self._native.begin(timeout).read, *template)

    async def take_if(self, *template: Any) -> tuple[Any, ...] | None:
        """Takes the oldest matching tuple if there is one."""
        return await self._run(self._native.begin().take_if, *template)

    async def read_if(self, *template: Any) -> tuple[Any, ...] | None:
        """Reads the oldest matching tuple if there is one."""
        return await self._run(self._native.begin().read_if, *template)

    @asynccontextmanager
    async def lease(self, *template: Any, timeout: float | None = None) -> AsyncIterator[_native.Lease]:
        """`async with space.lease("task", int) as task`: acknowledged at the end, returned on an exception."""
        lease = await self._run(self._native.begin(timeout).lease, *template)
        with lease:
            yield lease

    async def replace(
        self, template: tuple[Any, ...], *tuples: tuple[Any, ...], timeout: float | None = None
    ) -> tuple[Any, ...]:
        """Takes the oldest match and puts the others in its place, at one instant. A cancelled await has happened or not."""
        return await self._run(self._native.begin(timeout).replace, template, *tuples)

    async def replace_if(self, template: tuple[Any, ...], *tuples: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """As `replace` if there is a match."""
        return await self._run(self._native.begin().replace_if, template, *tuples)

    async def select(
        self, *templates: tuple[Any, ...], timeout: float | None = None
    ) -> tuple[int, tuple[Any, ...]]:
        """Takes the oldest tuple that matches one of several templates: which, from 0, and the tuple."""
        return await self._run(self._native.begin(timeout).select, *templates)

    async def select_read(
        self, *templates: tuple[Any, ...], timeout: float | None = None
    ) -> tuple[int, tuple[Any, ...]]:
        """As `select`; the tuple stays."""
        return await self._run(self._native.begin(timeout).select_read, *templates)

    async def select_if(self, *templates: tuple[Any, ...]) -> tuple[int, tuple[Any, ...]] | None:
        """As `select` if there is such a tuple."""
        return await self._run(self._native.begin().select_if, *templates)

    async def select_read_if(self, *templates: tuple[Any, ...]) -> tuple[int, tuple[Any, ...]] | None:
        """As `select_read` if there is such a tuple."""
        return await self._run(self._native.begin().select_read_if, *templates)

    @asynccontextmanager
    async def select_lease(
        self, *templates: tuple[Any, ...], timeout: float | None = None
    ) -> AsyncIterator[tuple[int, _native.Lease]]:
        """`async with space.select_lease(("urgent", int), ("job", int)) as (which, job)`: acknowledged at the end, returned on an exception."""
        which, lease = await self._run(self._native.begin(timeout).select_lease, *templates)
        with lease:
            yield which, lease

    async def acknowledge(
        self, lease: _native.Lease, *results: tuple[Any, ...], expires_in: float | None = None
    ) -> None:
        """Acknowledges a lease with results that may have to wait for room, which `lease.acknowledge` would do without
        letting the event loop go on. With `expires_in` they leave the space by themselves so many seconds later.
        """
        await self._run(partial(lease.begin_acknowledge, expires_in=expires_in), *results)

    @asynccontextmanager
    async def group(self, timeout: float | None = 60.0) -> AsyncIterator[Group]:
        """`async with space.group() as g`: what it takes, reads and puts happens at one instant, at the end; after an exception, none of it."""
        group = Group(self, self._native.group(timeout))
        with group.native:
            yield group
            if not group.native.ended:
                await group.commit()

    async def collect(self, *template: Any) -> builtins.list[tuple[Any, ...]]:
        """Takes all tuples that match, the oldest first. A cancelled await loses the pages before the one that was on its way."""
        return [row async for page in self.collect_pages(*template) for row in page]

    async def take_up_to(self, most: int, *template: Any) -> builtins.list[tuple[Any, ...]]:
        """Takes tuples that match, at most so many, at one instant, as `quintet.Space.take_up_to`. A cancelled await has taken nothing."""
        start = 0
        while most != 0:
            begin = partial(self._native.begin().take_up_to, most, start=start)
            tuples, following, _ = await self._run(begin, *template)
            if tuples or (following is None and start == 0):
                return tuples
            if following is None:
                # In several parts it was about several instants.
                taken = await self.take_if(*template)
                return [] if taken is None else [taken]
            start = following
        return []

    async def copy_collect(self, *template: Any) -> builtins.list[tuple[Any, ...]]:
        """As `collect`; the tuples stay."""
        return [row async for page in self.copy_collect_pages(*template) for row in page]

    def collect_pages(self, *template: Any) -> AsyncIterator[builtins.list[tuple[Any, ...]]]:
        """`async for rows in space.collect_pages("row", int)`: as `collect`, each page taken when it is asked for."""
        return self._pages(self._native.begin().collect, template)

    def copy_collect_pages(self, *template: Any) -> AsyncIterator[builtins.list[tuple[Any, ...]]]:
        """As `collect_pages`; the tuples stay."""
        return self._pages(self._native.begin().copy_collect, template)

    async def _pages(
        self, begin: Callable[..., Pending], template: tuple[Any, ...]
    ) -> AsyncIterator[builtins.list[tuple[Any, ...]]]:
        start, below = 0, None
        while start is not None:
            tuples, start, below = await self._run(partial(begin, start=start, below=below), *template)
            if tuples:
                yield tuples

    async def collect_into(self, other: Space, *template: Any) -> int:
        """Moves all tuples that match to another space of the same server, at one instant: how many. A cancelled await has moved all or none."""
        return await self._into(self._native.begin().collect_into, other, template)

    async def copy_collect_into(self, other: Space, *template: Any) -> int:
        """As `collect_into`; the tuples stay here as well."""
        return await self._into(self._native.begin().copy_collect_into, other, template)

    async def _into(self, begin: Callable[..., Pending], other: Space, template: tuple[Any, ...]) -> int:
        while True:
            count = await self._run(begin, other._native, *template)
            if isinstance(count, int):
                return count

    async def declare_key(self, field: int, *template: Any) -> None:
        """Several managers have tuples of these types by the value of this field, as `quintet.Space.declare_key`."""
        await self._run(self._native.begin().declare_key, field, *template)

    async def count(self, *template: Any) -> int:
        """How many tuples match now."""
        return await self._run(self._native.begin().count, *template)

    def list(self, *template: Any) -> AsyncIterator[ListedTuple]:
        """`async for row in space.list("task", int)`: the tuples that match, which stay."""
        return self._rows("tuples", *template)

    def waiting(self) -> AsyncIterator[WaitingRequest]:
        """`async for request in space.waiting()`: the requests that wait."""
        return self._rows("waiting")

    def clients(self) -> AsyncIterator[Client]:
        """The clients that are connected to the space."""
        return self._usage("clients")

    def partitions(self) -> AsyncIterator[Partition]:
        """The space's partitions, and how each is used."""
        return self._usage("partitions")

    def hot_keys(self) -> AsyncIterator[HotKey]:
        """The values that takes and reads ask for most, the hottest first."""
        return self._usage("hot keys")

    async def _usage(self, subject: str) -> AsyncIterator[Any]:
        ask = partial(self._native._usage, subject)
        for row in await asyncio.get_running_loop().run_in_executor(None, ask):
            yield row

    async def _rows(self, subject: str, *template: Any) -> AsyncIterator[Any]:
        after = None
        while True:
            page = await self._run(partial(self._native.begin().page, after=after, subject=subject), *template)
            for row in page.rows:
                yield row
            after = page.next
            if after is None:
                return

    def watch(self, *template: Any, since: int | None = None, existing: bool = False) -> AsyncWatch:
        """`async for event in space.watch("order", int, since=last)`: what happens to tuples, as `quintet.Space.watch`. It counts from the first await,
        or from `await space.watch(...).start()`. A cancelled await loses no event.
        """
        return AsyncWatch(self._native, self._progress, template, since, existing)

    async def eval(
        self, *fields: Any, on: Literal["thread", "workers"] = "thread"
    ) -> asyncio.Future[None]:
        """`evaluation = await space.eval("pi", compute_pi, on="workers")`: evaluates the callables and puts the tuple, as `quintet.Space.eval`. What it gives
        is over once the tuple is there: `await evaluation` raises what it raised, and one that is cancelled is taken back if no worker has it.
        """
        loop = asyncio.get_running_loop()
        evaluation = await loop.run_in_executor(None, partial(self._native.eval, *fields, on=on))
        return asyncio.wrap_future(evaluation)

    async def status(self) -> Status:
        """The space's numbers."""
        return await self._run(self._native.begin().status)

    async def _run(self, begin: Callable[..., Pending], *fields: Any) -> Any:
        return await self._progress.run(begin, *fields)


class Group:
    """A group whose operations are awaited. Each does and raises what `quintet.Group`'s does; `native` is the one it stands on."""

    def __init__(self, space: Space, native: _native.Group) -> None:
        self.native = native
        self._space = space

    async def take(self, *template: Any, timeout: float | None = None) -> tuple[Any, ...]:
        """Takes the oldest matching tuple."""
        return await self._space._run(partial(self.native.begin_take, timeout=timeout), *template)

    async def take_if(self, *template: Any) -> tuple[Any, ...] | None:
        """Takes the oldest matching tuple if there is one."""
        return await self._space._run(self.native.begin_take_if, *template)

    async def read(self, *template: Any, timeout: float | None = None) -> tuple[Any, ...]:
        """Reads the oldest matching tuple, which has to be there at the end."""
        return await self._space._run(partial(self.native.begin_read, timeout=timeout), *template)

    async def read_if(self, *template: Any) -> tuple[Any, ...] | None:
        """Reads the oldest matching tuple if there is one."""
        return await self._space._run(self.native.begin_read_if, *template)

    def out(self, *fields: Any, expires_in: float | None = None) -> None:
        """Puts a tuple when the group ends."""
        self.native.out(*fields, expires_in=expires_in)

    async def commit(self) -> None:
        """Ends the group: what it took is gone and what it puts is there, at one instant."""
        await self._space._run(self.native.begin_commit)

    def abort(self) -> None:
        """Ends the group, which has not happened."""
        self.native.abort()
