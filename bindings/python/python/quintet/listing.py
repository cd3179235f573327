"""What lies in a space, without taking it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quintet._native import Cursor, Space


@dataclass(frozen=True)
class Beginning:
    """A field that is too long to be shown whole."""

    type: str
    """Its type, as a template says it: "str", "bytes", "float64[1000]"."""
    size: int
    """Bytes that it has in all."""
    beginning: str | bytes
    """The first of them, 256 at most."""


@dataclass(frozen=True)
class Formal:
    """A field of a template for which any value of a type will do."""

    type: str
    """The type, as a template says it: "int", "float64[?]" of one dimension."""


@dataclass(frozen=True)
class ListedLease:
    """The lease under which a tuple is."""

    holder: str
    """The client that has it, by its address."""
    held: float
    """For how long, in seconds."""
    ends_in: float | None
    """In how many seconds it ends unless it is renewed; None: that is not known, or with its holder's session only."""


@dataclass(frozen=True)
class ListedTuple:
    """A tuple as a listing shows it."""

    fields: tuple[Any, ...]
    """Its fields; of long text, bytes and arrays a `Beginning`."""
    age: int
    """Its place in the order in which tuples were put: an older one has a lower number."""
    bytes: int
    """Bytes that it counts for in the space's limit."""
    failed: int
    """Leases of it that ended without an acknowledgement."""
    lease: ListedLease | None
    """Who has it, if somebody has."""
    expires_in: float | None
    """In how many seconds it leaves by itself; None: it does not. One that somebody has and whose time has come says 0."""


@dataclass(frozen=True)
class Page:
    """A part of a listing, as the space was at one instant."""

    rows: tuple[Any, ...]
    """Each a `ListedTuple`, or what the page's subject is: see `quintet.inspecting`."""
    next: Cursor | None
    """Where the next page begins; None: this was the last."""


def rows(space: Space, template: tuple[Any, ...], subject: str) -> Iterator[Any]:
    """The rows of a listing, whose pages are fetched as they are asked for. The native half calls it."""
    page = space.begin().page(*template, subject=subject).result()
    yield from page.rows
    while page.next is not None:
        page = space.begin().page(*template, after=page.next, subject=subject).result()
        yield from page.rows


def usage(space: Space, subject: str) -> Iterator[Any]:
    """Who uses the space and how, once the first row is asked for. The native half calls it."""
    yield from space._usage(subject)
