"""Says, once for each executor, why nothing goes on: there is no worker, or tasks wait for tasks that no worker is free to do.

It is said by the logger "quintet", which writes warnings to the standard error where a program does not have it otherwise.
"""

from __future__ import annotations

import logging
import os
import time

from quintet import presence, tasks
from quintet._native import Lab

QUIET_S = 2.0
"""So long nothing is said: workers begin, and tasks take their time."""

_logger = logging.getLogger("quintet")


class Stall:
    """What an executor's tasks wait for."""

    def __init__(self, lab: Lab, pool: str) -> None:
        self._lab, self._pool = lab, pool
        self._since = time.monotonic()
        self._waiting_task: int | None = None
        self._has_said = False

    def go_on(self) -> None:
        """Something went on: a result came, or a task where there was none."""
        self._since = time.monotonic()

    def submit(self) -> None:
        """A task is submitted by this thread."""
        if self._waiting_task is None:
            self._waiting_task = tasks.current()

    def look(self) -> None:
        """Says it if it is time. For while results are awaited. Raises if the space is gone."""
        if self._has_said or time.monotonic() - self._since < QUIET_S:
            return
        self.go_on()
        waiting = self._lab.space.count(tasks.TASK, self._pool, int, bytes)
        if waiting == 0:
            return
        workers = presence.count(self._lab)
        if workers == 0:
            _logger.warning(_NO_WORKERS, waiting, self._lab.address or "this process")
        elif self._waiting_task is not None:
            _logger.warning(_WAITING, self._waiting_task, os.getpid(), waiting, workers)
        else:
            return
        self._has_said = True


_NO_WORKERS = (
    "tasks wait (%d), and no worker has announced itself at %s: start some (python -m quintet.worker with QUINTET_SPACE set to that "
    "address), or the program with them (quintet run -n 4 PROGRAM)"
)
_WAITING = (
    "task %d (process %d) has submitted tasks, of which %d wait for a free worker: if all %d workers do tasks that wait for such ones, "
    "none goes on. Start more workers, or submit from the program and not from a task"
)
