"""Short tasks that a worker leases ahead of doing them: as many at a time as are little work, so that it waits for the space once for all of them.

Each is leased, and acknowledged, by itself: one that is ahead counts as begun by nobody. What is ahead goes back, behind the others, as soon as the
task before it takes long: another worker may be free, and that task may wait for one of these. A task that was leased before, by a
worker that died, has nothing behind it while it is done: it may end this one as well, and those behind it are no part of that.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from typing import Any

from quintet import tasks
from quintet._native import Lease, Pending, Space
from quintet.errors import Code, Error, LeaseLost

WORK_S = 0.001
"""So much work is leased at a time."""

MOST = 16
"""So many tasks, at most."""

SELDOM = 5
"""After so many looks in vain, each followed by twice as many tasks without one, the next looks are no rarer."""

LOOK_S = 0.005
"""How often is looked whether a task takes long: what is ahead of one that was there at the last look goes back."""

SHORT_BYTES = 4096
"""Of a result whose acknowledgement is not waited for at once: a space finds room for it, or for none."""

GIVE_BACK_S = 1.0
"""How long a worker that ends waits for room for its task, which itself made that room."""

SETTLE_S = 0.5
"""How long it waits for room for all results that are under way: who has asked it to end does not wait for long."""

TEMPLATE = (tasks.TASK, str, int, bytes)


def give_back(lease: Lease) -> None:
    """Puts the task again in its own place, so that this is no attempt. It goes behind the others."""
    put = None
    try:
        put = lease.begin_acknowledge(lease.fields)
        put.result(GIVE_BACK_S)
    except Error:
        # It has returned by itself, there is no space left, or no room: then it returns as an attempt.
        if put is not None:
            put.cancel()


class Ahead:
    """The tasks that a worker has leased and not begun, and those that it has done and whose acknowledgements are under way."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._leases: deque[Lease] = deque()
        self._leasing: deque[Pending] = deque()
        """Leases that were begun: what a worker that is asked to end meanwhile dropped would return as an attempt."""
        self._acknowledging: deque[Pending] = deque()
        self._task_s = WORK_S
        """How long one takes, as far as is known."""
        self._wanted = 1
        """How many are to be asked for."""
        self._misses = self._rest = 0
        """How often in succession there was none; how many tasks pass before the next look."""
        self._begun = 0
        self._watches = threading.Event()
        self._has_ended = threading.Event()
        self._watcher: threading.Thread | None = None

    def next(self) -> Lease | None:
        """The oldest, if there is one; it is begun now."""
        self._begun += 1
        try:
            lease = self._leases.popleft()
        except IndexError:
            return None
        if lease.attempt > 1:
            self.return_all()
        return lease

    def lease_more(self, first: Lease) -> None:
        """Leases what is there to be done behind the first one, if tasks are short. Raises as `Begin.lease_if`."""
        number = min(self._wanted, int(WORK_S / max(self._task_s, 1e-6)) - 1)
        if number <= 0 or first.attempt > 1:
            return
        if self._rest > 0:
            self._rest -= 1
            return
        begin = self._space.begin()
        self._leasing.extend(begin.lease_if(*TEMPLATE) for _ in range(number))
        found = self._collect()
        self._wanted = min(2 * number, MOST) if found == number else max(found, 1)
        self._misses = 0 if found else min(self._misses + 1, SELDOM)
        self._rest = 2**self._misses - 1
        if found:
            self._watch()

    def _collect(self, timeout: float | None = None) -> int:
        """How many of the leases that were begun there are. Raises as `Pending.result`."""
        found = 0
        while self._leasing:
            if (lease := self._leasing[0].result(timeout)) is not None:
                self._leases.append(lease)
                found += 1
            self._leasing.popleft()
        return found

    def took(self, seconds: float) -> None:
        """A task has taken so long."""
        self._task_s = seconds if seconds > WORK_S else (self._task_s + seconds) / 2

    def acknowledge(self, lease: Lease, result: tuple[Any, ...]) -> None:
        """Begins to acknowledge a task with a short result."""
        self._acknowledging.append(lease.begin_acknowledge(result))

    def settle(self) -> None:
        """Waits until all that was begun to be acknowledged is. Raises what no single task is the cause of."""
        while self._acknowledging:
            try:
                self._acknowledging[0].result()
            except LeaseLost:
                pass  # Somebody else does it: this worker was not heard for too long.
            except Error as error:
                if error.code != Code.TooLarge:
                    raise
                # The space cannot hold even that: the task has returned, and the space gives it up after some attempts.
            self._acknowledging.popleft()

    def return_all(self) -> None:
        """Gives back what was not begun."""
        while True:
            try:
                lease = self._leases.pop()
            except IndexError:
                return
            give_back(lease)

    def end(self) -> None:
        """Nothing is ahead any more, nor under way."""
        self._has_ended.set()
        self._watches.set()
        with contextlib.suppress(Error):
            self._collect(GIVE_BACK_S)
        self.return_all()
        end = time.monotonic() + SETTLE_S
        for acknowledging in self._acknowledging:
            with contextlib.suppress(Error):
                acknowledging.result(max(end - time.monotonic(), 0.0))

    def _watch(self) -> None:
        if self._watcher is None:
            self._watcher = threading.Thread(target=self._look, name="quintet-ahead", daemon=True)
            self._watcher.start()
        if not self._watches.is_set():
            self._watches.set()

    def _look(self) -> None:
        last = 0
        while not self._has_ended.is_set():
            self._watches.wait()
            if not self._leases:
                self._watches.clear()
                if not self._leases:
                    continue
                self._watches.set()
            self._has_ended.wait(LOOK_S)
            begun = self._begun
            if begun == last:
                self.return_all()
            last = begun
