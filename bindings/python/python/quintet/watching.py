"""What happens in a space, as it happens: `for event in space.watch("order", int)`, and the same in asyncio."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from quintet.errors import Code, TimedOut

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from quintet._native import Pending, Space
    from quintet.progress import Progress

    Asks = Generator[Callable[[], Pending], tuple[int, list["Event"], int | None], None]

TURN_S = 30.0
"""So long one request waits for an event. Where none comes, the answer says up to which number."""

IS_THERE = ("put", "returned", "there")
"""After these a tuple can be taken."""


@dataclass(frozen=True)
class Event:
    """Something that happened to a tuple."""

    number: int
    """Its place in the order of all events of the space. Numbers go up, not always by one."""
    change: str
    """"put": it came. "taken": a plain take has it. "leased": it is hidden under a lease. "returned": it can be taken again. "done": its lease was
    acknowledged, or its group has happened. "failed": a dead letter comes in its place. "there": it was there when the watch began. "expired": its time had come."""
    age: int
    """Which tuple: its place in the order in which tuples were put."""
    fields: tuple[Any, ...]
    """The tuple."""


class _Stream:
    """What has come, and what has to be asked next."""

    def __init__(self, space: Space, template: tuple[Any, ...], since: int | None, existing: bool) -> None:
        if existing and since is not None:
            raise ValueError("a watch begins behind a number, or with what is there: give since or existing, not both")
        self._space, self._template = space, template
        self._events: deque[Event] = deque()
        self._fetched, self._number = since, since
        self._existing = existing

    @property
    def number(self) -> int | None:
        """Behind which number whoever comes back goes on. None: it has not begun, or has not yet given all tuples that were there."""
        return self._number if self._events else self._fetched

    def _ask(self, since: int | None, wait: float) -> Callable[[], Pending]:
        return partial(self._space.begin(wait).events, *self._template, since=since)

    def _begin(self) -> Asks:
        """Yields what to ask until it is known where the watch begins."""
        if self._existing:
            yield from self._gather()
        elif self._fetched is None:
            self._fetched, _, _ = yield self._ask(None, 0)

    def _gather(self) -> Asks:
        """The tuples a page at a time, and with them what happened from the first page to the last: then they are the space at one number."""
        begin = self._space.begin()
        number, _, _ = yield self._ask(None, 0)
        there: dict[int, Event] = {}
        after: int | None = 0
        while after is not None:
            _, events, after = yield partial(begin.look, *self._template, after=after)
            there.update((event.age, event) for event in events)
        end, _, _ = yield self._ask(None, 0)
        while number < end:
            number, events, _ = yield self._ask(number, 0)
            for event in events:
                if event.change in IS_THERE:
                    there[event.age] = event
                else:
                    there.pop(event.age, None)
        self._fetched, self._number, self._existing = number, None, False
        self._events.extend(replace(there[age], number=number, change="there") for age in sorted(there))

    def _take(self, answer: tuple[int, list[Event], int | None]) -> None:
        self._fetched, events, _ = answer
        self._events.extend(events)

    def _next(self) -> Event:
        event = self._events.popleft()
        if event.change != "there":
            self._number = event.number
        return event

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.{type(self).__name__} number={self.number}>"


class Watch(_Stream):
    """What happens to tuples, as an iterator that waits. Made by `Space.watch`; it counts from then."""

    def __init__(
        self, space: Space, template: tuple[Any, ...], since: int | None, existing: bool, timeout: float | None
    ) -> None:
        super().__init__(space, template, since, existing)
        self._timeout = timeout
        asks, answer = self._begin(), None
        while True:
            try:
                ask = asks.send(answer)  # type: ignore[arg-type]
            except StopIteration:
                return
            answer = ask().result()

    def __iter__(self) -> Watch:
        return self

    def __next__(self) -> Event:
        end = None if self._timeout is None else monotonic() + self._timeout
        while not self._events:
            left = TURN_S if end is None else max(0.0, min(TURN_S, end - monotonic()))
            self._take(self._ask(self._fetched, left)().result())
            if not self._events and end is not None and monotonic() >= end:
                raise TimedOut(Code.TimedOut, f"no event within {self._timeout} s behind number {self._fetched}")
        return self._next()


class AsyncWatch(_Stream):
    """The same for asyncio. Made by `quintet.aio.Space.watch`; it counts from its first await."""

    def __init__(
        self, space: Space, progress: Progress, template: tuple[Any, ...], since: int | None, existing: bool
    ) -> None:
        super().__init__(space, template, since, existing)
        self._progress = progress
        self._has_begun = False

    async def start(self) -> AsyncWatch:
        """Fixes where it begins, if that was not done: events count from when this returns."""
        asks, answer = self._begin(), None
        while not self._has_begun:
            try:
                ask = asks.send(answer)  # type: ignore[arg-type]
            except StopIteration:
                self._has_begun = True
                break
            answer = await self._progress.run(ask)
        return self

    def __aiter__(self) -> AsyncWatch:
        return self

    async def __anext__(self) -> Event:
        await self.start()
        while not self._events:
            self._take(await self._progress.run(self._ask(self._fetched, TURN_S)))
        return self._next()
