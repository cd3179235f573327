"""What a member says of its isonet before it joins, what its handlers are given, and what its events are."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Optional

from quintet import _native
from quintet.errors import BadValue, Code
from quintet.isochron import HandlersIsochron, Place, handler_number
from quintet.variables import Variable

Handler = Optional[Callable[["Message"], object]]


@dataclass(frozen=True)
class Message:
    """What a handler is given."""

    sender: int
    """The member that has sent it."""
    handler: int | str
    """For which handler."""
    data: bytes
    """What was sent."""
    place: Place
    """Where it stands in the one order."""
    _shape: Shape
    _isochrons: _native.Isochrons

    def isochron(self) -> HandlersIsochron:
        """`with message.isochron() as i:` begins an isochron at the end of its block, and does not wait for it, as no handler may. Raises as `Isonet.isochron`."""
        return HandlersIsochron(self._shape, self._isochrons.isochron())


@dataclass(frozen=True)
class Event:
    """Something that an isochron has changed here: a message to a handler, or the value of a variable with a copy here."""

    place: Place
    """Where it stands in the one order."""
    sender: int
    """The member whose isochron it was in."""
    handler: int | str | None
    """For which handler the message is; None: it is no message."""
    variable: Variable | None
    """Which variable has a new value; None: it is a message."""
    value: Any
    """The message's bytes, or the new value."""


class Shape:
    """What a member shares with the others, and its handlers."""

    def __init__(self, variables: Iterable[Variable], handlers: Mapping[int | str, Handler] | Iterable[int | str]) -> None:
        self.members = 0
        self.variables = list(variables)
        self.by_number = {variable.number: variable for variable in self.variables}
        functions = handlers if isinstance(handlers, Mapping) else dict.fromkeys(handlers)
        self.handlers: dict[int, int | str] = {}
        self.functions: list[tuple[int, str, Any]] = []
        for name, function in functions.items():
            self._add(name, function)

    def _add(self, name: int | str, function: Handler) -> None:
        number = handler_number(name)
        if number in self.handlers:
            text = f"handlers {self.handlers[number]!r} and {name!r} have one number, {number}: rename one"
            raise BadValue(Code.BadValue, text)
        if inspect.iscoroutinefunction(function):
            text = f"handler {name!r} is a coroutine function: a handler is a plain one, or None, and then its messages are read from events()"
            raise BadValue(Code.BadValue, text)
        if function is not None and not callable(function):
            raise BadValue(Code.BadValue, f"handler {name!r} cannot be called")
        self.handlers[number] = name
        self.functions.append((number, repr(name), None if function is None else self._calling(name, function)))

    def _calling(self, name: int | str, function: Callable[[Message], object]) -> Callable[..., None]:
        def call(sender: int, place: tuple[int, ...], data: bytes, isochrons: _native.Isochrons) -> None:
            function(Message(sender, name, data, Place(*place), self, isochrons))

        return call

    def known(self, variable: Variable) -> int:
        """Its number. Raises BadValue if this isonet has it not."""
        if not isinstance(variable, Variable) or self.by_number.get(variable.number) != variable:
            text = f"{variable!r} is no variable of this isonet: say it where you join"
            raise BadValue(Code.BadValue, text)
        return variable.number

    def event(self, event: tuple[Any, ...]) -> Event:
        """An event from what the native half tells of it."""
        place, sender, is_message, number, data = event
        if is_message:
            return Event(Place(*place), sender, self.handlers.get(number, number), None, data)
        variable = self.by_number[number]
        return Event(Place(*place), sender, None, variable, variable.unpack(data))


@dataclass
class Wanted:
    """What is said of an isonet before it is joined."""

    lab: _native.Lab
    shape: Shape
    name: str
    member: tuple[int, int] | None
    agreed: bool
    listen_at: Any
    limit: float | None
    silence: float | None
    max_events: int
    max_event_bytes: int
    rejoinable: bool
    rejoin: bool
    state: tuple[Callable[[], bytes], Callable[[bytes], object]] | None

    def __post_init__(self) -> None:
        if self.state is not None and not (len(self.state) == 2 and all(map(callable, self.state))):
            raise BadValue(Code.BadValue, "state is two functions: one gives the program's state as bytes, and one takes it")
        if self.max_events < 0 or self.max_event_bytes < 0:
            raise BadValue(Code.BadValue, "max_events and max_event_bytes are 0 or more")

    @property
    def variables(self) -> list[tuple[int, int, list[int] | None]]:
        """Their numbers, sizes and copies."""
        return [(variable.number, variable.size, variable.copies) for variable in self.shape.variables]

    @property
    def handlers(self) -> list[tuple[int, str, Any]]:
        """Their numbers, names and functions."""
        return self.shape.functions

    def join(self) -> _native.Isonet:
        """Joins: waits for the others."""
        native = self.lab._join_isonet(self)
        self.shape.members = native.members
        return native
