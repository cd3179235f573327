"""Live tuples: fields that are evaluated by a new thread."""

from __future__ import annotations

import threading
import traceback
from typing import Any

from quintet._native import Space
from quintet.errors import GONE

FAILED = "quintet.failed"


def start(space: Space, fields: tuple[Any, ...]) -> threading.Thread:
    """Evaluates the callables among `fields` in a new thread, in order. Types are callable too: `eval("x", dict)`.

    When all have ended, one tuple of their results and the other fields is put. If one raises, or the tuple cannot be put,
    the tuple ("quintet.failed", name of the callable, traceback) is put instead.
    """
    thread = threading.Thread(target=_evaluate, args=(space, fields), name="quintet-eval", daemon=True)
    thread.start()
    return thread


def _evaluate(space: Space, fields: tuple[Any, ...]) -> None:
    name = "out"
    try:
        values = []
        for field in fields:
            if callable(field):
                name = getattr(field, "__qualname__", type(field).__qualname__)
                field = field()
            values.append(field)
        space.out(*values)
    except GONE:
        return  # There is no space left to tell.
    except BaseException:
        _report(space, name, traceback.format_exc())


def _report(space: Space, name: str, text: str) -> None:
    try:
        space.out(FAILED, name, text)
    except GONE:
        return
