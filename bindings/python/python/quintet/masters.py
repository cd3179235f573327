"""What a program leaves in a space when it ends before its tasks: workers remove it.

An executor in a served space holds ("quintet.master", pool, process) under a lease as long as it has a use for results. When its
program dies, however it dies, that tuple returns to the space. Each worker process waits for such ones in a thread: one of them gets it and, if the
process was one of its machine and is no more, takes the pool's tasks, results and arrays away, and those that come later from workers that had a task. A process
that was frozen for longer than its lease lives: nothing of it is touched.

Live tuples that a program has asked workers for (`evaluating`) are the space's: they are evaluated all the same, and only their results are taken away.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

from quintet import bulk, live, tasks
from quintet._native import DEAD_LETTER, Pending, Space
from quintet.errors import GONE, TimedOut

MASTER = "quintet.master"

TASKS_SIGNATURE = "(str, str, int, bytes)"
"""Of ("quintet.task", pool, id, payload)."""

LOOK_S = 1.0
"""How often a worker looks for what comes later, and at a process that was frozen."""


def this_process() -> str:
    """Names this process as no other one on this machine: boot, namespace, number, and when it began."""
    return f"{_machine()}/{os.getpid()}/{_began(str(os.getpid()))}"


def lives(process: str) -> bool:
    """Whether it does. One of another machine or namespace cannot be seen and may only stand still: workers there see to it. What
    names no process does not."""
    machine, number, began = ["", "", *process.rsplit("/", 2)][-3:]
    return number.isdecimal() and (machine != _machine() or began == _began(number))


def is_seen_gone(process: str) -> bool:
    """Whether it names a process of this machine and namespace that is no more."""
    machine, *number_and_began = process.rsplit("/", 2)
    return len(number_and_began) == 2 and machine == _machine() and not lives(process)


def _machine() -> str:
    try:
        return f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()}/{os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return "unknown"


def _began(number: str) -> str:
    """Ticks since the boot; nothing if there is no such process, or it has ended and is only waited for."""
    try:
        fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


def start_to_sweep(space: Space) -> None:
    """Has a thread remove what dead programs leave, until the space is gone."""
    threading.Thread(target=_sweep, args=(space,), name="quintet-sweep", daemon=True).start()


def _sweep(space: Space) -> None:
    left: list[_Left] = []
    try:
        while True:
            try:
                lease = space.lease(MASTER, str, str, timeout=LOOK_S if left else None)
            except TimedOut:
                lease = None
            if lease is not None and lives(lease[2]):
                lease.acknowledge(lease.fields)
                threading.Event().wait(LOOK_S)
            elif lease is not None:
                left.append(_Left(space, lease[1]))
                lease.acknowledge()
            for pool in left:
                pool.take()
            if left:
                left = _still_left(space, left)
    except GONE:
        return


def _still_left(space: Space, left: list[_Left]) -> list[_Left]:
    """Those of which something may still come. The others are ended: no worker has a task, and none will do one of theirs."""
    rows = [row for row in space.status().rows if row.signature == TASKS_SIGNATURE]
    if len(rows) != 1 or rows[0].hidden > 0:
        return left  # A worker has one, or that cannot be seen.
    still = [pool for pool in left if pool.keeps_tasks and rows[0].tuples > 0]
    for pool in left:
        if pool not in still:
            pool.end()
    return still


class _Left:
    """What a pool without a program has."""

    def __init__(self, space: Space, pool: str) -> None:
        self._space, self._pool = space, pool
        task, result = (tasks.TASK, pool, int, bytes), (tasks.RESULT, pool, int, bool, bytes, int, int)
        self.keeps_tasks = pool.startswith(live.POOL)
        """Its tasks are done, if there are any, and their ends are everybody's."""
        self._templates = [result] if self.keeps_tasks else [task, result, (DEAD_LETTER, str, int, *task)]
        self.take_all()
        self._coming = [self._begin(template) for template in self._templates]

    def take_all(self) -> None:
        """Takes what is there."""
        key = bulk.template_of(self._pool, "")
        for template in [*self._templates, (*key[:2], str, key[3])]:
            while self._space.take_if(*template) is not None:
                pass

    def take(self) -> None:
        """Takes what has come."""
        for n, coming in enumerate(self._coming):
            if coming.done():
                self.take_all()
                self._coming[n] = self._begin(self._templates[n])

    def end(self) -> None:
        """Takes the last, and waits for no more."""
        self.take_all()
        for coming in self._coming:
            coming.cancel()
        self.take_all()

    def _begin(self, template: tuple[object, ...]) -> Pending:
        return self._space.begin().take(*template)
