"""The driver of the Python front end for asyncio. What it is told and says is in docs/conformance.md."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from typing import Any

import fields
from python_sync import Cannot, lease_of, read_template, say

import quintet
from quintet import aio
from quintet.watching import AsyncWatch


class HeldLease:
    """A lease that is held in a task of its own, within `async with`, until it is told how to end."""

    def __init__(self, block: contextlib.AbstractAsyncContextManager[Any]) -> None:
        self.given = asyncio.get_running_loop().create_future()
        self.orders: asyncio.Queue[Any] = asyncio.Queue()
        self.task = asyncio.ensure_future(self._hold(block))

    async def _hold(self, block: contextlib.AbstractAsyncContextManager[Any]) -> None:
        try:
            async with block as given:
                self.given.set_result(given)
                while (order := await self.orders.get()) is not None:
                    await order
                raise Unended
        except Unended:
            return
        except BaseException as error:
            if self.given.done():
                raise
            self.given.set_exception(error)

    async def let_go(self) -> None:
        self.orders.put_nowait(None)
        await self.task


class Unended(Exception):
    """Leaves the block as an error does: what was not acknowledged returns."""


class Clients:
    """All clients of this process."""

    def __init__(self) -> None:
        self.labs: dict[str, aio.Lab] = {}
        self.embedded: aio.Lab | None = None
        self.closing = contextlib.AsyncExitStack()
        self.held: dict[str, tuple[aio.Space, HeldLease, quintet.Lease]] = {}
        self.begun: dict[str, asyncio.Future[Any]] = {}
        self.holding: dict[str, tuple[aio.Space, HeldLease]] = {}
        self.watches: dict[str, AsyncWatch] = {}
        self.groups: dict[str, tuple[Any, aio.Group]] = {}
        self.used: dict[str, aio.Space] = {}

    async def does(self, step: str, client: str, verb: str, *words: str) -> str:
        if verb == "open":
            return await self.open(client, *words)
        if verb == "close":
            self.used.pop(client, None)
            self.labs.pop(client).close()
            return "done"
        if verb == "reset":
            return await self.reset()
        if verb == "peek":
            await self.labs[client].space.status()  # Takes in what has come.
            return "done" if self.begun[words[0]].done() else "waits"
        if verb == "collect":
            return self.said(words[0], await self.begun.pop(words[0]))
        if verb == "cancel":
            self.begun[words[0]].cancel()
            if words[0] in self.holding:
                self.holding[words[0]][1].task.cancel()
            return "done"
        if verb == "acknowledge":
            space, _, lease = self.held[words[0]]
            results = map(fields.read, words[2:])
            await space.acknowledge(lease, *results, expires_in=fields.limit(words[1]))
            return "done"
        if verb == "release":
            self.held[words[0]][2].release()
            return "done"
        if verb in ("create_kept_space", "grant_space", "revoke_space"):
            return await self.kept(client, verb, *read_template(*words[1:]))
        if verb.endswith("_space"):
            return await self.named(client, verb, *read_template(*words[1:]))
        space = self.used.get(client) or self.labs[client].space
        if verb == "group":
            block = space.group(None)
            self.groups[step] = block, await block.__aenter__()
            return "done"
        if verb == "commit":
            await self.groups[words[0]][1].commit()
            return "done"
        if verb == "abort":
            self.groups[words[0]][1].abort()
            return "done"
        if verb.startswith("group_"):
            return await self.in_group(
                verb.removeprefix("group_"), words[0], fields.limit(words[1]), fields.read(words[2])
            )
        if verb == "begin":
            self.begin(step, space, *words)
            return "waits"
        if verb.startswith("watch"):
            return await self.watch(step, space, verb, *words)
        if verb == "next":
            return await self.next(words[0], fields.limit(words[1]))
        tuples = [fields.read(word) for word in words[1:]]
        if verb in ("collect_into", "copy_collect_into"):
            return say(await getattr(space, verb)(await self.other(client, *tuples[:-1]), *tuples[-1]))
        return self.said(step, await self.call(step, space, verb, fields.limit(words[0]), tuples))

    async def open(self, client: str, address: str, *limits: str) -> str:
        if limits:
            raise Cannot("limits of a space that is embedded: Python has none")
        if address == "embedded" and self.embedded is not None:
            self.labs[client] = self.embedded
            return "done"
        connect = aio.connect(None if address == "embedded" else address)
        self.labs[client] = await self.closing.enter_async_context(connect)
        if address == "embedded":
            self.embedded = self.labs[client]
        return "done"

    async def reset(self) -> str:
        for task in self.begun.values():
            task.cancel()
        await asyncio.gather(*self.begun.values(), return_exceptions=True)
        for _, held, _ in self.held.values():
            with contextlib.suppress(quintet.Error):
                await held.let_go()
        for block, _ in self.groups.values():
            with contextlib.suppress(Unended, quintet.Error):
                await block.__aexit__(Unended, Unended(), None)
        await self.closing.aclose()
        self.__init__()
        return "done"

    async def named(self, client: str, verb: str, name: str | None = None, max_tuples: int | None = None) -> str:
        """Of a named space: its name, and how many tuples it holds where that is said; without a name that which has none."""
        lab = self.labs[client]
        self.used.pop(client, None)
        if verb == "create_space":
            self.used[client] = await lab.create_space(name, max_tuples=max_tuples)
        elif verb == "remove_space":
            await lab.remove_space(name)
        elif name is not None:
            self.used[client] = await lab.space(name)
        return "done"

    async def other(self, client: str, named: tuple[str] | None = None) -> aio.Space:
        """By its name; without one that which has none."""
        lab = self.labs[client]
        return await lab.space(*named) if named else lab.space

    async def kept(self, client: str, verb: str, name: str, *words: str) -> str:
        """Of a space that machines of a cluster keep: its name; where it is created its policy; machines that may use it, or may no more."""
        lab = self.labs[client]
        if verb == "create_kept_space":
            self.used[client] = await lab.create_space(name, policy=words[0], allow=words[1:] or None)
        elif verb == "grant_space":
            await lab.allow_space(name, grant=words)
        else:
            await lab.allow_space(name, revoke=words)
        return "done"

    async def in_group(self, verb: str, of: str, timeout: float | None, wanted: tuple[Any, ...]) -> str:
        group = self.groups[of][1]
        if verb == "out":
            group.out(*wanted, expires_in=timeout)
            return "done"
        waits = {} if verb.endswith("_if") else {"timeout": timeout}
        return say(await getattr(group, verb)(*wanted, **waits))

    async def watch(self, step: str, space: aio.Space, verb: str, *words: str) -> str:
        since = self.watches[words[0]].number if verb == "watch_behind" else None
        template = read_template(*words[2 if verb == "watch_behind" else 1 :])
        watch = space.watch(*template, since=since, existing=verb == "watch_start")
        self.watches[step] = await watch.start()
        return "done"

    async def next(self, of: str, timeout: float | None) -> str:
        try:
            return say(await asyncio.wait_for(anext(self.watches[of]), timeout))
        except asyncio.TimeoutError:
            return "nothing"

    async def call(
        self, step: str, space: aio.Space, verb: str, timeout: float | None, tuples: list[tuple[Any, ...]]
    ) -> Any:
        if verb == "out_for":
            return await space.out(*tuples[0], expires_in=timeout)
        if verb == "out_many":
            return await space.out_many(tuples, timeout=timeout)
        if verb == "status":
            return await space.status()
        if verb == "declare_key":
            return await space.declare_key(tuples[0][0], *tuples[1])
        if verb in ("select_if", "select_read_if", "replace_if"):
            return await getattr(space, verb)(*tuples)
        if verb in ("select", "select_read", "replace"):
            return await getattr(space, verb)(*tuples, timeout=timeout)
        if verb == "select_lease":
            return await self.hold(step, space, space.select_lease(*tuples, timeout=timeout))
        if verb == "take_up_to":
            return await space.take_up_to(tuples[0][0], *tuples[1])
        template = tuples[0] if tuples else ()
        if verb == "list":
            return [row async for row in space.list(*template)]
        if verb == "collect_all":
            return await space.collect(*template)
        if verb == "lease":
            return await self.hold(step, space, space.lease(*template, timeout=timeout))
        if verb in ("take_if", "read_if", "count", "copy_collect"):
            return await getattr(space, verb)(*template)
        return await getattr(space, verb)(*template, timeout=timeout)

    def hold(
        self, step: str, space: aio.Space, block: contextlib.AbstractAsyncContextManager[Any]
    ) -> asyncio.Future[Any]:
        held = HeldLease(block)
        self.holding[step] = space, held
        return held.given

    def begin(self, step: str, space: aio.Space, verb: str, *words: str) -> None:
        if verb == "acknowledge":
            acknowledging, _, lease = self.held[words[0]]
            results = map(fields.read, words[2:])
            operation = acknowledging.acknowledge(lease, *results, expires_in=fields.limit(words[1]))
        else:
            tuples = [fields.read(word) for word in words[1:]]
            operation = self.call(step, space, verb, fields.limit(words[0]), tuples)
        self.begun[step] = asyncio.ensure_future(operation)

    def said(self, step: str, result: Any) -> str:
        if (lease := lease_of(result)) is not None:
            self.held[step] = (*self.holding.pop(step), lease)
        return say(result)


async def main() -> None:
    clients = Clients()
    loop = asyncio.get_running_loop()
    print("ready", flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        step, client, *words = line.rstrip("\n").split(" ")
        try:
            said = await clients.does(step, client, *words)
            if said == "done" and words[0].endswith("_if"):
                said = "nothing"
        except Cannot as reason:
            said = f"cannot {reason}"
        except quintet.Error as error:
            said = f"error {error.code.name}"
        except asyncio.CancelledError:
            said = "error Cancelled"
        print(step, said, flush=True)


if __name__ == "__main__":
    asyncio.run(main())
