"""`Executor.map`: many calls of one function, in chunks that are as large as they need be.

A chunk is one task. Where no size is asked for it follows from how long calls take, which workers measure: short calls go many at a time, so
that what a task costs is little beside them; long ones go one by one, so that every worker has some. A chunk whose calls take longer
than they seemed to gives back those that it has not begun, for any worker.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError
from concurrent.futures import Future as _Future
from concurrent.futures import TimeoutError as _TimeoutError
from typing import Any, Callable

from quintet import tasks
from quintet.bulk import SHORTEST_BYTES, Sharing
from quintet.pool import Pool

CHUNK_S = 0.01
"""How long a chunk should take: a hundred times what a task costs."""

LONG_S = CHUNK_S / 2
"""Calls that take this long go one by one."""

LIMIT_S = 10 * CHUNK_S
"""After so long a chunk gives back what it has not begun."""

MOST_CALLS = 2000
"""In a chunk."""

MOST_BYTES = 1 << 20
"""Of a chunk's arguments, unless a single call has more."""

DEPTH = 3
"""Chunks under way for each worker: one that is done, one that waits, one on its way."""

LONG_DEPTH = 64
"""Long calls under way, for workers that come later."""

LARGE_DEPTH = 6
"""Calls with large arrays under way, where there are few workers: well below what a link over shared memory lends without a copy, so that
memory is used again while it is warm."""

Call = tuple[Any, ...]


class Mapping:
    """The calls of one `map`, of which some are under way."""

    def __init__(
        self, pool: Pool, function: Callable[..., Any], calls: Iterable[Call], size: int | None, workers: int, buffer: int | None
    ) -> None:
        """`size`: of a chunk; None: as large as it need be for `workers`. `buffer`: so many calls are under way, or their results wait, at
        most; None: all are collected at once.
        """
        self._pool, self._size, self._workers, self._buffer = pool, size, workers, buffer
        self._left: int | None = None
        """Calls that are not under way; None where nobody knows."""
        if buffer is None:
            calls = list(calls)
            self._left = len(calls)
        self._calls = iter(calls)
        self._chunk = tasks.Chunk(function, None if size is not None else LIMIT_S)
        self._sharing: Sharing | None = pool.share_on(compares=buffer is not None)
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._given_back: deque[tuple[int, list[Call]]] = deque()
        self._under_way: dict[int, _Future[Any]] = {}
        """By the number of their first call."""
        self._done: dict[int, tuple[list[Any], BaseException | None]] = {}
        self._begun = self._given = self._taken = 0
        """Calls that were put under way; those of chunks whose results are being taken, and that were taken one by one."""
        self._is_exhausted = self._has_failed = self._is_closed = self._is_feeding = self._is_due = False
        """No calls are left; one has failed, so that no further ones are wanted; nobody wants a result; a thread feeds; the program's own is to."""
        self._call_s: float | None = None
        """How long one takes, as far as is known."""
        self._call_bytes = 0

    def results(self, timeout: float | None) -> Iterator[Any]:
        """The results in order. Raises what a call raised, in its place; TimeoutError `timeout` seconds from now."""
        end = None if timeout is None else time.monotonic() + timeout
        self._feed()
        return self._results(end)

    def _results(self, end: float | None) -> Iterator[Any]:
        try:
            while (done := self._next_done(end)) is not None:
                values, error = done
                # As the standard library does: no result is kept once it was given.
                values.reverse()
                while values:
                    yield values.pop()
                    if self._buffer is not None:
                        self._take_one()
                if error is not None:
                    raise error
        finally:
            self._close()

    def _next_done(self, end: float | None) -> tuple[list[Any], BaseException | None] | None:
        while True:
            with self._changed:
                if not self._changed.wait_for(self._may_go_on, None if end is None else end - time.monotonic()):
                    raise _TimeoutError
                if self._given in self._done:
                    values, error = self._done.pop(self._given)
                    self._given += len(values)
                    return values, error
                if self._are_all_given():
                    return None
            self._feed()

    def _may_go_on(self) -> bool:
        """Whether the next result is there, there is none any more, or this thread is to feed. Under the lock."""
        return self._given in self._done or self._are_all_given() or self._is_due and not self._is_feeding

    def _are_all_given(self) -> bool:
        return self._is_exhausted and self._given == self._begun

    def _take_one(self) -> None:
        with self._lock:
            self._taken += 1
        self._feed()

    def _close(self) -> None:
        """Takes back what no worker has."""
        with self._lock:
            self._is_closed = True
            under_way = list(self._under_way.values())
        for future in under_way:
            future.cancel()
        self._end_sharing()

    def _end_sharing(self) -> None:
        sharing, self._sharing = self._sharing, None
        if sharing is not None:
            sharing.end()
            self._pool.uses.tidy()

    def _feed(self, *, draws: bool = True) -> None:
        """Puts chunks under way, as many as there may be; one that does not `draw`, of calls that were drawn before. One thread does at a time:
        where that leaves something to be done, it is due.
        """
        with self._changed:
            self._is_due = self._is_feeding or not draws
            self._changed.notify_all()
            if self._is_feeding:
                return
            self._is_feeding = True
        try:
            while (chunk := self._next_chunk(draws)) is not None:
                self._submit(*chunk)
        except BaseException:
            with self._changed:
                self._end_feeding()
            raise
        if self._is_exhausted:
            self._end_sharing()

    def _end_feeding(self) -> None:
        """Under the lock."""
        self._is_feeding = False
        self._changed.notify_all()

    def _next_chunk(self, draws: bool) -> tuple[int, list[Call]] | None:
        """The next one, if there may be one now; else it is fed no more."""
        with self._changed:
            if self._given_back and not self._is_closed:
                # Also if a later one has failed: those before it have results.
                return self._given_back.popleft()
            size = self._new_size() if draws else 0
            if size == 0:
                self._end_feeding()
                return None
        return self._new_chunk(size)

    def _new_size(self) -> int:
        """How many calls are to be drawn now. Under the lock."""
        if self._is_closed or self._has_failed or self._is_exhausted:
            return 0
        size = self._next_size()
        if self._buffer is None or size == 0:
            return size
        size = min(size, self._buffer if self._size is not None else self._buffer // (2 * self._workers) or 1)
        room = self._buffer - (self._begun - self._taken)
        # A few calls more would be a small chunk for each result that is taken.
        return size if size <= room else 0 if self._under_way else room

    def _new_chunk(self, size: int) -> tuple[int, list[Call]] | None:
        """Draws calls, which may run the program: without the lock, and where there is a buffer in the program's own thread."""
        calls: list[Call] = []
        broken = None
        try:
            # One by one: those before an error are kept.
            for call in itertools.islice(self._calls, size):
                calls.append(call)
        except Exception as error:
            broken = error
        with self._changed:
            first = self._begun
            self._begun += len(calls)
            if self._left is not None:
                self._left -= len(calls)
            if broken is not None:
                # It stands behind the calls that came before it.
                self._has_failed = True
                self._done[self._begun] = [], broken
            self._is_exhausted = not calls and broken is None
            if not calls:
                self._end_feeding()
                return None
        return first, calls

    def _next_size(self) -> int:
        """How many calls the next chunk has. 0: none may be put under way now."""
        if self._size is not None:
            return self._size
        if self._call_s is None:
            return 1 if len(self._under_way) < 2 * self._workers else 0
        if self._call_bytes >= SHORTEST_BYTES:
            return 1 if len(self._under_way) < max(DEPTH * self._workers, LARGE_DEPTH) else 0
        if self._call_s >= LONG_S:
            # Not all: the first ones may have taken long because of what they import.
            return 1 if len(self._under_way) < max(DEPTH * self._workers, LONG_DEPTH) else 0
        if self._buffer is None and len(self._under_way) >= DEPTH * self._workers:
            return 0
        size = min(int(CHUNK_S / max(self._call_s, 1e-9)), MOST_CALLS, MOST_BYTES // max(self._call_bytes, 1))
        if self._left is not None:
            # Smaller towards the end, so that all workers are done at one time.
            size = min(size, self._left // (2 * self._workers) + 1)
        return max(size, 1)

    def _submit(self, first: int, calls: list[Call]) -> None:
        try:
            future = self._pool.submit((self._chunk, (calls,), {}), self._sharing, goes_on=first > 0)
        except Exception as error:
            if first == 0:
                raise
            # It stands in its place among the results, as those before it do.
            self._fail(first, error)
            return
        with self._lock:
            self._under_way[first] = future
            self._call_bytes = future.size // len(calls)
        future.add_done_callback(lambda future: self._settle(first, calls, future))

    def _settle(self, first: int, calls: list[Call], future: _Future[Any]) -> None:
        """A chunk has ended."""
        with self._lock:
            self._under_way.pop(first, None)
        error = CancelledError() if future.cancelled() else future.exception()
        if error is None:
            self._keep(first, calls, future.result())
        elif self._size is None and len(calls) > 1 and not future.cancelled():
            # One of them may have ended its workers, and with them the others.
            self._give_back((first + n, [call]) for n, call in enumerate(calls))
        else:
            self._fail(first, error)
        # What the calls are drawn from is the program's; where it may wait for something, only the program's thread may be held up by it.
        self._feed(draws=self._buffer is None)

    def _keep(self, first: int, calls: list[Call], done: tasks.Done) -> None:
        count = len(done.values)
        error = None if done.failure is None else tasks.exception_of(done.failure)
        if error is None and count < len(calls):
            self._give_back([(first + count, calls[count:])])
        with self._changed:
            if count > 0:
                mean = done.seconds / count
                self._call_s = mean if self._call_s is None else (self._call_s + mean) / 2
            if error is not None:
                self._has_failed = True
            self._done[first] = done.values, error
            self._changed.notify_all()

    def _give_back(self, chunks: Iterable[tuple[int, list[Call]]]) -> None:
        with self._lock:
            self._given_back.extend(chunks)

    def _fail(self, first: int, error: BaseException) -> None:
        with self._changed:
            self._has_failed = True
            self._done[first] = [], error
            self._changed.notify_all()
