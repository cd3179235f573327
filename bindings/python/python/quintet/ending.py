"""How a worker process is asked to end.

SIGTERM and SIGINT raise `Ended` where the worker waits or computes, and nowhere else: an exception between an effect and the
`try` that undoes it would leave the effect behind, the worker's announcement for one. A signal that comes elsewhere ends the
worker at its next wait.
"""

from __future__ import annotations

import signal
from types import FrameType
from typing import Any, Callable

from quintet.tasks import Ended


class Ending:
    """Whether the worker was asked to end, and where that may interrupt it."""

    def __init__(self) -> None:
        self._asked = False
        self._may_raise = False

    def listen(self) -> None:
        """Listens to the signals from now on. For the main thread."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._ask)

    def within(self, function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        """Calls a function that may be interrupted, and whose effect undoes itself when what it returns is dropped. Raises Ended
        if the worker is asked to end meanwhile, or was before.
        """
        self._may_raise = True
        try:
            if self._asked:
                raise Ended
            return function(*arguments, **keywords)
        finally:
            self._may_raise = False

    def _ask(self, _number: int, _frame: FrameType | None) -> None:
        self._asked = True
        if self._may_raise:
            # Once: what is undone because of it is not interrupted.
            self._may_raise = False
            raise Ended
