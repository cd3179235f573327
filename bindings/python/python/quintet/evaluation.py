"""Live tuples: some of their fields are evaluated first, by a thread of this process or by a worker (`evaluating`); then the tuple is put."""

from __future__ import annotations

import functools
import threading
import time
import traceback
from concurrent.futures import Future
from concurrent.futures import TimeoutError as _TimeoutError
from typing import TYPE_CHECKING, Any, Callable

from quintet._native import Space
from quintet.errors import GONE, BadValue, Code, TimedOut

if TYPE_CHECKING:
    from quintet.evaluating import Evaluations

FAILED = "quintet.failed"
"""The first field of the tuple that is put in the place of one that failed."""

THREAD = "thread"
WORKERS = "workers"


class Evaluation(Future[None]):
    """A live tuple under way. Its result is None, once the tuple is in the space; what the evaluation raised, `result` raises.

    It is a future of `concurrent.futures`, and has `join` as a thread has. Dropped, the evaluation goes on.
    """

    def __init__(self, name: str, number: int = 0, evaluations: Evaluations | None = None) -> None:
        """`evaluations`: those of which workers do it as the one of that number; None: a thread does it."""
        super().__init__()
        self.name = name
        """The first callable's."""
        self.number = number
        self._evaluations = evaluations

    def cancel(self) -> bool:
        """Takes the live tuple back, of which nothing remains. False if a worker or a thread has it, it is done, or its space is gone."""
        if self._evaluations is None or self.done():
            return super().cancel()
        return self._evaluations.withdraw(self)

    def result(self, timeout: float | None = None) -> None:
        """Waits until the tuple is in the space, `timeout` seconds at most.

        Raises what the evaluation raised; CancelledError; TimedOut, which says what it waits for; TaskFailed if its workers died.
        """
        try:
            return super().result(timeout)
        except _TimeoutError as error:
            if self.done():
                raise
            raise self._timed_out(timeout) from error

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """What `result` would raise; None: the tuple was put. Raises TimedOut and CancelledError."""
        try:
            return super().exception(timeout)
        except _TimeoutError as error:
            raise self._timed_out(timeout) from error

    def join(self, timeout: float | None = None) -> None:
        """Waits until it is over, however it ends, `timeout` seconds at most."""
        ended = threading.Event()
        self.add_done_callback(lambda _: ended.set())
        ended.wait(timeout)

    def is_alive(self) -> bool:
        """Whether it is under way."""
        return not self.done()

    def withdrawn(self) -> bool:
        """Marks it cancelled, its task being gone."""
        is_cancelled = super().cancel()
        if is_cancelled:
            self.set_running_or_notify_cancel()
        return is_cancelled

    def _timed_out(self, timeout: float | None) -> TimedOut:
        state = "a thread of this process does it" if self._evaluations is None else self._evaluations.state_of(self)
        return TimedOut(Code.TimedOut, f"{self.name} was not evaluated within {timeout} s: {state}")


class Fields:
    """The fields of a live tuple."""

    def __init__(self, fields: tuple[Any, ...]) -> None:
        self._fields = fields
        self.name = next((name_of(field) for field in fields if callable(field)), "out")
        """Of the callable that is evaluated; "out" where there is none."""

    def values(self) -> tuple[Any, ...]:
        """Evaluates the callables, in order. Raises what they raise."""
        values = []
        for field in self._fields:
            if callable(field):
                self.name = name_of(field)
                field = field()
            values.append(field)
        return tuple(values)


def name_of(function: Callable[..., Any]) -> str:
    """What a callable is called: that of a `functools.partial` as what it calls."""
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__qualname__", type(function).__qualname__)


def start(space: Space, fields: tuple[Any, ...], on: str) -> Evaluation:
    """See `Space.eval`."""
    if on == WORKERS:
        from quintet.evaluating import on_workers

        return on_workers(space, fields)
    if on != THREAD:
        raise BadValue(Code.BadValue, f"on={on!r}: a tuple is evaluated on {THREAD!r} or {WORKERS!r}")
    live = Fields(fields)
    evaluation = Evaluation(live.name)
    evaluation.set_running_or_notify_cancel()
    threading.Thread(target=_evaluate, args=(space, live, evaluation), name="quintet-eval", daemon=True).start()
    return evaluation


def _evaluate(space: Space, live: Fields, evaluation: Evaluation) -> None:
    try:
        space.out(*live.values())
    except BaseException as error:
        if not isinstance(error, GONE):
            _report(space, live.name, traceback.format_exc())
        evaluation.set_exception(error)
    else:
        evaluation.set_result(None)


def _report(space: Space, name: str, text: str) -> None:
    try:
        space.out(FAILED, name, text)
    except GONE:
        return  # There is no space left to tell.
