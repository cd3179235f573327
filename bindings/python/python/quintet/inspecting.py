"""Who waits in a space, who is connected to it, how its tuples are used, and what its replicas do. `quintet scope` shows the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from quintet.errors import Error


@dataclass(frozen=True)
class WaitingRequest:
    """A request that waits in a space."""

    client: str
    """Who waits, by its address."""
    age: int
    """Its place in the order of requests and tuples."""
    operation: str
    """"read", "take", "lease", "count", "out" or "acknowledge"."""
    awaited: str
    """What it waits for: "tuple", one that matches; "room" in the space; "link", room in the link to its client; "turn", as it has more to search than one turn may."""
    waited: float
    """For how long it has waited, in seconds; 0 of one that waits for room without end."""
    ends_in: float | None
    """For how many seconds more it will; None: without end."""
    puts: int
    """Tuples that it is to put."""
    hidden: int
    """Tuples with the types of its template that nobody can take now, under a lease or on their way: some of them may return."""
    template: tuple[Any, ...] | None
    """What it asks for: values, a `quintet.listing.Beginning` of long ones, and a `quintet.listing.Formal` where any value will do; None where it puts."""


@dataclass(frozen=True)
class Client:
    """A client that is connected to a space."""

    client: str
    """Its address."""
    reach: str
    """How far the link to it reaches: "process", "machine" or "network"."""
    identity: bytes | None
    """Who it has proved to be, 32 bytes; None: its link asks for no proof."""
    connected: float
    """For how long it has been connected, in seconds."""
    waiting: int
    """Requests of it that wait."""
    leases: int
    """Leases that it holds."""
    acknowledged: int
    """Leases that it has acknowledged so far."""
    given_up: int
    """Leases of it that ended otherwise."""
    held: float
    """How long it held those that it has acknowledged, one after the other, in seconds."""


@dataclass(frozen=True)
class Partition:
    """How the tuples of one signature with the same text in front are used."""

    signature: str
    """The types of their fields, as "(str, int)"."""
    name: str | None
    """The first field; None: all that no other partition of the signature has."""
    tuples: int
    """Tuples that it holds, those under a lease and in delivery included."""
    bytes: int
    """Bytes that they count for in the quota."""
    put: int
    """Tuples that were put."""
    taken: int
    """Deliveries to takes, those under a lease included; a tuple that comes back is delivered again."""
    read: int
    """Deliveries to reads."""
    asked: int
    """Takes and reads that named it, whether or not there was a tuple."""
    filled: float | None
    """For how many seconds it has held a tuple; None: it holds none."""
    since_put: float | None
    """How many seconds ago a tuple was put; None: never."""
    since_delivery: float | None
    """How many seconds ago one was delivered, to a take or a read; None: never."""
    since_asked: float | None
    """How many seconds ago it was asked for; None: never."""
    shapes: tuple[tuple[tuple[int, ...], int], ...]
    """For which fields, counted from 0, templates have had values, those that came first; and how often."""
    other_shapes: int
    """How often templates had values for other fields than in `shapes`."""


@dataclass(frozen=True)
class HotKey:
    """Values that takes and reads ask for often. Counts are of one question in sixteen, halved now and then."""

    fields: tuple[Any, ...]
    """The template that asked first: values, and a `quintet.listing.Formal` where any value will do."""
    asked: int
    """How often it was asked for, at most."""
    error: int
    """So many of these may have been for others."""


@dataclass(frozen=True)
class Replica:
    """One of the servers of a replicated space."""

    number: int
    """Which one, from 1."""
    address: str
    """Where it is."""
    role: str | None
    """"leads"; "follows"; "knows no leader"; "has no log", so that it has no vote until it is sent the space. None: it cannot be asked."""
    leader: int | None
    """Which replica leads, as far as it knows."""
    error: Error | None
    """Why it cannot be asked, if it cannot."""
