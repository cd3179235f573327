"""Which workers live.

A worker announces itself with ("quintet.worker", rank, pid), when there is room for it. Beside it a worker process holds a
tuple of its own, ("quintet.presence", rank, pid, token), under a lease: when it dies, however it dies, that tuple returns to
the space. So a presence that can be seen is a dead worker's, and whoever counts the workers removes it and the announcement
first. A worker that was frozen for longer than its lease counts as dead from then on, though it may do tasks again.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from quintet import tasks
from quintet._native import DEAD_LETTER, Lab, Pending, Space
from quintet.errors import Code, Error, NotAllowed, TimedOut

PRESENCE = "quintet.presence"

LOOK_S = 0.01
"""How often is looked for workers that are waited for."""

ROOM_S = 1.0
"""How long a worker without a rank waits for room for its announcement."""

ROOM_SOON_S = 0.05
"""How long whoever holds a tuple waits for it, in a space that may be full."""

_found_dead: defaultdict[str | None, set[tuple[int, int]]] = defaultdict(set)
"""Rank and process of the dead, by their space's address."""


@contextmanager
def announced(space: Space, rank: int) -> Iterator[Pending]:
    """Announces the worker, and takes that back at the block's end. The block does not wait until there is room for it: it is given what is.

    Raises as `Begin.out`.
    """
    put = None
    try:
        put = space.begin().out(tasks.WORKER, rank, os.getpid())
        _collect_soon(put)
        yield put
    finally:
        try:
            if put is not None:
                put.cancel()
            space.take_if(tasks.WORKER, rank, os.getpid())
        except Error:
            pass  # The space has ended.


@contextmanager
def held(space: Space, rank: int) -> Iterator[None]:
    """Is present in the block, which does not wait until there is room for it.

    Raises as `Begin.lease` and `Begin.out`.
    """
    with holding(space, PRESENCE, rank, os.getpid(), uuid.uuid4().hex):
        yield


@contextmanager
def present(space: Space, rank: int | None) -> Iterator[int]:
    """Is present and announced in the block, with that rank, or the lowest that no other worker has.

    Raises as `held`.
    """
    for own in itertools.count() if rank is None else [rank]:
        with held(space, own), announced(space, own) as put:
            if rank is not None or _is_first(space, own, put):
                yield own
                return


def _is_first(space: Space, rank: int, put: Pending) -> bool:
    """Whether no other worker has announced itself with that rank before this one: of those that begin at once one is the first. In a space
    without room nobody can tell.
    """
    try:
        put.result(ROOM_S)
    except TimedOut:
        return True
    return space.read_if(tasks.WORKER, rank, int) == (tasks.WORKER, rank, os.getpid())


@contextmanager
def holding(space: Space, *fields: Any) -> Iterator[None]:
    """Has a tuple of its own under a lease in the block, which does not wait until there is room for it: it returns to the space if the
    process dies.

    Raises as `Begin.lease` and `Begin.out`.
    """
    # Asked for before it is put: nobody who looks finds it in between and takes its process for dead.
    lease = space.begin().lease(*fields)
    put = space.begin().out(*fields)
    try:
        # Who may put none of these tuples meets that with what is to be done, and is told there.
        with contextlib.suppress(NotAllowed):
            _collect_soon(put, lease)
        yield
    finally:
        try:
            put.cancel()
            put.result()
            lease.result().acknowledge()
        except Error:
            lease.cancel()  # It was not put yet, the space has ended, or it took this process for dead.


def _collect_soon(*operations: Pending) -> None:
    """Collects what there is at once where there is room. An outcome that nobody collects has the space keep all that this process takes after it."""
    with contextlib.suppress(TimedOut):
        for operation in operations:
            operation.result(ROOM_SOON_S)


def count(lab: Lab) -> int:
    """How many workers have announced themselves and live. Raises if the space is gone."""
    _found_dead[lab.address].update(take_dead(lab.space))
    return lab.space.count(tasks.WORKER, int, int)


def take_dead(space: Space) -> list[tuple[int, int]]:
    """Removes the announcements of dead workers. Returns rank and process of each that was found."""
    found = []
    while (dead := _take_dead(space)) is not None:
        space.take_if(tasks.WORKER, *dead)
        found.append(dead)
    return found


def wait(lab: Lab, number: int, timeout: float | None = None) -> int:
    """Waits until so many are there; returns how many. See `Lab.wait_for_workers`."""
    end = None if timeout is None else time.monotonic() + timeout
    looks = threading.Event()
    while (there := count(lab)) < number:
        if end is not None and time.monotonic() >= end:
            raise TimedOut(Code.TimedOut, f"{there} of {number} workers have announced themselves at {lab.address or 'this process'}")
        looks.wait(LOOK_S)
    return there


def found_dead(lab: Lab) -> int:
    """How many of the space's workers this process has found dead: so many fewer there are than were started."""
    return len(_found_dead[lab.address])


def _take_dead(space: Space) -> tuple[int, int] | None:
    found = space.take_if(PRESENCE, int, int, str)
    if found is None:
        # Where a tuple may be leased only once, it does not return.
        found = space.take_if(DEAD_LETTER, str, int, PRESENCE, int, int, str)
    return None if found is None else found[-3:-1]
