"""Does the tasks of a space: `python -m quintet.worker`.

The space is that of `quintet.connect()` (QUINTET_SPACE); QUINTET_RANK is the worker's number, default 0. It ends quietly when the
space is gone, and on SIGTERM or SIGINT; a task that it holds then returns to the space. If it cannot begin it says why in
one line, and its exit status is that of the error.

It takes tasks also from a space that is full, and is not counted as a worker until there was room for its two tuples.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from typing import Any

from quintet import presence, tasks
from quintet._native import MAX_BYTES, Lease, Pending, Space
from quintet.connecting import connect
from quintet.ending import Ending
from quintet.errors import GONE, BadValue, Code, Error, LeaseLost, TooLarge

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


def work(space: Space, rank: int, ending: Ending | None = None) -> None:
    """Announces itself and does tasks until the space is gone or closed. For a thread; see `main` for a process, whose `ending`
    interrupts it.
    """
    events, ending = _Events(space, rank), ending or Ending()
    try:
        with presence.announced(space, rank):
            while True:
                _work_once(space, rank, events, ending)
    except GONE:
        return


def _work_present(space: Space, rank: int, ending: Ending | None = None) -> None:
    try:
        with presence.held(space, rank):
            work(space, rank, ending)
    except GONE:
        return


class _Events:
    """What a worker says of its tasks, if events are wanted. An event waits for room, and no task waits for it."""

    def __init__(self, space: Space, rank: int) -> None:
        self._space, self._rank = space, rank
        self._puts: deque[Pending] = deque()

    def tell(self, what: str, lease: Lease) -> None:
        """Begins to put an event. Raises as `Begin.out`."""
        if not tasks.events_wanted():
            return
        while self._puts and self._puts[0].done():
            self._puts.popleft()
        self._puts.append(self._space.begin().out(*tasks.event(what, self._rank, lease[2], lease.attempt)))


def _work_once(space: Space, rank: int, events: _Events, ending: Ending) -> None:
    lease = ending.within(space.lease, tasks.TASK, str, int, bytes)
    try:
        events.tell(tasks.HOLDING, lease)
        ok, result = ending.within(tasks.run, lease[3])
    except BaseException:
        _give_back(lease)
        raise
    if len(result) > RESULT_BYTES:
        too_large = TooLarge(Code.TooLarge, f"the task's result has {len(result)} bytes; {RESULT_BYTES} may travel")
        ok, result = False, tasks.failure(too_large)
    # Before the result: whoever has all results has been told of all tasks.
    events.tell(tasks.DONE, lease)
    try:
        ending.within(
            lease.acknowledge,
            _result(lease, rank, ok, result),
            instead=lambda error: [_result(lease, rank, False, tasks.failure(error))],
        )
    except LeaseLost:
        return  # Somebody else does it: this worker was not heard for too long.
    except TooLarge:
        return  # Not even the failure fits. The task has returned, and the space gives it up after some attempts.


def _result(lease: Lease, rank: int, ok: bool, result: bytes) -> tuple[Any, ...]:
    _, pool, number, _ = lease
    return (tasks.RESULT, pool, number, ok, result, rank, lease.attempt)


def _give_back(lease: Lease) -> None:
    try:
        lease.release()
    except Error:
        return  # It has returned by itself, or there is no space left.


def _rank() -> int:
    """The worker's number. Raises BadValue."""
    text = os.environ.get("QUINTET_RANK", "0")
    try:
        return int(text)
    except ValueError:
        raise BadValue(Code.BadValue, f"QUINTET_RANK is {text!r}, expected a number") from None


def main() -> int:
    """The process of a worker. Returns its exit status."""
    for setting in THREAD_SETTINGS:
        os.environ.setdefault(setting, "1")
    ending = Ending()
    ending.listen()
    try:
        rank = _rank()
        with ending.within(connect) as lab:
            if lab.is_embedded:
                print("quintet.worker: set QUINTET_SPACE: an embedded space has no tasks for other processes", file=sys.stderr)
                return 2
            _work_present(lab.space, rank, ending)
    except tasks.Ended:
        return 0
    except Error as error:
        print(f"quintet.worker: {error}", file=sys.stderr)
        return error.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main())
