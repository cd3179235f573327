"""The end of a program that has tasks under way: they are done first, as those of the standard library's executors are.

The threads that collect results are daemons, so that nothing but this waits for them. ctrl-C ends the wait, and a program that
ctrl-C has ended does not begin it. What was lost with its space is told in one line.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING

from quintet.errors import Code, Error

if TYPE_CHECKING:
    from quintet.pool import Pool

_running: set[Pool] = set()
_lost: list[tuple[int, Error]] = []
_has_begun = False


def add(pool: Pool) -> None:
    """Has the program's end wait for this pool from now on."""
    _running.add(pool)


def discard(pool: Pool) -> None:
    """It is over."""
    _running.discard(pool)


def lose(number: int, error: Error) -> None:
    """So many tasks were lost with their space. If the program closed its lab itself it knows."""
    if number > 0 and error.code != Code.Closed:
        _lost.append((number, error))


def has_begun() -> bool:
    """Whether the program is ending: no thread can be counted on any more."""
    return _has_begun


def _wait_for_all() -> None:
    global _has_begun
    _has_begun = True
    pools = list(_running)
    try:
        for pool in pools:
            pool.end()
        if not _was_interrupted():
            for pool in pools:
                pool.join()
    except KeyboardInterrupt:
        pass
    left = sum(pool.under_way() for pool in pools if not pool.is_over)
    if left > 0:
        _tell(f"interrupted; not waited for: {_tasks(left)}")
    for number, error in _lost:
        _tell(f"not done: {_tasks(number)}: {error}")


def _was_interrupted() -> bool:
    """Whether ctrl-C has ended the program. One that is typed in goes on after ctrl-C."""
    return getattr(sys, "last_type", None) is KeyboardInterrupt and not hasattr(sys, "ps1")


def _tasks(number: int) -> str:
    return "1 task" if number == 1 else f"{number} tasks"


def _tell(text: str) -> None:
    print(f"quintet: {text}", file=sys.stderr, flush=True)


def _leave_to_the_parent() -> None:
    """In a forked child: the threads are the parent's."""
    _running.clear()
    _lost.clear()


os.register_at_fork(after_in_child=_leave_to_the_parent)
# As concurrent.futures does: before the threads that are no daemons are waited for, and long before `atexit` closes the labs.
threading._register_atexit(_wait_for_all)  # type: ignore[attr-defined]
