"""What members have done, and whether it is one order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from quintet import _native
from quintet.isochron import Place


class Executed(NamedTuple):
    """What a member has executed: a part of an isochron."""

    place: Place
    sender: int
    rank: int
    """Which of its sender's it is."""


class Witness:
    """What one member has done, in its order. Made by `isonet.take_witness`. It may be pickled, or told elsewhere as bytes, and checked there."""

    def __init__(self, native: _native.Witness) -> None:
        self._native = native

    @property
    def member(self) -> int:
        """Which member it is of."""
        return self._native.member

    def to_bytes(self) -> bytes:
        """The same as bytes, for `from_bytes` of the same version."""
        return self._native.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Witness:
        """What `to_bytes` has given. Raises BadValue for what is none."""
        return cls(_native.Witness.from_bytes(data))

    def __reduce__(self) -> tuple[Any, ...]:
        return Witness.from_bytes, (self.to_bytes(),)

    @property
    def executed(self) -> list[Executed]:
        """The isochrons that it has executed a part of."""
        return [Executed(Place(*place), sender, rank) for place, sender, rank in self._native.executed()]

    def __repr__(self) -> str:
        return f"<quintet.isochrons.Witness of member {self.member}>"


def check(witnesses: Iterable[Witness], *, gone: Iterable[int] = (), complete: bool = True) -> None:
    """Does everything that members of one isonet have done again, in the one order: each isochron at one place for all and with all its parts, those of a sender in the order in
    which it began them and behind what it had executed then, and each read what was written last. `gone`: members that ended before the others, whose witness may lack what
    came last, or be missing. `complete`: the others have closed, so that all that they began is executed.

    Raises Mismatch, which says what is not so; BadValue for no witness, or two of one member.
    """
    _native.check_order([witness._native for witness in witnesses], list(gone), complete)
