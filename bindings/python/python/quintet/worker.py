"""Does the tasks of a space: `python -m quintet.worker`.

The space is that of `quintet.connect()` (QUINTET_SPACE); QUINTET_RANK is the worker's number, default the lowest that no other worker has. It ends quietly when the
space is gone, and on SIGTERM or SIGINT; a task that it holds then returns to the space, and that is no attempt. If it cannot begin it says why in
one line, and its exit status is that of the error.

It takes tasks also from a space that is full, and is not counted as a worker until there was room for its two tuples.
"""

from __future__ import annotations

import functools
import os
import sys
import time
from collections import deque
from typing import Any, NoReturn

from quintet import bulk, live, masters, presence, tasks
from quintet._native import MAX_BYTES, Lease, Pending, Space
from quintet.ahead import SHORT_BYTES, TEMPLATE, Ahead, give_back
from quintet.connecting import connect
from quintet.ending import Ending
from quintet.errors import GONE, BadValue, Code, Error, LeaseLost, TimedOut, TooLarge

THREAD_SETTINGS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
"""There is a worker for each core: a library's own threads would only be in each other's way."""

RESULT_BYTES = MAX_BYTES - 64 * 1024
"""The payload that surely fits into a message beside the other fields."""

CACHED_S = 1.0
"""How long a worker without a task keeps the arrays of earlier ones."""


def work(space: Space, rank: int, ending: Ending | None = None) -> None:
    """Announces itself and does tasks until the space is gone or closed. For a thread; see `main` for a process, whose `ending`
    interrupts it.
    """
    try:
        with presence.announced(space, rank):
            _work(space, rank, ending or Ending())
    except GONE:
        return


def _work_present(space: Space, rank: int | None, ending: Ending | None = None, *, sweeps: bool = True) -> None:
    try:
        if sweeps:
            masters.start_to_sweep(space)
        if rank is None:
            presence.take_dead(space)
        with presence.present(space, rank) as rank:
            _work(space, rank, ending or Ending())
    except GONE:
        return


def _work(space: Space, rank: int, ending: Ending) -> NoReturn:
    events, reader, ahead = _Events(space, rank), bulk.Reader(space), Ahead(space)
    try:
        while True:
            _work_once(space, rank, events, reader, ahead, ending)
    finally:
        ahead.end()


class _Events:
    """What a worker says of its tasks, if events are wanted. An event waits for room, and no task waits for it."""

    def __init__(self, space: Space, rank: int) -> None:
        self._space, self._rank = space, rank
        self._puts: deque[Pending] = deque()
        self._are_wanted = tasks.events_wanted()

    def tell(self, what: str, lease: Lease) -> None:
        """Begins to put an event. Raises as `Begin.out`."""
        if not self._are_wanted:
            return
        while self._puts and self._puts[0].done():
            self._puts.popleft()
        self._puts.append(self._space.begin().out(*tasks.event(what, self._rank, lease[2], lease.attempt)))


def _work_once(space: Space, rank: int, events: _Events, reader: bulk.Reader, ahead: Ahead, ending: Ending) -> None:
    lease = ahead.next()
    is_first = lease is None
    if lease is None:
        ending.within(ahead.settle)
        lease = _next_task(space, reader, ending)
    result = _Result(lease, rank)
    try:
        if is_first:
            ending.within(ahead.lease_more, lease)
        events.tell(tasks.HOLDING, lease)
        began = time.perf_counter()
        ending.within(result.make, reader)
    except BaseException:
        give_back(lease)
        raise
    ahead.took(time.perf_counter() - began)
    # Before the result: whoever has all results has been told of all tasks.
    events.tell(tasks.DONE, lease)
    try:
        if result.is_short():
            ending.within(ahead.acknowledge, lease, *result.tuples())
        else:
            ending.within(result.acknowledge)
    except LeaseLost:
        return  # Somebody else does it: this worker was not heard for too long.
    except TooLarge:
        return  # Not even the failure fits. The task has returned, and the space gives it up after some attempts.


def _next_task(space: Space, reader: bulk.Reader, ending: Ending) -> Lease:
    try:
        return ending.within(space.lease, *TEMPLATE, timeout=CACHED_S)
    except TimedOut:
        reader.forget()
    return ending.within(space.lease, *TEMPLATE)


class _Result:
    """What a task comes to."""

    def __init__(self, lease: Lease, rank: int) -> None:
        _, self._pool, self._number, self._task = lease
        self._lease, self._rank, self._attempt = lease, rank, lease.attempt
        self._bulk: list[tuple[Any, ...]] = []
        self._live: live.Evaluated | None = None
        """What it came to if it is a live tuple."""

    def make(self, reader: bulk.Reader) -> None:
        """Does the task. Raises Ended."""
        with tasks.doing(self._number):
            arrays = functools.partial(reader.arrays, self._pool)
            self._ok, self._payload = tasks.attempt(self._task, arrays, self._pickle)
        if self._live is not None and self._live.failure is not None:
            self._ok, self._payload = False, self._live.failure
        if len(self._payload) > RESULT_BYTES:
            text = f"the task's result has {len(self._payload)} bytes; {RESULT_BYTES} may travel"
            self.fail(TooLarge(Code.TooLarge, text))

    def is_short(self) -> bool:
        """Whether its acknowledgement need not be waited for."""
        return not self._bulk and self._live is None and len(self._payload) <= SHORT_BYTES

    def acknowledge(self) -> None:
        """Puts its tuples in the task's place. Raises as `Lease.acknowledge`."""
        try:
            self._lease.acknowledge(*self.tuples(), instead=self.fail)
        except BadValue as error:
            # A live tuple with what no tuple holds.
            self._lease.acknowledge(*self.fail(error))

    def _pickle(self, value: Any) -> bytes:
        if isinstance(value, live.Evaluated):
            self._live, value = value, None
        plain = tasks.dumps_plain(value)
        if plain is not None:
            return plain
        packer = bulk.Packer()
        payload = tasks.dumps(value, packer.keep)
        keys = [f"result {self._number} {self._attempt} {n}" for n in range(len(packer.views))]
        self._bulk = [bulk.tuple_of(self._pool, key, view) for key, view in zip(keys, packer.views)]
        return tasks.dumps(bulk.Pickled(payload, keys, [False] * len(keys))) if keys else payload

    def fail(self, error: Error) -> list[tuple[Any, ...]]:
        """It comes to this error. Returns `tuples`."""
        self._ok, self._payload, self._bulk = False, tasks.failure(error), []
        if self._live is not None:
            self._live.fail(error)
        return self.tuples()

    def tuples(self) -> list[tuple[Any, ...]]:
        """Those that are put in the task's place."""
        result = (tasks.RESULT, self._pool, self._number, self._ok, self._payload, self._rank, self._attempt)
        return [*self._bulk, result] if self._live is None else [self._live.fields, result]


def _rank() -> int | None:
    """The worker's number, if it was given one. Raises BadValue."""
    text = os.environ.get("QUINTET_RANK")
    try:
        return None if text is None else int(text)
    except ValueError:
        raise BadValue(Code.BadValue, f"QUINTET_RANK is {text!r}, expected a number") from None


def main(*, sweeps: bool = True) -> int:
    """The process of a worker, which `sweeps` up what dead programs leave. Returns its exit status."""
    for setting in THREAD_SETTINGS:
        os.environ.setdefault(setting, "1")
    ending = Ending()
    ending.listen()
    try:
        rank = _rank()
        with ending.within(connect) as lab:
            if lab.is_embedded:
                print(f"quintet.worker: there is no space to work for: {lab.why_embedded}", file=sys.stderr)
                return 2
            _work_present(lab.space, rank, ending, sweeps=sweeps)
    except tasks.Ended:
        return 0
    except Error as error:
        print(f"quintet.worker: {error}", file=sys.stderr)
        return error.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main())
