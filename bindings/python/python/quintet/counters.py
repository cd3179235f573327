"""What a member of an isonet has counted, and how others keep up."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Intervals:
    """Lengths of time, and how many there were of each class. All are 0 where there were none."""

    count: int
    """How many there were."""
    shortest: float
    """In seconds, as those that follow."""
    median: float
    """So long were half of them at most; an eighth too long, or less, as the longest of a class stands for all of it."""
    p99: float
    """So long were 99 of 100 at most, likewise."""
    longest: float
    classes: tuple[tuple[float, float, int], ...]
    """Those between two bounds, and how many there were: each class is longer than the one before it, and none is empty."""


@dataclass(frozen=True)
class Counters:
    """What a member of an isonet has counted since it has joined. Made by `isonet.counters()`."""

    begun: int
    """Isochrons that its program has begun, and that were taken."""
    executed: int
    """Of these, those that all their receivers have executed."""
    lost: int
    """Of these, those that were not executed as far as it is known here, as a view or this member has ended."""
    local: int
    """Of these, those of this member alone: no other one heard of them."""
    operations: int
    """Operations of those that were begun."""
    refused: int
    """Isochrons of its program that were not taken: with what cannot be, or one too many."""
    parts: int
    """Parts of isochrons, its own as well, that this member has executed."""
    parts_at_once: int
    """Parts of others whose pulse was over when they came: they waited for nothing but what is before them."""
    parts_waited: int
    """Parts of others that waited for the end of their pulse."""
    fenced: int
    """Frames of another view that were not taken."""
    stamped: int
    """Isochrons that got their place here: of the member that keeps the pulse, all that are not one member's alone. So are those that follow."""
    pulses: int
    """Pulses that have ended here."""
    tokens: int
    """Tokens to other switches: none where there is one."""
    markers: int
    """Markers: isochrons that members were told to execute, once for each member."""
    marker_frames: int
    """Frames in which they went."""
    pulse_intervals: Intervals
    """How long after the one before it in its view each pulse has ended, rest included: a pulse ends only where there is an isochron to order."""


@dataclass(frozen=True)
class PeerCounters:
    """How another member of the view keeps up, as this one sees it. Made by `isonet.peers()`."""

    member: int
    """Which."""
    unheard: float | None
    """For how many seconds nothing was heard of it, not even a sign of life, for which it is asked four times in a silence limit; None: its link is cut."""
    unanswered: int
    """Isochrons and plain messages of this member that it has not answered. Of an isochron nobody answers before all receivers have their parts."""
    unanswered_for: float
    """For how many seconds the first of them has waited."""
    unreceived: int
    """Isochrons of all members that get no place before it says that it has its part: of the member that keeps the pulse, 0 at the others."""
    is_full: bool
    """Whether something waits here for room at it, or on the way."""
    full: int
    """How often something had to wait for room, since it was linked."""
    full_for: float
    """For how many seconds, all together."""
    is_awaited: bool
    """Whether anything waits for it here."""


__all__ = ["Counters", "Intervals", "PeerCounters"]
