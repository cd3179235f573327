"""What an executor has in its space: its tasks, their futures, and the threads that see to them.

A pool outlives its executor until nothing is under way: an executor that was shut down without waiting, or dropped, has its tasks
done all the same, and a program that ends waits for them (`leaving`). Its threads end with its last task.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
import uuid
from collections import deque
from concurrent.futures import BrokenExecutor, InvalidStateError
from concurrent.futures import Future as _Future
from contextlib import AbstractContextManager
from typing import Any, Callable, TypeVar

from quintet import bulk, html, leaving, masters, presence, tasks
from quintet._native import DEAD_LETTER, Lab, Pending, Space
from quintet.errors import GONE, Cancelled, Code, Error, SpaceFull, TaskFailed, TimedOut
from quintet.feeding import Feed, Put
from quintet.stalls import Stall

END = -1
"""The id of the result that wakes the thread that collects."""

TAKES = 8
"""Results that are asked for at a time: while one is seen to, the next ones come."""

LOOK_S = 0.25
"""How late a dead letter, or that the executor was dropped, may be noticed."""


T = TypeVar("T")


class Future(_Future[T]):
    """The result of a task. It counts as pending until it is done: only the worker knows when it began."""

    def __init__(self, pool: Pool, number: int) -> None:
        super().__init__()
        self._pool = pool
        self.number = number
        """The task's id in its pool."""
        self.size = 0
        """Bytes of what was pickled, with those of the large arrays that went with it."""

    def cancel(self) -> bool:
        """Takes the task back. False if a worker has it, it is done, or its space is gone."""
        return self._pool.cancel(self)

    def _repr_html_(self) -> str:
        """What notebooks show."""
        error = self.exception() if self.done() and not self.cancelled() else None
        rows: list[tuple[str, object]] = [("task", self.number), ("pool", self._pool.name), ("state", self._state.lower().replace("_and_notified", ""))]
        return html.table("quintet.Future", rows if error is None else [*rows, ("error", tasks.told(error))])

    def withdraw(self) -> bool:
        """Marks it cancelled, its task being gone."""
        cancelled = super().cancel()
        if cancelled:
            self.set_running_or_notify_cancel()
        return cancelled


class Pool:
    """The tasks of one executor. `close` is called when it is over."""

    def __init__(
        self, lab: Lab, close: Callable[[], None] | None, ahead_tasks: int, ahead_bytes: int, initializer: bytes | None
    ) -> None:
        self.lab, self._close = lab, close
        self.space: Space = lab.space
        self.name = uuid.uuid4().hex
        """Names its tasks and results."""
        self.has_ended = False
        """No more tasks are taken. Set without the lock when the executor is dropped, which may be at any moment."""
        self.is_over = False
        """It is collected no more."""
        self.error: Error | None = None
        """How the space was lost."""
        self._broken: BrokenExecutor | None = None
        """How its initializer failed, or its workers."""
        self._initializer = initializer
        self.lost = 0
        """Tasks that were lost with it before anybody had said that there will be no more."""
        self._numbers = itertools.count(1)
        self._futures: dict[int, Future[Any]] = {}
        self._keys: dict[int, list[str]] = {}
        """Of the large arrays of the tasks that are not done."""
        self.uses = bulk.Uses(self.space, self.name, ahead_bytes)
        self._lock = threading.Lock()
        self._feed = Feed(self.space, self.name, self._lock, (ahead_tasks, ahead_bytes), self._fail)
        self._wake: Pending | None = None
        self._stall = Stall(lab, self.name)
        self._collector = threading.Thread(target=self._collect, name="quintet-collect", daemon=True)

    def start(self) -> None:
        """Collects from now on. Raises as `Space.out` if there is an initializer."""
        if self._initializer is not None:
            self.uses.put_initializer(self._initializer)
        leaving.add(self)
        try:
            self._collector.start()
        except BaseException:
            leaving.discard(self)
            raise

    def share_on(self, *, compares: bool) -> bulk.Sharing:
        """For tasks that may name the same large arrays, until it is ended; `compares` them, as they may have been changed meanwhile."""
        return self.uses.share(compares=compares)

    def submit(self, call: tasks.Task, sharing: bulk.Sharing | None = None, *, goes_on: bool = False) -> Future[Any]:
        """See `Executor.submit`. `goes_on`: the task belongs to what was begun before the executor was shut down."""
        keys: list[str] = []
        absent: list[memoryview | None] = []
        payload = tasks.dumps_plain_call(call)
        if payload is None:
            packer = bulk.Packer()
            payload = tasks.dumps(call, packer.keep)
            keys, absent = self.uses.pack(packer.views, sharing)
        put = self._pack(payload, keys, absent)
        future = Future(self, next(self._numbers))
        future.size = put.size
        try:
            is_kept = self._admit(future, put, goes_on)
        except BaseException:
            self.uses.release(put.keys)
            raise
        if not is_kept and self._put_now(future.number, put) and sharing is not None:
            sent = {fields[2]: fields[3] for fields in put.bulk}
            for key, view in zip(keys, absent):
                if view is not None:
                    self.uses.offer(view, key, sharing, sent[key])
        return future

    def _pack(self, payload: bytes, keys: list[str], absent: list[memoryview | None]) -> Put:
        is_prepared = self._initializer is not None
        if not keys and not is_prepared:
            return Put(payload, [], [])
        puts = [bulk.tuple_of(self.name, key, view) for key, view in zip(keys, absent) if view is not None]
        shared = [view is None for view in absent]
        return Put(tasks.dumps(bulk.Pickled(payload, keys, shared, is_prepared)), keys, puts)

    def _put_now(self, number: int, put: Put) -> bool:
        """Puts a task. False if it was kept, there being no room in the space."""
        # The collector may not wait for room: results would fill the space meanwhile. Nor is there a wait with large arrays: what has to
        # go before there is room may be shared by this task and those that follow.
        timeout = 0.0 if put.bulk or threading.current_thread() is self._collector else None
        try:
            self._feed.put(number, put, timeout)
        except SpaceFull:
            with self._lock:
                self._feed.keep(number, put)
            return False
        except BaseException:
            self._forget(number)
            raise
        return True

    def _admit(self, future: Future[Any], put: Put, goes_on: bool) -> bool:
        """Takes it in. Returns whether it is kept here, there being no room for it."""
        with self._lock:
            self._check_takes(goes_on)
            self._stall.submit()
            if not self._futures:
                self._stall.go_on()
            self._futures[future.number] = future
            self._keys[future.number] = put.keys
            return self._feed.admit(future.number, put)

    def _check_takes(self, goes_on: bool) -> None:
        """Raises if no more tasks are taken; those that go on with something are taken until all is over. Under the lock."""
        if self.error is not None:
            raise BrokenExecutor(f"the executor has lost its space: {self.error}") from self.error
        if self._broken is not None:
            raise BrokenExecutor(str(self._broken)) from self._broken.__cause__
        if goes_on and not self.is_over:
            return
        if self.has_ended:
            raise RuntimeError("the executor was shut down")
        if leaving.has_begun():
            raise RuntimeError("no tasks are taken while the program ends")

    def limit(self, most_tasks: int) -> None:
        """Has no more tasks in the space, or with workers, from now on."""
        with self._lock:
            self._feed.limit(most_tasks)

    def end(self) -> list[Future[Any]]:
        """Takes no more tasks. Returns the futures of those under way."""
        with self._lock:
            self.has_ended = True
            self._wake_collector()
            return list(self._futures.values())

    def join(self) -> None:
        """Waits until all is over. Returns at once in the thread that would have to bring that about."""
        if threading.current_thread() is not self._collector:
            self._collector.join()

    def under_way(self) -> int:
        """How many tasks are."""
        return len(self._futures)

    def _wake_collector(self) -> None:
        """Has it see soon that all is done, if that is so: at the latest it sees that when it looks about. Under the lock."""
        if not self.has_ended or self._futures or self.is_over or self._wake is not None:
            return
        try:
            self._wake = self.space.begin().out(tasks.RESULT, self.name, END, True, b"", -1, 0)
        except Error:
            return  # The collection ends with the space.

    def cancel(self, future: Future[Any]) -> bool:
        """See `Future.cancel`."""
        if future.done():
            return future.cancelled()
        with self._lock:
            is_kept = self._feed.withdraw(future.number)
        if is_kept:
            self._forget(future.number)
            return future.withdraw()
        try:
            taking = self.space.begin().take_if(tasks.TASK, self.name, future.number, bytes)
        except GONE:
            return False  # Its end is that of the collection.
        try:
            return self._withdraw(future, taking)
        except KeyboardInterrupt:
            # It may have come when the task was taken back already, and nobody else would end its future.
            self._withdraw(future, taking)
            raise

    def _withdraw(self, future: Future[Any], taking: Pending) -> bool:
        try:
            if taking.result() is None:
                return False
        except GONE:
            return False
        self._forget(future.number)
        return future.withdraw()

    def _forget(self, number: int) -> Future[Any] | None:
        with self._lock:
            self._feed.done(number)
            future = self._futures.pop(number, None)
            keys = self._keys.pop(number, [])
            if threading.current_thread() is not self._collector:
                self._wake_collector()
        if keys:
            self.uses.release(keys)
        self.uses.tidy()
        return future

    def _collect(self) -> None:
        try:
            with contextlib.nullcontext() if self.lab.is_embedded else self._present():
                self._collect_all()
                self._leave()
        except Error as error:
            self._fail_all(error)
        finally:
            # First: a program that ends waits for as long as this is one of those.
            if self._close is not None:
                self._close()
            leaving.discard(self)

    def _present(self) -> AbstractContextManager[None]:
        return presence.holding(self.space, masters.MASTER, self.name, masters.this_process())

    def _collect_all(self) -> None:
        looked = time.monotonic()
        template = (tasks.RESULT, self.name, int, bool, bytes, int, int)
        begin = self.space.begin()
        coming: deque[Pending] = deque()
        while not self._is_done():
            while len(coming) < TAKES:
                coming.append(begin.take(*template))
            result = coming[0]
            while not _ready(result) or time.monotonic() >= looked + LOOK_S:
                looked = time.monotonic()
                self._bury_dead()
                if self._broken is not None:
                    # A worker that had one has died since all were given up: it has come back, and nobody will do it.
                    self._withdraw_tasks()
                if result.done():
                    break
                if self._is_done():
                    return
                if self._futures:
                    self._stall.look()
            self._stall.go_on()
            _, _, number, ok, payload, _, _ = coming.popleft().result()
            if number != END:
                self._settle(number, ok, payload)

    def _is_done(self) -> bool:
        """Whether nothing is under way, nor will be; then it is over."""
        with self._lock:
            if not self.has_ended or self._futures:
                return False
            self.is_over = True
            self._feed.end()
            return True

    def _leave(self) -> None:
        """Leaves nothing in the space. Raises as `Space.take_if`."""
        self.uses.end()
        if self._wake is None:
            return
        self._wake.cancel()
        with contextlib.suppress(Cancelled):
            self._wake.result()
        self.space.take_if(tasks.RESULT, self.name, END, bool, bytes, int, int)

    def _settle(self, number: int, ok: bool, payload: bytes) -> None:
        future = self._forget(number)
        if future is None:
            return
        try:
            value = tasks.loads(payload, self._arrays) if ok else None
            error = None if ok else tasks.exception_of(payload)
        except BaseException as unreadable:
            error = TaskFailed(Code.TaskFailed, f"its result cannot be unpickled here: {tasks.told(unreadable)}")
            error.__cause__ = unreadable
        if isinstance(error, bulk.InitializerFailed):
            broken = BrokenExecutor(f"the initializer failed in a worker: {error}")
            broken.__cause__ = error.__cause__
            self.give_up(broken)
            error = broken
        if error is not None:
            _end(future, error)
        elif not future.done():
            future.set_result(value)

    def give_up(self, broken: BrokenExecutor) -> None:
        """Fails all tasks. The results of those that workers have are still collected, and dropped."""
        with self._lock:
            self._broken, self.has_ended = broken, True
            futures, kept = list(self._futures.values()), self._feed.withdraw_all()
        for future in futures:
            _end(future, broken)
        for number in kept:
            self._forget(number)
        self._withdraw_tasks()

    def _withdraw_tasks(self) -> None:
        """Takes back the tasks that no worker has."""
        with contextlib.suppress(*GONE):
            while (task := self.space.take_if(tasks.TASK, self.name, int, bytes)) is not None:
                self._forget(task[2])

    def abandon(self) -> None:
        """Cancels all tasks, also those that workers have. For a pool whose workers end: no result of theirs may come."""
        for future in self.end():
            if not future.cancel():
                self._forget(future.number)
                future.withdraw()

    def _arrays(self, pickled: bulk.Pickled) -> list[bytearray]:
        """The large arrays of a result: the program may write them."""
        found = [self.space.take_if(*bulk.template_of(self.name, key)) for key in pickled.keys]
        return [bytearray(fields[3]) for fields in found if fields is not None]

    def _bury_dead(self) -> None:
        """Fails the tasks that were given up. It is looked for them, and not waited: while a take waits, the space keeps all that this process takes
        after it, as long as it may have to be undone.
        """
        template = (DEAD_LETTER, str, int, tasks.TASK, self.name, int, bytes)
        while (letter := self.space.take_if(*template)) is not None:
            _, reason, attempts, _, _, number, _ = letter
            future = self._forget(number)
            if future is not None:
                text = f"task {number} was given up after {attempts} attempts: {reason}"
                _end(future, TaskFailed(Code.TaskFailed, text))

    def _fail(self, number: int, error: Exception) -> None:
        """A task cannot be put."""
        future = self._forget(number)
        if future is not None:
            _end(future, error)

    def _fail_all(self, error: Error) -> None:
        with self._lock:
            self.error, self.is_over = error, True
            futures, self._futures = list(self._futures.values()), {}
            self._feed.end()
            if not self.has_ended or leaving.has_begun():
                self.lost = len(futures)
                leaving.lose(self.lost, error)
        for future in futures:
            _end(future, error)


def _end(future: Future[Any], error: BaseException) -> None:
    """Unless it has ended: at this moment it may be, in the thread that takes it back."""
    with contextlib.suppress(InvalidStateError):
        future.set_exception(error)


def _ready(pending: Pending) -> bool:
    """Whether the outcome came within the time in which nothing else need be looked at."""
    try:
        pending.result(LOOK_S)
    except TimedOut:
        return False
    return True
