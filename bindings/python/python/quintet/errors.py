"""One exception for each error code. All derive from `Error`, and from the built-in that fits."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from concurrent.futures import CancelledError
from dataclasses import dataclass

from quintet import _native

_ROWS = {row[0]: row for row in _native.codes()}


class Code(enum.IntEnum):
    """What went wrong; the same numbers in Rust, in the answers between processes and here."""

    TimedOut = 1
    Cancelled = 2
    SpaceFull = 3
    TooLarge = 4
    BadValue = 5
    LeaseLost = 6
    PeerDied = 7
    PeerSilent = 8
    Unreachable = 9
    VersionMismatch = 10
    WrongCluster = 11
    NotAllowed = 12
    DuplicateNode = 13
    Malformed = 14
    Resource = 15
    Closed = 16
    TaskFailed = 17
    BadFile = 18
    Mismatch = 19
    LimitReached = 20
    AddressInUse = 21
    NoHandler = 22
    Busy = 23
    Conflict = 24
    NoSuchSpace = 25
    SpaceExists = 26
    TooOld = 27


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a model, or strange."""

    file: str | None
    """The file, if the model came from one."""
    line: int | None
    """On which line, counted from 1, if the model came from a file."""
    key: str
    """The key, with those of the tables around it: "processor.server.cycle"."""
    text: str
    """What is wrong."""

    def __str__(self) -> str:
        file = f"{self.file}, " if self.file else ""
        line = f"line {self.line}, " if self.line else ""
        return f"{file}{line}{self.key}: {self.text}" if self.key else f"{file}{line}{self.text}"


class Error(Exception):
    """An operation's error: `code` for the program, `text` for a person.

    `retry` says whether the same request may be made again: "safe" (it had no effect), "indeterminate" (it may have had
    its effect) or "useless". `fault` says whose it is: "misuse" (the caller's), "peer", "limit" or "system".
    `exit_status` is that of a command that ends with it. `problems` are all that is wrong with a model, in the order of its
    lines; other errors have none.
    """

    def __init__(self, code: Code | int, text: str = "", problems: Iterable[Problem] = ()) -> None:
        super().__init__(code, text)
        self.code = Code(code)
        self.text = text
        self.problems = tuple(problems)

    @property
    def fault(self) -> str:
        """Whose fault it is."""
        return _ROWS[self.code][3]

    @property
    def retry(self) -> str:
        """Whether the same request may be made again."""
        return _ROWS[self.code][4]

    @property
    def exit_status(self) -> int:
        """The exit status of a command that ends with it."""
        return _ROWS[self.code][5]

    def __str__(self) -> str:
        what = _ROWS[self.code][2]
        return f"{what}: {self.text}" if self.text else what

    def __reduce__(self) -> tuple[type[Error], tuple[int, str, tuple[Problem, ...]]]:
        return type(self), (int(self.code), self.text, self.problems)


class TimedOut(Error, TimeoutError):
    """The deadline passed; the text says what nearly matched."""


class Cancelled(Error, CancelledError):
    """The request was cancelled before it was answered."""


class SpaceFull(Error):
    """The space holds as many bytes or tuples as it may."""


class TooLarge(Error, ValueError):
    """A value, tuple or message above a stated limit."""


class BadValue(Error, TypeError, ValueError):
    """A value that cannot be a field, a template that cannot match, or a model that cannot run."""


class IntegerOverflow(BadValue, OverflowError):
    """An int that does not fit into a signed integer of 64 bits."""


class LeaseLost(Error):
    """The lease was returned to the space, acknowledged or lost before."""


class PeerDied(Error, ConnectionError):
    """The process or machine on the other side ended; an unanswered request may have had its effect."""


class ViewChanged(PeerDied):
    """A member of an isonet has ended, and those who are left went on before the isochron was executed. None of them has done anything of it: begin it again."""


class NoValue(PeerDied):
    """A read of a shared variable has no value, though its isochron was executed. Which of the three kinds it is says why."""


class WriterDied(NoValue):
    """The member that had reserved the place that was read has ended without giving a value. The variable has one again once it is written."""


class Unanswered(NoValue):
    """A member ended before the one whose copy was read had answered: read again."""


class ValueLost(NoValue):
    """All members that had a copy of the variable have ended, and nobody has written it since."""


class PeerSilent(Error, ConnectionError):
    """Nothing was heard of the other side for too long."""


class Unreachable(Error, ConnectionError):
    """Nobody listens there."""


class VersionMismatch(Error, ConnectionError):
    """The other side speaks another version of the protocol."""


class WrongCluster(Error, ConnectionError):
    """The other side belongs to another cluster."""


class NotAllowed(Error, PermissionError):
    """The other side runs as another user, or its key was refused."""


class DuplicateNode(Error, ConnectionError):
    """Another live node has the same id."""


class Malformed(Error):
    """The other side broke the protocol."""


class Resource(Error, OSError):
    """The operating system refused a resource."""


class Closed(Error, ConnectionError):
    """The service is closing, or was closed by this program."""


class TaskFailed(Error, RuntimeError):
    """A task or live tuple ended with an error of its own."""


class BadFile(Error, OSError):
    """A recording or a file is damaged or of another version."""


class Mismatch(Error):
    """A replay or a check found a difference."""


class LimitReached(Error):
    """A simulated run stopped at its limit of events, before its end."""


class AddressInUse(Error, OSError):
    """Another process listens at the address that was to be listened at."""


class NoHandler(Error):
    """No process handles calls of that name, or the one that did left before it began."""


class Busy(Error):
    """As many calls wait for the handlers of the name as they allow."""


class Conflict(Error):
    """What a group had read was taken by somebody else before its end. Nothing of the group has happened; it may be done again."""


class NoSuchSpace(Error, LookupError):
    """No space of that name is there, or it was removed; what waited in it had no effect."""


class SpaceExists(Error):
    """A space of that name is there, and was made with other settings."""


class TooOld(Error):
    """Events behind the number that was asked for are kept no more; they are behind `oldest`, where that is known."""

    oldest: int | None = None


GONE = (Closed, PeerDied, PeerSilent, Unreachable)
"""What an operation of a connection raises once its space can be reached no more."""

_CLASSES: dict[int, type[Error]] = {code: globals()[code.name] for code in Code}


def from_code(number: int, text: str) -> Error:
    """The exception for a code. The native half calls it."""
    return _CLASSES[number](number, text)


def from_problems(number: int, places: Iterable[tuple[str | None, int | None, str, str]]) -> Error:
    """The exception for what is wrong with a model: file, line, key and text of each. The native half calls it."""
    problems = [Problem(*place) for place in places]
    return _CLASSES[number](number, "\n".join(map(str, problems)), problems)
