"""An executor whose tasks are done by the workers of a space."""

from __future__ import annotations

import itertools
import threading
import uuid
import weakref
from concurrent.futures import BrokenExecutor
from concurrent.futures import Executor as _Executor
from concurrent.futures import Future as _Future
from typing import Any, Callable

from quintet import presence, tasks
from quintet._native import DEAD_LETTER, Lab, Pending, Space
from quintet.connecting import connect
from quintet.errors import GONE, Code, Error, SpaceFull, TaskFailed, TimedOut

END = -1
"""The id of the result that an executor sends itself to end the collection."""

DEAD_LETTER_LOOK_S = 0.25
"""How late a dead letter may be noticed."""

EMBEDDED_WORKERS = 2
"""Threads that do the tasks when the lab is embedded and nobody else can."""


AHEAD_TASKS = 4096
"""Tasks that an executor puts ahead of their results, at most."""

AHEAD_BYTES = 128 << 20
"""Bytes of their payloads, at most; one task is always put."""


class Future(_Future):
    """The result of a task. It counts as pending until it is done: only the worker knows when it began."""

    def __init__(self, executor: Executor, number: int) -> None:
        super().__init__()
        self._executor = executor
        self.number = number
        """The task's id in its pool."""

    def cancel(self) -> bool:
        """Takes the task back. False if a worker has it, it is done, or its space is gone."""
        return self._executor._cancel(self)

    def withdraw(self) -> bool:
        """Marks it cancelled, its task being gone."""
        cancelled = super().cancel()
        if cancelled:
            self.set_running_or_notify_cancel()
        return cancelled


class Executor(_Executor):
    """Runs calls in the workers of a lab's space (`python -m quintet.worker`), each exactly once also if workers die: a
    task whose worker dies is done by another. A task whose workers died five times fails with TaskFailed.

    A future's callbacks (`add_done_callback`) run one after the other in the thread that collects the results. A callback
    may submit a task, and must not wait for another future: no result comes while it waits.

    At most `ahead_tasks` tasks, of `ahead_bytes` bytes when pickled, lie in the space or with workers; those beyond wait here, in
    their order, so that a job of any length leaves the space room for its results, and others.

    Without a lab it connects as `quintet.connect()` and closes that connection at shutdown. In an embedded lab two threads
    of this process do the work.
    """

    def __init__(
        self, lab: Lab | None = None, *, ahead_tasks: int = AHEAD_TASKS, ahead_bytes: int = AHEAD_BYTES
    ) -> None:
        """Raises as `quintet.connect` does."""
        self._own = lab is None
        self.lab = connect() if lab is None else lab
        """The connection it uses."""
        self._space: Space = self.lab.space
        self.pool = uuid.uuid4().hex
        """Names this executor's tasks and results."""
        self._numbers = itertools.count(1)
        self._futures: dict[int, Future] = {}
        self._ahead_tasks, self._ahead_bytes = ahead_tasks, ahead_bytes
        self._ahead: dict[int, int] = {}
        """The tasks that were put and are not done: the bytes of each."""
        self._kept: dict[int, bytes] = {}
        """The payloads of the tasks that wait here, oldest first."""
        self._feeder: threading.Thread | None = None
        self._lock = threading.Lock()
        self._ended = False
        self._error: Error | None = None
        self._changed = threading.Condition(self._lock)
        """Told when a task ends, when one is kept, and when all is over."""
        self._events = tasks.events_wanted()
        self._finisher: threading.Thread | None = None
        self._collector = threading.Thread(target=self._collect, name="quintet-collect", daemon=True)
        try:
            if self.lab.is_embedded:
                _ensure_workers(self.lab)
            self._collector.start()
        except BaseException:
            if self._own:
                self.lab.close()
            raise

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        """Puts a task, or keeps it until others are done. Raises RuntimeError after shutdown, BrokenExecutor, its cause the error,
        after the space was lost, what pickling raises, and as `Space.out`; what a kept task's `Space.out` raises, its future raises.
        """
        payload = tasks.dumps((fn, args, kwargs))
        future = Future(self, next(self._numbers))
        with self._lock:
            if self._error is not None:
                raise BrokenExecutor(f"the executor has lost its space: {self._error}") from self._error
            if self._ended:
                raise RuntimeError("the executor was shut down")
            self._futures[future.number] = future
            is_kept = bool(self._kept) or not self._has_room(len(payload))
            if is_kept:
                self._keep(future.number, payload)
            else:
                self._ahead[future.number] = len(payload)
        if is_kept:
            return future
        # The collector may not wait for room: results would fill the space meanwhile.
        timeout = 0.0 if threading.current_thread() is self._collector else None
        try:
            self._put(future.number, payload, timeout)
        except SpaceFull:
            with self._lock:
                del self._ahead[future.number]
                self._keep(future.number, payload)
        except BaseException:
            self._forget(future.number)
            raise
        return future

    def _put(self, number: int, payload: bytes, timeout: float | None = None) -> None:
        puts: list[tuple[Any, ...]] = [(tasks.TASK, self.pool, number, payload)]
        if self._events:
            puts.append(tasks.event(tasks.SUBMITTED, -1, number, 0))
        self._space.out_many(puts, timeout)

    def _has_room(self, size: int) -> bool:
        """Whether one more task of that size may be put. Under the lock."""
        fits = len(self._ahead) < self._ahead_tasks and sum(self._ahead.values()) + size <= self._ahead_bytes
        return fits or not self._ahead

    def _keep(self, number: int, payload: bytes) -> None:
        """Has a task put when there is room. Under the lock."""
        self._kept[number] = payload
        if self._feeder is None:
            self._feeder = threading.Thread(target=self._feed, name="quintet-feed", daemon=True)
            self._feeder.start()
        self._changed.notify_all()

    def _feed(self) -> None:
        """Puts the tasks that were kept, each once there is room for it, in their order."""
        while (kept := self._next_kept()) is not None:
            number, payload = kept
            try:
                self._put(number, payload)
            except GONE:
                return  # The end of the collection is theirs.
            except Exception as error:
                future = self._forget(number)
                if future is not None:
                    _end(future, error)

    def _next_kept(self) -> tuple[int, bytes] | None:
        """Waits until one may be put. None: there will be none any more."""

        def is_due() -> bool:
            if self._error is not None or not self._futures and self._ended:
                return True
            return bool(self._kept) and self._has_room(len(next(iter(self._kept.values()))))

        with self._changed:
            self._changed.wait_for(is_due)
            if self._error is not None or not self._kept:
                return None
            number = next(iter(self._kept))
            payload = self._kept.pop(number)
            self._ahead[number] = len(payload)
            return number, payload

    def workers(self) -> int:
        """How many workers have announced themselves and live."""
        return presence.count(self.lab)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Takes no more tasks. `wait` for those under way; `cancel_futures` takes back those no worker has yet."""
        with self._lock:
            self._ended = True
            futures = list(self._futures.values())
            if self._finisher is None:
                # Ends the collection once nothing is under way. If it cannot be started, the next call tries again.
                finisher = threading.Thread(target=self._finish, name="quintet-finish", daemon=True)
                finisher.start()
                self._finisher = finisher
        if cancel_futures:
            for future in futures:
                future.cancel()
        if wait and threading.current_thread() is not self._collector:
            self._collector.join()

    def _finish(self) -> None:
        with self._changed:
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._futures)
        try:
            self._space.out(tasks.RESULT, self.pool, END, True, b"", -1, 0)
        except Error:
            pass  # The collection has ended with the space.
        self._collector.join()
        if self._own:
            self.lab.close()

    def _cancel(self, future: Future) -> bool:
        if future.done():
            return future.cancelled()
        with self._lock:
            is_kept = self._kept.pop(future.number, None) is not None
        if is_kept:
            self._forget(future.number)
            return future.withdraw()
        try:
            taking = self._space.begin().take_if(tasks.TASK, self.pool, future.number, bytes)
        except GONE:
            return False  # Its end is that of the collection.
        try:
            return self._withdraw(future, taking)
        except KeyboardInterrupt:
            # It may have come when the task was taken back already, and nobody else would end its future.
            self._withdraw(future, taking)
            raise

    def _withdraw(self, future: Future, taking: Pending) -> bool:
        try:
            if taking.result() is None:
                return False
        except GONE:
            return False
        self._forget(future.number)
        return future.withdraw()

    def _forget(self, number: int) -> Future | None:
        with self._changed:
            self._ahead.pop(number, None)
            future = self._futures.pop(number, None)
            if self._kept or not self._futures:
                self._changed.notify_all()
            return future

    def _collect(self) -> None:
        try:
            dead = self._dead_letter()
            while True:
                result = self._space.begin().take(tasks.RESULT, self.pool, int, bool, bytes, int, int)
                while not _ready(result):
                    if dead.done():
                        self._bury(dead.result())
                        dead = self._dead_letter()
                _, _, number, ok, payload, _, _ = result.result()
                if number == END:
                    return
                self._settle(number, ok, payload)
        except Error as error:
            self._fail_all(error)

    def _dead_letter(self) -> Pending:
        return self._space.begin().take(DEAD_LETTER, str, int, tasks.TASK, self.pool, int, bytes)

    def _settle(self, number: int, ok: bool, payload: bytes) -> None:
        future = self._forget(number)
        if future is None:
            return
        try:
            value = tasks.pickle.loads(payload) if ok else None
            error = None if ok else tasks.exception_of(payload)
        except BaseException as unreadable:
            error = TaskFailed(Code.TaskFailed, f"its result cannot be unpickled here: {tasks.told(unreadable)}")
            error.__cause__ = unreadable
        _end(future, error) if error is not None else future.set_result(value)

    def _bury(self, letter: tuple[Any, ...]) -> None:
        _, reason, attempts, _, _, number, _ = letter
        future = self._forget(number)
        if future is not None:
            text = f"task {number} was given up after {attempts} attempts: {reason}"
            _end(future, TaskFailed(Code.TaskFailed, text))

    def _fail_all(self, error: Error) -> None:
        with self._changed:
            self._error = error
            futures, self._futures = list(self._futures.values()), {}
            self._kept.clear()
            self._changed.notify_all()
        for future in futures:
            _end(future, error)


def _end(future: Future, error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)


def _ready(pending: Pending) -> bool:
    """Whether the outcome came within the time in which dead letters need not be looked at."""
    try:
        pending.result(DEAD_LETTER_LOOK_S)
    except TimedOut:
        return False
    return True


_workers: weakref.WeakSet[Lab] = weakref.WeakSet()
_workers_lock = threading.Lock()


def _ensure_workers(lab: Lab) -> None:
    """Starts the threads that do the tasks of an embedded lab, once."""
    from quintet.worker import work

    with _workers_lock:
        if lab in _workers:
            return
        for rank in range(EMBEDDED_WORKERS):
            threading.Thread(target=work, args=(lab.space, rank), name=f"quintet-worker-{rank}", daemon=True).start()
        _workers.add(lab)
