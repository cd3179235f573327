"""One isochron: put together, executed, and what its reads gave."""

from __future__ import annotations

import threading
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple, Union

from quintet.errors import BadValue, Code, NoValue, Unanswered, ValueLost, WriterDied

if TYPE_CHECKING:
    from quintet import _native
    from quintet.isonet_shape import Shape
    from quintet.variables import Variable

Data = Union[bytes, bytearray, memoryview]

_NO_VALUE: dict[str, type[NoValue]] = {kind.__name__: kind for kind in (WriterDied, Unanswered, ValueLost)}


class Place(NamedTuple):
    """Where an isochron stands in the one order, the same for all members. Places compare as the isochrons follow each other."""

    view: int
    pulse: int
    sender: int
    rank: int
    behind: int


class Read:
    """What an isochron reads."""

    def __init__(self, isochron: Part, variable: Variable, index: int) -> None:
        self._isochron, self._variable, self._index = isochron, variable, index

    @property
    def value(self) -> Any:
        """The value. Raises BadValue before the isochron is executed; WriterDied, Unanswered or ValueLost, which are NoValue, if there is none."""
        return value_of(self._variable, self._isochron._result()[self._index])

    def __repr__(self) -> str:
        return f"<quintet.Read of {self._variable!r}>"


def value_of(variable: Variable, given: bytes | tuple[str, str]) -> Any:
    """What a read has given of a variable. Raises NoValue."""
    if isinstance(given, tuple):
        kind, why = given
        raise _NO_VALUE.get(kind, NoValue)(Code.PeerDied, f"{variable!r} has no value: {why}")
    return variable.unpack(given)


def checked_member(member: int) -> int:
    """Its number. Raises BadValue for what is none."""
    if not isinstance(member, int) or not 0 <= member < 1 << 16:
        raise BadValue(Code.BadValue, f"{member!r} is no number of a member")
    return member


def message_bytes(data: Data) -> bytes:
    """A message's bytes. Raises BadValue for what is none."""
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise BadValue(Code.BadValue, f"a message is bytes, and no {type(data).__name__}")
    return bytes(data)


class Part:
    """The operations of an isochron, as all kinds of them have."""

    def __init__(self, member: Shape, native: _native.Isochron) -> None:
        self._shape, self._native = member, native
        self._pending: _native.PendingIsochron | None = None
        self._executed: tuple[Place, list[bytes | tuple[str, str]]] | None = None

    def send(self, member: int, handler: int | str, data: Data = b"") -> None:
        """Sends a message to a member's handler; to this member's as well. Raises BadValue; PeerDied: the member has ended; TooLarge; the isochron goes on without it."""
        self._native.send(checked_member(member), handler_number(handler), message_bytes(data))

    def send_all(self, handler: int | str, data: Data = b"") -> None:
        """Sends it to every member of the present view, this one as well. Where somebody has come back behind that view, nothing of the isochron is executed: ViewChanged.
        Raises BadValue, TooLarge; the isochron goes on without any of these messages."""
        self._native.send_all(handler_number(handler), message_bytes(data))

    def read(self, variable: Variable) -> Read:
        """Reads a variable, behind what the isochron does before: `.value` is there once it is executed. Raises BadValue; ValueLost: all members that had a copy have ended; TooLarge."""
        return Read(self, variable, self._read(variable))

    def _read(self, variable: Variable) -> int:
        return self._native.read(self._shape.known(variable))

    def write(self, variable: Variable, value: Any) -> None:
        """Gives a variable a value. Raises BadValue, ValueLost, TooLarge, as `read`."""
        self._native.write(self._shape.known(variable), variable.pack(value))

    def schedule(self, variable: Variable) -> None:
        """Reserves the place of a write: who reads behind it waits for the value, which `assign` gives later. Raises BadValue, ValueLost, TooLarge, as `read`."""
        self._native.schedule(self._shape.known(variable))

    def assign(self, variable: Variable, value: Any) -> None:
        """Gives the value for the place that this member has reserved. Raises BadValue, ValueLost, TooLarge, as `read`."""
        self._native.assign(self._shape.known(variable), variable.pack(value))

    def abandon(self) -> None:
        """Gives it up: nothing of it happens."""
        self._native.abandon()

    @property
    def place(self) -> Place:
        """Where it stands in the one order. Raises BadValue before it is executed."""
        self._result()
        assert self._executed is not None
        return self._executed[0]

    def _result(self) -> list[bytes | tuple[str, str]]:
        if self._executed is None:
            if self._pending is None or not self._pending.done():
                raise BadValue(Code.BadValue, "this isochron is not executed so far")
            self._take(None)
        assert self._executed is not None
        return self._executed[1]

    def _take(self, timeout: float | None) -> Place:
        assert self._pending is not None
        place, values = self._pending.result(timeout)
        self._executed = (Place(*place), values)
        return self._executed[0]


class Isochron(Part):
    """An isochron that is put together: `with isonet.isochron() as i:` executes it at the end of the block; after an exception nothing of it happens."""

    def __init__(self, member: Shape, native: _native.Isochron, timeout: float | None, open_: set[int]) -> None:
        super().__init__(member, native)
        self._timeout, self._open = timeout, open_

    def execute(self, timeout: float | None = None) -> Place:
        """Executes it: waits until all its receivers have, `timeout` seconds at most. Gives where it stands in the one order.

        Raises BadValue if it is empty, reserves a place twice or gives a value for none, or in a handler; Busy: 240 isochrons of this member wait (256 for one that gives more reserved
        places their values than it reserves), and it had no effect;
        TimedOut: it goes on; ViewChanged: nobody of those who are left has done it, begin it again; PeerSilent: this member has stopped, and it may have been executed; TaskFailed if a handler of this member has
        failed; Closed.
        """
        self._pending = self._native.begin(True)
        return self._take(timeout)

    def begin(self) -> _native.PendingIsochron:
        """Begins it, and does not wait. It has `result()`, `done()` and `notify(callback)`; what it reads is there once it is done."""
        self._pending = self._native.begin(False)
        return self._pending

    def __enter__(self) -> Isochron:
        self._open.add(threading.get_ident())
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._open.discard(threading.get_ident())
        if kind is not None:
            self.abandon()
        elif self._pending is None:
            self.execute(self._timeout)


class HandlersIsochron(Part):
    """An isochron of a handler: begun at the end of its block, and not waited for."""

    def __enter__(self) -> HandlersIsochron:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self.abandon()
        else:
            self._pending = self._native.begin(False)


def handler_number(handler: int | str) -> int:
    """The number of a handler, by which programs in Rust and C know it: that of a name is its CRC-32 with the highest bit set. Raises BadValue."""
    if isinstance(handler, str):
        return zlib.crc32(handler.encode()) | 1 << 31
    if isinstance(handler, bool) or not isinstance(handler, int) or not 0 <= handler < 1 << 32:
        raise BadValue(Code.BadValue, f"{handler!r} is no handler: name it by text, or by a number below 2**32")
    return handler
