"""What a member says of its isonet before it joins, what its handlers are given, and what its events are."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Optional

from quintet import _native
from quintet.errors import BadValue, Code
from quintet.isochron import Data, HandlersIsochron, Place, checked_member, handler_number, message_bytes
from quintet.variables import Variable

Handler = Optional[Callable[["Message"], object]]
PlainHandler = Callable[["PlainMessage"], object]


LossCause = Literal["missed elsewhere", "gone", "misbehaved"]
"""For what a member was lost: others miss it, and this one did not; it has ended, or cannot be reached from here; it broke the protocol, and was cut off here."""


class Lost(NamedTuple):
    """A member that was lost to its isonet, and for what, as far as it is known here."""

    member: int
    cause: LossCause


class View(NamedTuple):
    """A view of an isonet. The first is 1; some numbers are left out."""

    number: int
    members: tuple[int, ...]
    lost: tuple[Lost, ...] = ()
    """Members of the view before that are not in it, or not as the process that they were then, ascending."""
    back: tuple[int, ...] = ()
    """Those of its members that have come back with it, ascending."""

    @classmethod
    def told(cls, number: int, members: list[int], lost: list[tuple[int, LossCause]], back: list[int]) -> View:
        """A view from what the native half tells of it."""
        return cls(number, tuple(members), tuple(Lost(*one) for one in lost), tuple(back))


class _Sending:
    """What any handler may do, and not wait for."""

    _shape: Shape
    _isochrons: _native.Isochrons

    def isochron(self) -> HandlersIsochron:
        """`with message.isochron() as i:` begins an isochron at the end of its block, and does not wait for it, as no handler may. Raises as `Isonet.isochron`."""
        return HandlersIsochron(self._shape, self._isochrons.isochron())

    def send_plain(self, member: int, handler: int | str, data: Data = b"") -> None:
        """Sends a plain message, and does not wait. Raises as `Isonet.send_plain`, but for what is known only once it has arrived."""
        self._isochrons.begin_plain(checked_member(member), handler_number(handler), message_bytes(data))


@dataclass(frozen=True)
class Message(_Sending):
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


@dataclass(frozen=True)
class PlainMessage(_Sending):
    """What a plain handler is given: it has no place in the order."""

    sender: int
    """The member that has sent it."""
    handler: int | str
    """For which plain handler."""
    data: bytes
    """What was sent."""
    _shape: Shape
    _isochrons: _native.Isochrons


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

    def __init__(
        self,
        variables: Iterable[Variable],
        handlers: Mapping[int | str, Handler] | Iterable[int | str],
        plain_handlers: Mapping[int | str, PlainHandler],
    ) -> None:
        self.members = 0
        self.variables = list(variables)
        self.by_number = {variable.number: variable for variable in self.variables}
        functions = handlers if isinstance(handlers, Mapping) else dict.fromkeys(handlers)
        self.handlers = _by_number(functions)
        self.functions = [(number, repr(name), self._calling(name, functions[name])) for number, name in self.handlers.items()]
        self.plain_functions = [
            (number, repr(name), self._calling_plain(name, plain_handlers[name])) for number, name in _by_number(plain_handlers).items()
        ]

    def _calling(self, name: int | str, function: Handler) -> Callable[..., None] | None:
        if function is None:
            return None
        _check_handler(name, function)

        def call(sender: int, place: tuple[int, ...], data: bytes, isochrons: _native.Isochrons) -> None:
            function(Message(sender, name, data, Place(*place), self, isochrons))

        return call

    def _calling_plain(self, name: int | str, function: PlainHandler) -> Callable[..., None]:
        _check_handler(name, function)

        def call(sender: int, data: bytes, isochrons: _native.Isochrons) -> None:
            function(PlainMessage(sender, name, data, self, isochrons))

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


def _by_number(names: Iterable[int | str]) -> dict[int, int | str]:
    """Handlers by their numbers. Raises BadValue for two of one number."""
    by_number: dict[int, int | str] = {}
    for name in names:
        number = handler_number(name)
        if number in by_number:
            text = f"handlers {by_number[number]!r} and {name!r} have one number, {number}: rename one"
            raise BadValue(Code.BadValue, text)
        by_number[number] = name
    return by_number


def _check_handler(name: int | str, function: object) -> None:
    if inspect.iscoroutinefunction(function):
        text = f"handler {name!r} is a coroutine function: a handler is a plain one; one for messages of isochrons may be None, and then they are read from events()"
        raise BadValue(Code.BadValue, text)
    if not callable(function):
        raise BadValue(Code.BadValue, f"handler {name!r} cannot be called")


@dataclass
class Wanted:
    """What is said of an isonet before it is joined."""

    lab: _native.Lab
    shape: Shape
    name: str
    member: tuple[int, int] | None = None
    agreed: bool = False
    listen_at: Any = None
    limit: float | None = None
    silence: float | None = None
    max_events: int = 1024
    max_event_bytes: int = 4 << 20
    rejoinable: bool = False
    rejoin: bool = False
    state: tuple[Callable[[], bytes], Callable[[bytes], object]] | None = None
    told_of_views: Callable[[View], object] | None = None
    keep_witness: bool = False
    check_invariants: bool = False

    def __post_init__(self) -> None:
        if self.state is not None and not (len(self.state) == 2 and all(map(callable, self.state))):
            raise BadValue(Code.BadValue, "state is two functions: one gives the program's state as bytes, and one takes it")
        if self.max_events < 0 or self.max_event_bytes < 0:
            raise BadValue(Code.BadValue, "max_events and max_event_bytes are 0 or more")
        if self.told_of_views is not None:
            _check_handler("on_view", self.told_of_views)

    @property
    def variables(self) -> list[tuple[int, int, list[int] | None]]:
        """Their numbers, sizes and copies."""
        return [(variable.number, variable.size, variable.copies) for variable in self.shape.variables]

    @property
    def handlers(self) -> list[tuple[int, str, Any]]:
        """Their numbers, names and functions."""
        return self.shape.functions

    @property
    def plain_handlers(self) -> list[tuple[int, str, Any]]:
        """The same of plain ones."""
        return self.shape.plain_functions

    @property
    def on_view(self) -> Callable[..., None] | None:
        """What is called with the parts of each view that begins, as `View.told` takes them."""
        told = self.told_of_views
        if told is None:
            return None

        def tell(*parts: Any) -> None:
            told(View.told(*parts))

        return tell

    def join(self) -> _native.Isonet:
        """Joins: waits for the others."""
        native = self.lab._join_isonet(self)
        self.shape.members = native.members
        return native
