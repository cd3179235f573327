"""The tuples that executors and workers speak with.

| tuple | from | to |
| --- | --- | --- |
| ("quintet.task", pool: str, id: int, payload: bytes) | executor, or who evaluates | worker, under a lease |
| ("quintet.result", pool: str, id: int, ok: bool, payload: bytes, worker: int, attempt: int) | worker | executor |
| ("quintet.bulk", pool: str, key: str, data: array of u1) | executor; worker, with a result | worker, which reads it; executor |
| ("quintet.worker", rank: int, pid: int) | worker, when it starts | everybody; `presence.count` removes those of the dead |
| ("quintet.master", pool: str, process: str) | executor, which holds it under a lease | workers, if its program dies (`masters`) |
| ("quintet.event", what: str, rank: int, task: int, attempt: int), if QUINTET_EVENTS=1 | both | who watches |

A worker's events are put when there is room for them, in their order: "holding" when it begins a task, "done" just before
the result.

A task's payload is a pickled (function, arguments, keywords). A result's is the pickled value, or, if the task failed, a
pickled (pickled exception or None, its text, traceback): a failure can be read also where the exception's class is unknown.
Large arrays of either are apart (`bulk`). Live tuples are tasks as well, whose pools begin with "evals-" (`live`). Pickles are code: whoever may put such tuples into the space has its workers and executors run it. Those
who may are the processes of one user and, in a cluster's space, the members with the grant `code`.
"""

from __future__ import annotations

import math
import os
import pickle
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import BuiltinFunctionType, FunctionType
from typing import Any, Callable, NamedTuple

import cloudpickle

from quintet.bulk import Pickled
from quintet.errors import Code, TaskFailed

TASK = "quintet.task"
RESULT = "quintet.result"
WORKER = "quintet.worker"
EVENT = "quintet.event"

SUBMITTED = "submitted"
HOLDING = "holding"
DONE = "done"


def events_wanted() -> bool:
    """Whether events are to be put."""
    return os.environ.get("QUINTET_EVENTS") == "1"


def event(what: str, rank: int, task: int, attempt: int) -> tuple[str, str, int, int, int]:
    """The tuple that says what happened to a task. `rank` is -1 for the executor's."""
    return (EVENT, what, rank, task, attempt)


def dumps(value: Any, keep: Callable[[pickle.PickleBuffer], bool] | None = None) -> bytes:
    """Pickles, functions and classes of the main program included. `keep` says which buffers stay in the pickle.

    Raises what pickling raises.
    """
    pickled: bytes = cloudpickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL, buffer_callback=keep)
    return pickled


_PLAIN = {type(None), bool, int, float, str, bytes}
"""Types whose pickles hold nothing but the value."""


def dumps_plain(value: Any) -> bytes | None:
    """What `dumps` gives, in a fraction of the time, if the value is a number, text, bytes or None."""
    return pickle.dumps(value, pickle.HIGHEST_PROTOCOL) if type(value) in _PLAIN else None


def dumps_plain_call(call: Task) -> bytes | None:
    """What `dumps` gives, in a fraction of the time, if the function is one of a module's, which workers import, and all arguments are plain."""
    function, arguments, keywords = call
    is_plain = (
        type(function) in (FunctionType, BuiltinFunctionType)
        and function.__module__ not in (None, "__main__")
        and all(type(argument) in _PLAIN for argument in (*arguments, *keywords.values()))
        and not cloudpickle.list_registry_pickle_by_value()
    )
    if is_plain:
        # A function that cannot be found by its name travels with the task.
        with suppress(pickle.PicklingError, AttributeError):
            return pickle.dumps(call, pickle.HIGHEST_PROTOCOL)
    return None


_doing = threading.local()


@contextmanager
def doing(number: int) -> Iterator[None]:
    """This thread does that task in the block."""
    _doing.number = number
    try:
        yield
    finally:
        _doing.number = None


def current() -> int | None:
    """The task that this thread does, if it does one."""
    return getattr(_doing, "number", None)


class Ended(BaseException):
    """The worker was asked to end. No task may take it for a failure of its own."""


class RemoteTraceback(Exception):
    """The cause of an exception that comes from a worker: its traceback there."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f'\n"""\n{self.text}"""'


class Done(NamedTuple):
    """What a chunk of calls came to."""

    values: list[Any]
    """Of those that were done, in their order."""
    failure: bytes | None
    """Of the call that came after these, if it failed."""
    seconds: float
    """How long they took."""

    def pickled(self, pickled: Callable[[Any], bytes]) -> bytes:
        """Pickled, with the values before the first that cannot be."""
        try:
            return pickled(self)
        except Ended:
            raise
        except BaseException:
            return pickled(self._until_failure(pickled))

    def _until_failure(self, pickled: Callable[[Any], bytes]) -> Done:
        for n, value in enumerate(self.values):
            try:
                pickled(value)
            except Ended:
                raise
            except BaseException as error:
                return Done(self.values[:n], failure(error), self.seconds)
        return self


class Chunk:
    """Calls a function with each of a list of arguments, until one fails, or so many seconds have passed."""

    def __init__(self, function: Callable[..., Any], limit_s: float | None = None) -> None:
        self._function, self._limit_s = function, limit_s

    def __call__(self, calls: list[tuple[Any, ...]]) -> Done:
        function, clock, values = self._function, time.perf_counter, []
        began = clock()
        end = math.inf if self._limit_s is None else began + self._limit_s
        try:
            for arguments in calls:
                values.append(function(*arguments))
                if clock() >= end:
                    break
        except Ended:
            raise
        except BaseException as error:
            return Done(values, failure(error), clock() - began)
        return Done(values, None, clock() - began)


def run(payload: bytes) -> tuple[bool, bytes]:
    """Does a task without arrays apart: whether it succeeded, and the payload of its result. Raises only Ended: whatever a task
    raises fails it.
    """
    return attempt(payload, _no_arrays, dumps)


def attempt(
    payload: bytes, arrays: Callable[[Pickled], list[Any]], pickled: Callable[[Any], bytes]
) -> tuple[bool, bytes]:
    """Does a task as `run`, its arrays being looked up, and its result pickled, by these."""
    try:
        function, arguments, keywords = loads(payload, arrays)
        value = function(*arguments, **keywords)
        return True, value.pickled(pickled) if isinstance(value, Done) else pickled(value)
    except Ended:
        raise
    except BaseException as error:
        return False, failure(error)


def loads(payload: bytes, arrays: Callable[[Pickled], list[Any]]) -> Any:
    """What was pickled. Raises what unpickling raises."""
    value = pickle.loads(payload)
    return pickle.loads(value.body, buffers=arrays(value)) if isinstance(value, Pickled) else value


def _no_arrays(_pickled: Pickled) -> list[Any]:
    raise ValueError("it has arrays apart")


def failure(error: BaseException) -> bytes:
    """The payload of a failed task's result."""
    remote = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return pickle.dumps((_pickled(error), told(error), remote))


def _pickled(error: BaseException) -> bytes | None:
    try:
        pickled = dumps(error)
        pickle.loads(pickled)
    except Ended:
        raise
    except BaseException:
        return None
    return pickled


def told(error: BaseException) -> str:
    """Its class and text."""
    name = type(error).__name__
    try:
        return f"{name}: {error}"
    except Ended:
        raise
    except BaseException:
        return name


def exception_of(payload: bytes) -> BaseException:
    """The exception of a failed task's result, its cause a `RemoteTraceback`. TaskFailed if it cannot be made here."""
    pickled, text, remote = pickle.loads(payload)
    error: BaseException = TaskFailed(Code.TaskFailed, text)
    if pickled is not None:
        try:
            error = pickle.loads(pickled)
        except BaseException as unknown:
            error = TaskFailed(Code.TaskFailed, f"{text} (its exception cannot be made here: {told(unknown)})")
    error.__cause__ = RemoteTraceback(remote)
    return error


Task = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
"""What a task's payload holds."""
