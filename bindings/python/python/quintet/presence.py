"""Which workers live.

A worker announces itself with ("quintet.worker", rank, pid). Beside it a worker process holds a tuple of its own,
("quintet.presence", rank, pid, token), under a lease: when it dies, however it dies, that tuple returns to the space. So a
presence that can be seen is a dead worker's, and whoever counts the workers removes it and the announcement first. A worker
that was frozen for longer than its lease counts as dead from then on, though it may do tasks again.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from quintet import tasks
from quintet._native import DEAD_LETTER, Lease, Space
from quintet.errors import Error, TimedOut

PRESENCE = "quintet.presence"

_found_dead: set[tuple[int, int]] = set()


@contextmanager
def held(space: Space, rank: int) -> Iterator[None]:
    """Is present in the block, and takes the announcement back at its end. Raises as `Space.out` and `Space.lease`."""
    lease = _hold(space, rank)
    try:
        yield
    finally:
        try:
            space.take_if(tasks.WORKER, rank, os.getpid())
            lease.acknowledge()
        except Error:
            pass  # The space has ended, or it took this worker for dead.


def _hold(space: Space, rank: int) -> Lease:
    presence = (PRESENCE, rank, os.getpid(), uuid.uuid4().hex)
    while True:
        space.out(*presence)
        try:
            return space.lease(*presence, timeout=0)
        except TimedOut:
            continue  # Somebody counted in between, and took it for a dead worker's.


def count(space: Space) -> int:
    """How many workers have announced themselves and live. Raises if the space is gone."""
    while (dead := _take_dead(space)) is not None:
        space.take_if(tasks.WORKER, *dead)
        _found_dead.add(dead)
    return space.count(tasks.WORKER, int, int)


def found_dead() -> int:
    """How many dead workers this process has found: so many fewer there are than were started."""
    return len(_found_dead)


def _take_dead(space: Space) -> tuple[int, int] | None:
    found = space.take_if(PRESENCE, int, int, str)
    if found is None:
        # Where a tuple may be leased only once, it does not return.
        found = space.take_if(DEAD_LETTER, str, int, PRESENCE, int, int, str)
    return None if found is None else found[-3:-1]
