"""The threads that do the tasks of an embedded space: nobody else can."""

from __future__ import annotations

import os
import threading

from quintet._native import Space, space_key

EMBEDDED_WORKERS = 2
"""How many there are where nobody says."""

_served: set[tuple[int, str | None]] = set()
"""The spaces that have some."""
_lock = threading.Lock()


def ensure(space: Space, number: int = EMBEDDED_WORKERS) -> None:
    """Starts so many, once."""
    with _lock:
        if space_key(space) in _served:
            return
        for rank in range(number):
            threading.Thread(target=_work, args=(space, rank), name=f"quintet-worker-{rank}", daemon=True).start()
        _served.add(space_key(space))


def _work(space: Space, rank: int) -> None:
    from quintet.worker import work

    try:
        work(space, rank)
    finally:
        # Before the space is dropped, and another may have its key.
        with _lock:
            _served.discard(space_key(space))


def _leave_to_the_parent() -> None:
    """In a forked child: the threads are the parent's."""
    global _lock
    _served.clear()
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_leave_to_the_parent)
