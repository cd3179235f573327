"""A live tuple on its way to a worker, and what that makes of it.

It travels as the function of a task (`tasks`) whose pool is one of evaluations. The worker puts the tuple, or ("quintet.failed", name, traceback), at the
instant at which it acknowledges the task, and beside it the task's result, which has no value: it tells whoever asked for the evaluation that it is over.
"""

from __future__ import annotations

import pickle
import traceback
from dataclasses import dataclass
from typing import Any

from quintet import tasks
from quintet.evaluation import FAILED, Fields

POOL = "evals-"
"""How the names of pools of evaluations begin."""


@dataclass
class Evaluated:
    """What a live tuple came to."""

    name: str
    """Of the callable that was evaluated last."""
    fields: tuple[Any, ...]
    """The tuple that is to be put."""
    failure: bytes | None = None
    """The payload of its task's result, if it failed."""

    def fail(self, error: BaseException) -> None:
        """It comes to this error instead."""
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        self.fields, self.failure = (FAILED, self.name, text), tasks.failure(error)


class Live:
    """A live tuple. Also a worker that cannot unpickle its fields, having no such module, knows what has failed."""

    def __init__(self, fields: tuple[Any, ...]) -> None:
        """Raises what pickling raises."""
        self.name = Fields(fields).name
        self._pickled = tasks.dumps(fields)

    def __call__(self) -> Evaluated:
        """Evaluates it. Raises Ended: whatever else its callables raise is their failure."""
        evaluated = Evaluated(self.name, ())
        try:
            live = Fields(pickle.loads(self._pickled))
            try:
                evaluated.fields = live.values()
            finally:
                evaluated.name = live.name
        except tasks.Ended:
            raise
        except BaseException as error:
            evaluated.fail(error)
        return evaluated
