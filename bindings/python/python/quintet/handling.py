"""How a handler's thread goes on from call to call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Union

from quintet._native import Call, Handler
from quintet.errors import BadValue, Cancelled, Closed, TooLarge

Function = Callable[[Call], Union[bytes, bytearray, memoryview, None]]


def serve(handler: Handler, function: Function) -> None:
    """Handles calls until the handler leaves or its lab is closed: see `Handler.serve`."""
    while True:
        try:
            call = handler.next()
        except (Cancelled, Closed):
            if handler.has_left:
                return
            raise
        handle(call, function)
        # Else the last call, and what came with it, would live until the next one comes.
        del call


def handle(call: Call, function: Function) -> None:
    """Handles one call: its caller is told what went wrong. What is no Exception is raised again."""
    try:
        reply = function(call)
    except Exception as error:
        if not call.has_ended:
            call.fail(text_of(error))
        return
    except BaseException as error:
        if not call.has_ended:
            call.fail(f"the handler ended: {type(error).__name__}")
        raise
    finish(call, reply)


def finish(call: Call, reply: bytes | bytearray | memoryview | None) -> None:
    """Replies, unless the function has."""
    if call.has_ended:
        return
    try:
        call.reply(reply)
    except TooLarge:
        return  # Its caller was told.
    except BadValue as error:
        if not call.has_ended:
            call.fail(str(error))


def text_of(error: BaseException) -> str:
    """An exception in one line."""
    return f"{type(error).__name__}: {error}"
