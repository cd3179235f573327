"""Isochrons: operations on several processes that are all executed at one instant, in one order for all.

    TOTAL = quintet.Variable(0, int)

    with lab.isochrons("bank", variables=[TOTAL], handlers={"note": print}) as isonet:   # waits for the others
        with isonet.isochron() as i:                                                    # all of it at one instant
            i.send_all("note", b"seven more")
            before = i.read(TOTAL)
            i.write(TOTAL, 7)
        print(before.value)

The guide is docs/isochrons.md. `quintet.aio` has the same for asyncio.
"""

from __future__ import annotations

import atexit
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from quintet import _native
from quintet.counters import Counters, Intervals, PeerCounters
from quintet.errors import BadValue, Closed, Code, TimedOut, ViewChanged
from quintet.isochron import Data, HandlersIsochron, Isochron, Part, Place, Read, checked_member, handler_number, message_bytes, value_of
from quintet.isonet_shape import Event, Handler, LossCause, Lost, Message, PlainHandler, PlainMessage, Shape, View, Wanted
from quintet.witness import Witness, check
from quintet.variables import Variable

WITHIN_ANOTHER = "an isochron is begun within the block of another one, which would be executed behind it: end that one first, or put this into it"

MAX_EVENTS, MAX_EVENT_BYTES = 1024, 4 << 20
"""So many events are kept for who reads them, and as many bytes, unless a program says otherwise."""

_joined: weakref.WeakSet[Member] = weakref.WeakSet()


class Member:
    """A member of an isonet, as both kinds of them have it."""

    def __init__(self, wanted: Wanted, native: _native.Isonet) -> None:
        self.native = native
        self._name, self._shape, self._isochrons = wanted.name, wanted.shape, native.isochrons
        self._reads_events = wanted.max_events > 0
        _joined.add(self)

    @property
    def member(self) -> int:
        """Which member this process is, from 0."""
        return self.native.member

    @property
    def members(self) -> int:
        """How many members there were in the beginning."""
        return self.native.members

    @property
    def view(self) -> View:
        """The present view: which members are left, who was lost with it and for what, and who has come back. Raises Closed."""
        return View.told(*self.native.view)

    @property
    def closed(self) -> bool:
        """Whether it has ended."""
        return self.native.closed

    def leave(self) -> None:
        """Ends at once: the others are told that this member is gone. A second call does nothing."""
        self.native.leave()

    def _check_events(self) -> None:
        if not self._reads_events:
            raise BadValue(Code.BadValue, "this isonet was joined with max_events=0: it keeps no events")

    def _reserve(self, variables: tuple[Variable, ...]) -> _native.Reserving:
        """Reads variables and reserves their next places at one instant, once it is their turn: a member has one reserved place of a variable at a time."""
        return self._isochrons.reserve([self._shape.known(variable) for variable in variables])

    def _computed(self, reserving: _native.Reserving, function: Callable[..., Any], variables: tuple[Variable, ...]) -> Any:
        """What a function returns for what reserved variables have, and the giving of it. Raises NoValue."""
        values = function(*map(value_of, variables, reserving.result(0)))
        given = (values,) if len(variables) == 1 else tuple(values)
        if len(given) != len(variables):
            raise BadValue(Code.BadValue, f"an update of {len(variables)} variables gives as many values, not {len(given)}")
        return values, reserving.assign([variable.pack(value) for variable, value in zip(variables, given)])

    def _begin_plain(self, member: int, handler: int | str, data: Data) -> _native.PendingPlain:
        return self._isochrons.begin_plain(checked_member(member), handler_number(handler), message_bytes(data))

    def take_witness(self) -> Witness:
        """What this member has done since this was asked last: nothing unless it was joined with `keep_witness`; all there is once it is closed. For `quintet.isochrons.check`."""
        return Witness(self.native.take_witness())

    def __repr__(self) -> str:
        state = ", closed" if self.closed else ""
        return f"<{type(self).__module__}.Isonet {self._name!r}: member {self.member} of {self.members}{state}>"


class Isonet(Member):
    """A member of an isonet. Made by `lab.isochrons`; a context manager that closes, or leaves after an exception. Any threads may use it at once."""

    def __init__(self, wanted: Wanted, native: _native.Isonet) -> None:
        super().__init__(wanted, native)
        self._open: set[int] = set()

    def isochron(self, timeout: float | None = None) -> Isochron:
        """Begins to put an isochron together: `with isonet.isochron() as i:` executes it at the end, waiting `timeout` seconds at most.

        Raises ViewChanged: a member has ended, and those who are left went on before it was executed, which nobody of them has done: do it again. PeerSilent: so few members
        are left that they have stopped, or the others went on without this member; TaskFailed, NoHandler: this member has left; Closed. BadValue: this thread is in
        the block of another isochron, which would be executed behind this one.
        """
        if threading.get_ident() in self._open:
            raise BadValue(Code.BadValue, WITHIN_ANOTHER)
        return Isochron(self._shape, self._isochrons.isochron(), timeout, self._open)

    def send(self, member: int, handler: int | str, data: Data = b"") -> None:
        """An isochron of one message, executed in whatever view does it, as are those of the methods that follow."""
        self._in_any_view(lambda isochron: isochron.send(member, handler, data))

    def read(self, *variables: Variable) -> Any:
        """The value of a variable; of several, a tuple of their values at one instant."""
        reads = self._in_any_view(lambda isochron: [isochron.read(variable) for variable in variables])
        return reads[0].value if len(reads) == 1 else tuple(read.value for read in reads)

    def write(self, variable: Variable, value: Any) -> None:
        """An isochron of one write."""
        self._in_any_view(lambda isochron: isochron.write(variable, value))

    def _in_any_view(self, operate: Callable[[Isochron], Any]) -> Any:
        """An isochron of what `operate` adds to it, begun again where a view began before it was executed."""
        while True:
            try:
                with self.isochron() as isochron:
                    result = operate(isochron)
                return result
            except ViewChanged:
                continue

    def update(self, function: Callable[..., Any], *variables: Variable) -> Any:
        """Gives variables the values that the function returns for what they have, a tuple for several; nobody sees or changes them in between: who reads them
        waits for it. Returns the new values. If the function raises, or the wait is interrupted, they keep what they have.

            isonet.update(lambda a, b: (a - 5, b + 5), FROM, TO)

        Two such updates never wait for each other in a circle: all places of one are reserved at one instant. Raises as `Isochron.execute`.
        """
        reserving = self._reserve(variables)
        try:
            reserving.result()
            values, assigning = self._computed(reserving, function, variables)
        finally:
            reserving.give_back()  # unless it has its values
        assigning.result()
        return values

    def send_plain(self, member: int, handler: int | str, data: Data = b"", timeout: float | None = None) -> None:
        """Sends a plain message to a member's plain handler, this one's as well, and waits until it has arrived, `timeout` seconds at most. It has no place in the order, and
        waits for nothing that has one; what one member sends another so comes in the order in which it was sent.

        Raises BadValue for no such member, and in a handler, which sends with `message.send_plain`; TooLarge: it has more than 64 KiB; Busy: 256 plain messages of this member
        have not arrived, and it was not sent; PeerDied: that member has ended, and it may have arrived; TimedOut: it goes on; PeerSilent and its kin as `isochron`.
        """
        if self._isochrons.is_handling():
            raise BadValue(Code.BadValue, "a handler runs on the thread that executes isochrons, which would wait for itself: send with `message.send_plain`, which does not wait")
        self._begin_plain(member, handler, data).result(timeout)

    def compare_and_swap(self, variable: Variable, expected: Any, value: Any) -> bool:
        """Gives a variable a value if it has the expected one, and says whether it had."""
        return _swap(self.update, variable, expected, value)

    def events(self, timeout: float | None = None) -> Iterator[Event]:
        """What isochrons change here since this member has joined, in the one order: messages to its handlers, and values of variables with a copy here. It ends with
        the isonet. Events are kept until they are read, by one reader: nobody waits for it, and what finds no room (`max_events`, `max_event_bytes`) is lost.

        Raises LimitReached where some were lost, and then goes on behind them if asked again; TimedOut if there is none within `timeout` seconds; PeerSilent or its
        kin behind the last if this member has stopped.
        """
        self._check_events()
        return _Events(self.native, self._shape, timeout)

    def counters(self) -> Counters:
        """What this member has counted since it has joined; once it is closed, until then. Raises TimedOut: a handler of this member has been running for a second; BadValue: this is a
        handler; Closed: it was not closed and has left.
        """
        return self.native.counters()

    def peers(self) -> list[PeerCounters]:
        """How each other member of the view keeps up: whom this member waits for comes first, of several the one of which nothing was heard for longest. Empty once it has ended. Raises as
        `counters`.
        """
        return self.native.peers()

    def close(self) -> None:
        """Waits until all isochrons of this member are executed and all members close, and ends.

        Raises TaskFailed, NoHandler: a handler of this member failed, or is missing; PeerSilent: this member has stopped.
        """
        self.native.close()

    def __enter__(self) -> Isonet:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self.leave()
        else:
            self.close()


class _Events:
    """An iterator that goes on after an error."""

    def __init__(self, native: _native.Isonet, shape: Shape, timeout: float | None) -> None:
        self._native, self._shape, self._timeout = native, shape, timeout

    def __iter__(self) -> _Events:
        return self

    def __next__(self) -> Event:
        try:
            event = self._native.event(self._timeout)
        except Closed:
            raise StopIteration from None
        if event is None:
            raise TimedOut(Code.TimedOut, f"no event within {self._timeout} s")
        return self._shape.event(event)


class Isochrons:
    """How a process joins an isonet: `with lab.isochrons as isonet:`, or with what it shares, `with lab.isochrons("bank", variables=[...], handlers={...}) as isonet:`."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._isonet: Isonet | None = None

    def __call__(
        self,
        name: str = "isochrons",
        *,
        variables: Iterable[Variable] = (),
        handlers: Mapping[int | str, Handler] | Iterable[int | str] = (),
        member: tuple[int, int] | None = None,
        agreed: bool = False,
        listen_at: Any = None,
        limit: float | None = None,
        silence: float | None = None,
        max_events: int = MAX_EVENTS,
        max_event_bytes: int = MAX_EVENT_BYTES,
        rejoinable: bool = False,
        rejoin: bool = False,
        state: tuple[Callable[[], bytes], Callable[[bytes], object]] | None = None,
        plain_handlers: Mapping[int | str, PlainHandler] | None = None,
        on_view: Callable[[View], object] | None = None,
        keep_witness: bool = False,
        check_invariants: bool = False,
    ) -> Isochrons:
        """What this process says of an isonet.

        `variables`: all members say the same. `handlers`: functions by name or number, that take a `Message`, in the one order, on the thread that executes isochrons;
        None, or a list of names: their messages are read from `events()` alone. `member=(0, 3)`: which member this is, of how many; else as the job's worker.
        `agreed`: isochrons get their place before all receivers have their parts (`Delivery::Agreed`). `listen_at`: where the others reach this member, for several
        machines. `limit`: so many seconds it waits for the others, 30 without it. `silence`: one of which nothing is heard for so many seconds, 1 without it, is lost to
        the others; a handler that computes for so long is not heard. `max_events`, `max_event_bytes`: so many are kept for `events()`.
        `rejoinable`: members that have ended may come back; all members say so. `rejoin`: this process comes back, as the member in place of one that has ended. `state`: a function
        that gives the program's state as bytes, 16 MiB at most, and one that takes it in place of what the program has, as one that comes back does before its handlers have
        anything; both run on the thread that executes isochrons. `plain_handlers`: functions by name or number, that take a `PlainMessage`, on the same thread, as they come.
        `on_view`: is called with each `View` that begins after the first, on the same thread, before anything of it is executed; what it raises goes to `sys.unraisablehook`.
        `keep_witness`: keeps all that this member does for `take_witness`: for short runs. `check_invariants`: looks, whenever something has come, whether what is always so of this
        member is so; a defect of the library ends it then, with Mismatch.
        """
        shape = Shape(variables, handlers, plain_handlers or {})
        return type(self)(
            Wanted(
                self._wanted.lab, shape, name, member, agreed, listen_at, limit, silence, max_events, max_event_bytes, rejoinable, rejoin, state,
                on_view, keep_witness, check_invariants,
            )
        )  # fmt: skip

    def join(self) -> Isonet:
        """Joins: waits until all members are there and linked to each other; with `rejoin`, until this one is in a view again.

        Raises BadValue: there is no such member or copy, or the members do not say the same; TimedOut names who did not come; PeerDied: a member has ended
        meanwhile; NoHandler: nobody is there who lets it come back; AddressInUse and its kin.
        """
        return Isonet(self._wanted, self._wanted.join())

    def __enter__(self) -> Isonet:
        self._isonet = self.join()
        return self._isonet

    def __exit__(self, kind: object, *rest: object) -> None:
        isonet, self._isonet = self._isonet, None
        if isonet is not None:
            isonet.__exit__(kind, *rest)


def of_lab(lab: _native.Lab) -> Isochrons:
    """What `Lab.isochrons` is."""
    return Isochrons(Wanted(lab, Shape((), (), {}), "isochrons"))


def swapped(variable: Variable, expected: Any, value: Any) -> tuple[list[bool], Callable[[Any], Any]]:
    """What an update has to do to compare and swap, and whether it has."""
    packed, had = variable.pack(expected), [False]

    def swap(found: Any) -> Any:
        had[0] = variable.pack(found) == packed
        return value if had[0] else found

    return had, swap


def _swap(update: Callable[..., Any], variable: Variable, expected: Any, value: Any) -> bool:
    had, swap = swapped(variable, expected, value)
    update(swap, variable)
    return had[0]


def _leave_all() -> None:
    """Handlers need the interpreter: before it ends, those who have not closed leave."""
    for isonet in list(_joined):
        isonet.leave()


atexit.register(_leave_all)

__all__ = [
    "Counters", "Event", "HandlersIsochron", "Intervals", "Isochron", "Isochrons", "Isonet", "LossCause", "Lost", "Message", "PeerCounters", "Place", "PlainMessage", "Read", "Variable", "View", "Witness", "check", "handler_number",
]  # fmt: skip
