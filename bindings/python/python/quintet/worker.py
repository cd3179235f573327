"""Does the tasks of a space: `python -m quintet.worker`.

The space is the environment's (QUINTET_SOCKET); QUINTET_RANK is the worker's number, default 0. It ends quietly when the
space is gone, and on SIGTERM or SIGINT; a task that it holds then returns to the space.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

from quintet import presence, tasks
from quintet._native import MAX_BYTES, Lease, Space
from quintet.connecting import connect
from quintet.errors import GONE, Code, Error, LeaseLost, TooLarge, Unreachable

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


class Ended(BaseException):
    """The worker was asked to end. No task may take it for a failure of its own."""


def work(space: Space, rank: int) -> None:
    """Announces itself and does tasks until the space is gone or closed. For a thread; see `main` for a process."""
    try:
        space.out(tasks.WORKER, rank, os.getpid())
        while True:
            _work_once(space, rank)
    except GONE:
        return


def _work_present(space: Space, rank: int) -> None:
    try:
        with presence.held(space, rank):
            work(space, rank)
    except GONE:
        return


def _work_once(space: Space, rank: int) -> None:
    lease = space.lease(tasks.TASK, str, int, bytes)
    _, pool, number, payload = lease
    events = tasks.events_wanted()
    try:
        if events:
            space.out(*tasks.event(tasks.HOLDING, rank, number, lease.attempt))
        ok, result = tasks.run(payload)
    except BaseException:
        _give_back(lease)
        raise
    if len(result) > RESULT_BYTES:
        too_large = TooLarge(Code.TooLarge, f"the task's result has {len(result)} bytes; {RESULT_BYTES} may travel")
        ok, result = False, tasks.failure(too_large)
    results = [(tasks.RESULT, pool, number, ok, result, rank, lease.attempt)]
    if events:
        results.append(tasks.event(tasks.DONE, rank, number, lease.attempt))
    try:
        lease.acknowledge(*results)
    except LeaseLost:
        return  # Somebody else does it: this worker was not heard for too long.


def _give_back(lease: Lease) -> None:
    try:
        lease.release()
    except Error:
        return  # It has returned by itself, or there is no space left.


def _end(_number: int, _frame: FrameType | None) -> None:
    raise Ended


def main() -> int:
    """The process of a worker. Returns its exit status."""
    for setting in THREAD_SETTINGS:
        os.environ.setdefault(setting, "1")
    signal.signal(signal.SIGTERM, _end)
    signal.signal(signal.SIGINT, _end)
    try:
        rank = int(os.environ.get("QUINTET_RANK", "0"))
        with connect() as lab:
            if lab.is_embedded:
                print("quintet.worker: set QUINTET_SOCKET: an embedded space has no tasks for other processes", file=sys.stderr)
                return 2
            _work_present(lab.space, rank)
    except Ended:
        return 0
    except Unreachable as error:
        print(f"quintet.worker: {error}", file=sys.stderr)
        return error.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main())
