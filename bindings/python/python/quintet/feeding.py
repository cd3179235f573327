"""How an executor's tasks come into its space: no more at a time than may be, those that come close behind each other together.

A task that is submitted by itself is put at once. Those of a burst wait for a fraction of a millisecond, while workers have something to do, and are put as one
request by a thread of their own; so are those that wait for room. What that thread waits for holds up neither results nor whoever submits.
"""

from __future__ import annotations

import itertools
import threading
import time
from dataclasses import dataclass
from typing import Any, Callable

from quintet import bulk, tasks
from quintet._native import Space
from quintet.errors import GONE, Error, SpaceFull

BURST_S = 0.0001
"""A task that is submitted so soon after the last one is gathered with those that follow,"""

SOME_AHEAD = 4
"""if so many are in the space or with workers."""

PACK = 64
"""So many tasks are put together, at most."""

GATHER_S = 0.0002
"""How long they are gathered;"""

MORE_AHEAD = 32
"""where so many are in the space or with workers,"""

GATHER_MORE_S = 0.001
"""so long."""

LOOK_S = 0.25
"""How long a task with large arrays waits for room before others go first."""


@dataclass(frozen=True)
class Put:
    """A task that is to be put."""

    payload: bytes
    keys: list[str]
    """Of its large arrays."""
    bulk: list[tuple[Any, ...]]
    """The tuples of those that are not there."""

    @property
    def size(self) -> int:
        return len(self.payload) + sum(int(fields[3].nbytes) for fields in self.bulk)


class Feed:
    """The tasks of a pool that are in its space, or are to come there. `failed` is called with those that cannot be put."""

    def __init__(
        self, space: Space, pool: str, lock: threading.Lock, most: tuple[int, int], failed: Callable[[int, Exception], None]
    ) -> None:
        """`lock`: the pool's. `most`: tasks that are ahead, and bytes of them."""
        self._space, self._pool, self._failed = space, pool, failed
        self._most_tasks, self._most_bytes = most
        self._lock = lock
        self._changed = threading.Condition(lock)
        """Told when there is something to be put, or room for it, and when all is over."""
        self._ahead: dict[int, int] = {}
        """The tasks that were put and are not done: the bytes of each."""
        self._bytes_ahead = 0
        """All of them together."""
        self._kept: dict[int, Put] = {}
        """The tasks that wait here, oldest first."""
        self._lacks_room = False
        """The first of them may not be put before others are done."""
        self._submitted = 0.0
        """When the last one was admitted."""
        self._is_over = False
        self._feeder: threading.Thread | None = None
        self._events = tasks.events_wanted()

    def admit(self, number: int, put: Put) -> bool:
        """Takes a task in. Whether it is kept here; else it is to be put now. Under the lock."""
        now = time.monotonic()
        is_burst, self._submitted = now - self._submitted < BURST_S and len(self._ahead) >= SOME_AHEAD, now
        # One with arrays, which others may name once they are there, is not gathered.
        waits = self._lacks_room if put.bulk else is_burst or bool(self._kept)
        is_kept = waits or not self._has_room(put.size)
        if is_kept:
            self.keep(number, put)
        else:
            self._put_ahead(number, put.size)
        return is_kept

    def keep(self, number: int, put: Put) -> None:
        """Has a task put later. Under the lock."""
        self._take_ahead(number)
        self._kept[number] = put
        if self._feeder is None:
            self._feeder = threading.Thread(target=self._feed, name="quintet-feed", daemon=True)
            self._feeder.start()
        if len(self._kept) in (1, PACK):
            self._changed.notify_all()

    def put(self, number: int, put: Put, timeout: float | None = None) -> None:
        """All of it, or nothing. Raises as `Space.out_many`."""
        apart, puts = bulk.split(put.bulk)
        puts += self._tuples(number, put)
        there: list[str] = []
        try:
            for fields in apart:
                self._space.out(*fields, timeout=timeout)
                there.append(fields[2])
            self._space.out_many(puts, timeout)
        except BaseException:
            bulk.take_away(self._space, self._pool, there)
            raise

    def done(self, number: int) -> None:
        """A task is not ahead any more. Under the lock."""
        self._take_ahead(number)
        if self._kept and self._lacks_room:
            self._changed.notify_all()

    def withdraw(self, number: int) -> bool:
        """Whether a task was kept, and is no more. Under the lock."""
        return self._kept.pop(number, None) is not None

    def withdraw_all(self) -> list[int]:
        """Those that were kept, and are no more. Under the lock."""
        kept = list(self._kept)
        self._kept.clear()
        return kept

    def limit(self, most_tasks: int) -> None:
        """No more tasks are ahead from now on. Under the lock."""
        self._most_tasks = most_tasks
        self._changed.notify_all()

    def end(self) -> None:
        """Nothing is put any more. Under the lock."""
        self._is_over = True
        self._kept.clear()
        self._changed.notify_all()

    def _tuples(self, number: int, put: Put) -> list[tuple[Any, ...]]:
        """Those of a task, but for its arrays."""
        task = (tasks.TASK, self._pool, number, put.payload)
        return [task, tasks.event(tasks.SUBMITTED, -1, number, 0)] if self._events else [task]

    def _has_room(self, size: int) -> bool:
        """Whether one more task of that size may be put."""
        fits = len(self._ahead) < self._most_tasks and self._bytes_ahead + size <= self._most_bytes
        return fits or not self._ahead

    def _put_ahead(self, number: int, size: int) -> None:
        self._ahead[number] = size
        self._bytes_ahead += size

    def _take_ahead(self, number: int) -> None:
        self._bytes_ahead -= self._ahead.pop(number, 0)

    def _feed(self) -> None:
        """Puts the tasks that were kept, each once there is room for it, in their order; but those pass that have less than one with
        large arrays that finds no room: room may come only when they are done.
        """
        try:
            while (pack := self._next_pack()) is not None:
                if len(pack) == 1 or not self._put_together(pack):
                    for number, put in pack:
                        self._put_kept(number, put)
        except GONE:
            return  # The end of the collection is theirs.

    def _put_together(self, pack: list[tuple[int, Put]]) -> bool:
        """Whether all of them are put: there may be room for each by itself only. Raises if the space is gone."""
        puts = [fields for number, put in pack for fields in self._tuples(number, put)]
        try:
            if puts:
                self._space.out_many(puts, 0.0)
        except GONE:
            raise
        except Error:
            return False
        return True

    def _put_kept(self, number: int, put: Put) -> None:
        """Waits for room; with large arrays not for long. Raises if the space is gone."""
        try:
            self.put(number, put, LOOK_S if put.bulk else None)
        except GONE:
            raise
        except SpaceFull:
            with self._lock:
                self.keep(number, put)
        except Exception as error:
            self._failed(number, error)

    def _next_pack(self) -> list[tuple[int, Put]] | None:
        """Waits until some may be put, and for more of them. None: there will be none any more."""
        with self._changed:
            self._changed.wait_for(self._is_due)
            if not self._is_over and len(self._kept) < PACK and len(self._ahead) >= SOME_AHEAD:
                self._changed.wait(GATHER_S if len(self._ahead) < MORE_AHEAD else GATHER_MORE_S)
            return None if self._is_over else self._pack()

    def _is_due(self) -> bool:
        """Whether there is room for the first of those that are kept; for a pack of them where there is enough to do without."""
        self._lacks_room = False
        if self._is_over or not self._kept:
            return self._is_over
        wanted = min(len(self._kept), PACK) if len(self._ahead) >= MORE_AHEAD else 1
        fits = wanted == 1 or len(self._ahead) + wanted <= self._most_tasks
        self._lacks_room = not fits or not self._has_room(next(iter(self._kept.values())).size)
        return not self._lacks_room

    def _pack(self) -> list[tuple[int, Put]]:
        """The oldest ones, which count as ahead from now on; one with large arrays by itself."""
        pack: list[tuple[int, Put]] = []
        for number, put in itertools.islice(self._kept.items(), PACK):
            if pack and (put.bulk or pack[0][1].bulk) or not self._has_room(put.size):
                break
            self._put_ahead(number, put.size)
            pack.append((number, put))
        for number, _ in pack:
            del self._kept[number]
        return pack
