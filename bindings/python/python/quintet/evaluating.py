"""The live tuples that this process has asked workers for.

Each is a task, which stays in the space and is done whether or not this process lives: it belongs to the space. Its result tells this process that it is
over. A thread collects the results for as long as some are awaited; those that come when this process is gone workers remove (`masters`).
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import threading
import time
import uuid
from typing import Any

from quintet import masters, presence, tasks, worker_threads
from quintet._native import DEAD_LETTER, Space, is_embedded, space_key
from quintet.errors import GONE, Code, Error, TaskFailed, TimedOut
from quintet.evaluation import FAILED, Evaluation
from quintet.live import POOL, Live

LOOK_S = 0.25
"""How late it may be noticed that an evaluation was given up, or that none is awaited any more."""

QUIET_S = 2.0
"""So long nothing is said of missing workers."""

_logger = logging.getLogger("quintet")

_under_way: dict[tuple[int, str | None], Evaluations] = {}
"""By their spaces."""
_lock = threading.Lock()


def on_workers(space: Space, fields: tuple[Any, ...]) -> Evaluation:
    """Puts a live tuple for a worker. Raises what pickling raises, and as `Space.out`."""
    live = Live(fields)
    payload = tasks.dumps((live, (), {}))
    if is_embedded(space):
        worker_threads.ensure(space)
    with _lock:
        evaluations = _under_way.get(space_key(space))
        if evaluations is None:
            evaluations = Evaluations(space)
            evaluations.start()
            _under_way[space_key(space)] = evaluations
        evaluation = evaluations.admit(live.name)
    evaluations.put(evaluation, payload)
    return evaluation


class Evaluations:
    """Those of one space, until none is under way."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._pool = POOL + uuid.uuid4().hex
        self._numbers = itertools.count(1)
        self._awaited: dict[int, Evaluation] = {}
        self._since = time.monotonic()
        """When one went on, or there was none."""
        self._has_warned = False

    def start(self) -> None:
        """Collects from now on. Raises as `Begin.out`."""
        present = contextlib.ExitStack()
        try:
            if not is_embedded(self._space):
                # Before the first task: what comes of it is then removed when this process dies.
                present.enter_context(presence.holding(self._space, masters.MASTER, self._pool, masters.this_process()))
            threading.Thread(target=self._collect, args=(present,), name="quintet-evals", daemon=True).start()
        except BaseException:
            present.close()
            raise

    def admit(self, name: str) -> Evaluation:
        """One more. Under the lock."""
        if not self._awaited:
            self._since = time.monotonic()
        evaluation = Evaluation(name, next(self._numbers), self)
        self._awaited[evaluation.number] = evaluation
        return evaluation

    def put(self, evaluation: Evaluation, payload: bytes) -> None:
        """Puts its task. Raises as `Space.out`."""
        number = evaluation.number
        puts: list[tuple[Any, ...]] = [(tasks.TASK, self._pool, number, payload)]
        if tasks.events_wanted():
            puts.append(tasks.event(tasks.SUBMITTED, -1, number, 0))
        try:
            self._space.out_many(puts)
        except BaseException:
            self._awaited.pop(number, None)
            raise

    def withdraw(self, evaluation: Evaluation) -> bool:
        """See `Evaluation.cancel`."""
        try:
            taken = self._space.take_if(tasks.TASK, self._pool, evaluation.number, bytes)
        except GONE:
            return False  # Its end is that of the collection.
        if taken is None:
            return False
        self._awaited.pop(evaluation.number, None)
        return evaluation.withdrawn()

    def state_of(self, evaluation: Evaluation) -> str:
        """What one that is not over waits for."""
        try:
            row = next(iter(self._space.list(tasks.TASK, self._pool, evaluation.number, bytes)), None)
            if row is None:
                return "it is over, and this process has not heard of it yet"
            if row.lease is not None:
                return f"the worker {row.lease.holder} has had it for {row.lease.held:.1f} s"
            waiting = self._space.count(tasks.TASK, str, int, bytes)
            return _waits(self._workers(), waiting)
        except Error as error:
            return str(error)

    def _workers(self) -> int:
        """How many have announced themselves and live. Nothing is removed of those who do not."""
        announced = self._space.count(tasks.WORKER, int, int)
        return max(announced - self._space.count(presence.PRESENCE, int, int, str), 0)

    def _collect(self, present: contextlib.ExitStack) -> None:
        try:
            with present:
                self._collect_all()
        except Error as error:
            self._fail_all(error)

    def _collect_all(self) -> None:
        template = (tasks.RESULT, self._pool, int, bool, bytes, int, int)
        looked = time.monotonic()
        while True:
            with contextlib.suppress(TimedOut):
                _, _, number, ok, payload, _, _ = self._space.take(*template, timeout=LOOK_S)
                self._end(number, None if ok else tasks.exception_of(payload))
            if time.monotonic() < looked + LOOK_S:
                continue
            looked = time.monotonic()
            if self._is_over():
                return
            self._bury_dead()
            self._warn()

    def _is_over(self) -> bool:
        """Whether none is under way; then no more are admitted."""
        with _lock:
            if self._awaited:
                return False
            _under_way.pop(space_key(self._space), None)
            return True

    def _end(self, number: int, error: BaseException | None) -> None:
        self._since = time.monotonic()
        evaluation = self._awaited.pop(number, None)
        if evaluation is None:
            return
        if error is None:
            evaluation.set_result(None)
        else:
            evaluation.set_exception(error)

    def _bury_dead(self) -> None:
        """Puts a failure in the place of each that was given up."""
        task = (tasks.TASK, self._pool, int, bytes)
        while (letter := self._space.read_if(DEAD_LETTER, str, int, *task)) is not None:
            _, reason, attempts, _, _, number, _ = letter
            evaluation = self._awaited.get(number)
            name = "out" if evaluation is None else evaluation.name
            text = f"{name} was given up after {attempts} attempts: {reason}"
            self._space.replace_if(letter, (FAILED, name, text))
            self._end(number, TaskFailed(Code.TaskFailed, text))

    def _warn(self) -> None:
        """Says once that there is no worker."""
        if self._has_warned or time.monotonic() - self._since < QUIET_S:
            return
        self._since = time.monotonic()
        waiting = self._space.count(tasks.TASK, self._pool, int, bytes)
        if waiting > 0 and self._workers() == 0:
            _logger.warning("live tuples wait (%d): %s", waiting, _waits(0, waiting))
            self._has_warned = True

    def _fail_all(self, error: Error) -> None:
        with _lock:
            _under_way.pop(space_key(self._space), None)
            awaited, self._awaited = list(self._awaited.values()), {}
        for evaluation in awaited:
            evaluation.set_exception(error)


def _waits(workers: int, waiting: int) -> str:
    if workers == 0:
        return "no worker has announced itself in its space: start some (python -m quintet.worker with QUINTET_SPACE set to its address)"
    return f"it waits for a worker, with {waiting} tasks in all; workers: {workers}. Space.waiting() tells what these may wait for"


def _leave_to_the_parent() -> None:
    """In a forked child: they are the parent's."""
    global _lock
    _under_way.clear()
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_leave_to_the_parent)
