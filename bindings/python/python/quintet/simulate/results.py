"""What one run says. Times in seconds, data in bytes; NaN for the mean of what never happened."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from quintet import _native
from quintet.status import table

if TYPE_CHECKING:
    import pandas

PERCENTS: NDArray[np.float64] = np.array(_native.PERCENTS)
"""The parts, in percent, to which `MeasureResult.percentiles` belong: float64, shape (10,)."""
PERCENTS.flags.writeable = False


@dataclass(frozen=True)
class Tally:
    """Values, summed up."""

    count: int
    """How many."""
    mean: float
    """Their mean; NaN without values."""
    deviation: float
    """Their sample standard deviation; NaN with fewer than two."""
    least: float
    """The least; NaN without values."""
    largest: float
    """The largest; NaN without values."""


@dataclass(frozen=True)
class ProcessorResult:
    """What a processor did."""

    utilisation: float
    """The share of time in which it was busy, 0 to 1."""
    lost: int
    """Messages that found its queue full and were lost."""


@dataclass(frozen=True)
class DeviceResult:
    """What a device did. Devices of kind "link" have none."""

    utilisation: float
    """The share of time in which it carried blocks that arrived, 0 to 1."""
    collision_share: float
    """The share of time spent on collisions, 0 to 1."""
    waiting: float
    """The mean time, in seconds, from when a message was requested to its first bit."""
    queue: float
    """The mean number of messages that wait for their first bit."""
    longest_queue: int
    """The most of them at a time."""
    requested: int
    """Messages requested."""
    delivered: int
    """Messages delivered."""
    dropped: int
    """Messages given up."""
    blocked: int
    """Messages that waited in their modules, because the device had its `window` of them."""
    blocks: int
    """Blocks carried."""
    bytes: int
    """Bytes of messages in these blocks."""
    collisions: int
    """Collisions."""


@dataclass(frozen=True)
class PortResult:
    """What one direction of a link of a network did: the port from which it sends; or a port of a switch, whose blocks are packets here."""

    utilisation: float
    """The share of time in which it sent, 0 to 1."""
    queue: float
    """The mean number of packets that wait for their first bit."""
    longest_queue: int
    """The most of them at a time."""
    buffered: float
    """The mean number of bytes, overhead included, in the buffer of a switch's port."""
    most_buffered: int
    """The most of them at a time."""
    packets: int
    """Packets sent."""
    bytes: int
    """Their bytes, without overhead."""
    dropped: int
    """Packets for which there was no room."""
    lost: int
    """Packets lost on the link."""


@dataclass(frozen=True)
class PoolResult:
    """What a pool did."""

    utilisation: float
    """The share of time in which its servers worked, 0 to 1: the mean of all of them."""
    waiting: float
    """The mean time, in seconds, from when a use was asked for to its beginning."""
    queue: float
    """The mean number of uses that wait."""
    longest_queue: int
    """The most of them at a time."""
    uses: int
    """Uses that ended."""
    bytes: int
    """Their bytes."""


@dataclass(frozen=True)
class ModuleResult:
    """What a module did. Times in seconds, of activations that became ready after the warm-up."""

    activations: int
    """Activations that ended after the warm-up."""
    waiting: Tally
    """From when an activation was ready to its start."""
    response: Tally
    """From when it was ready to its end."""
    interval: Tally
    """Between two ends."""
    queue: float
    """Activations that are ready and have not started, in the mean over time."""


@dataclass(frozen=True, eq=False)
class MeasureResult:
    """What a measure says."""

    value: float
    """The mean time in seconds, or bytes or activations a second."""
    times: Tally | None
    """Times, in seconds, summed up; None for a throughput."""
    percentiles: NDArray[np.float64] | None
    """Times, in seconds, that `PERCENTS` of all do not exceed, to three digits: float64, shape (10,). None for a
    throughput."""


@dataclass(frozen=True)
class ResourceResult:
    """What a resource of processes did."""

    capacity: int
    """How many places it has."""
    utilisation: float
    """The share of them that was held, in the mean over time, 0 to 1."""
    queue: float
    """Requests that waited, in the mean over time."""
    waiting: Tally
    """From a request to its place, in seconds, of those granted after the warm-up."""


@dataclass(frozen=True)
class StoreResult:
    """What a store of processes did."""

    items: float
    """The items in it, in the mean over time."""
    got: int
    """Items taken from it after the warm-up."""


@dataclass(frozen=True)
class Blocked:
    """A process that waited when nothing was left to do: it waits for ever."""

    process: str
    """Its name: that of its function, and its number among all processes of the run."""
    waits_for: str
    """What it waits for."""
    since: float
    """Since when, in seconds."""


@dataclass(frozen=True)
class ProcessesResult:
    """What became of the processes of a run."""

    begun: int = 0
    """How many began."""
    ended: int = 0
    """How many came to their end."""
    blocked_count: int = 0
    """How many wait for ever: when nothing is left to do."""
    blocked: tuple[Blocked, ...] = ()
    """The first hundred of these, in the order in which they began."""


@dataclass(frozen=True)
class Violation:
    """Something that a model promises, and that a run does not keep."""

    check: str
    """Its name."""
    statement: str
    """What is promised: a statement as it was written, or the name of a function."""
    found: str
    """What was found instead."""


class Quantities(Mapping[str, Any]):
    """Something by the names of quantities. A name that it has not raises KeyError, with the nearest it has."""

    # Two are equal if they are the same: equality of the numbers is a question for `quantities`.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def _names(self) -> Iterable[str]:
        raise NotImplementedError

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return sum(1 for _ in self._names())

    def _unknown(self, name: object) -> KeyError:
        nearest = difflib.get_close_matches(str(name), list(self._names()), 1)
        hint = f"; did you mean {nearest[0]}?" if nearest else ""
        return KeyError(f"there is no quantity {name}{hint}")


@dataclass(frozen=True, eq=False)
class Result(Quantities):
    """What one run says. A mapping from the names of quantities ("processor.server.utilisation") to numbers, as well."""

    seed: int
    """The run's seed."""
    simulated: float
    """The simulated time at its end, in seconds."""
    measured: float
    """The part of it after the warm-up, in seconds."""
    events: int
    """Events handled."""
    ended: str
    """Why it ended: "end", "nothing left", "event limit" or "stalled" (time did not pass any more), or "overfull" (a module was
    sent more messages than it keeps before it waits for them)."""
    ending: str
    """The same for a person."""
    digest: int
    """Sums up the run: another number if anything was different."""
    quantities: dict[str, float]
    """Every number by a name of its own; in seconds and bytes. Means of what never happened are left out."""
    processors: dict[str, ProcessorResult]
    """By name."""
    devices: dict[str, DeviceResult]
    """By name, networks too; those of kind "link" count nothing."""
    ports: dict[str, PortResult]
    """By name: "NETWORK.END.LINK" is the port from which END sends over a link, "DEVICE.STATION" that of a switch to a station."""
    pools: dict[str, PoolResult]
    """By name."""
    modules: dict[str, ModuleResult]
    """By name."""
    measures: dict[str, MeasureResult]
    """By name; what processes recorded among them."""
    violations: tuple[Violation, ...] = ()
    """What it breaks of what the model promises: see `Model.promise`."""
    resources: dict[str, ResourceResult] = field(default_factory=dict)
    """Those of processes, by name."""
    stores: dict[str, StoreResult] = field(default_factory=dict)
    """Those of processes, by name."""
    processes: ProcessesResult = ProcessesResult()
    """What became of the processes."""

    def __getitem__(self, name: str) -> float:
        if name not in self.quantities:
            raise self._unknown(name)
        return self.quantities[name]

    def _names(self) -> Iterable[str]:
        return self.quantities

    def to_pandas(self) -> pandas.DataFrame:
        """One row, by its seed, with a column for each quantity. Raises ImportError where pandas is not installed."""
        return table(self.quantities, index=("seed", np.array([self.seed], dtype=np.uint64)))

    def __repr__(self) -> str:
        blocked = f"; {self.processes.blocked_count} processes wait for ever" if self.processes.blocked_count else ""
        return f"<quintet.simulate.Result seed={self.seed} measured={self.measured:g} s: {self.ending}{blocked}>"


def result(row: dict[str, Any]) -> Result:
    """The result that a row of the native half is."""
    return Result(**{
        **row,
        "processors": {name: ProcessorResult(**found) for name, found in row["processors"].items()},
        "devices": {name: DeviceResult(**found) for name, found in row["devices"].items()},
        "ports": {name: PortResult(**found) for name, found in row["ports"].items()},
        "pools": {name: PoolResult(**found) for name, found in row["pools"].items()},
        "modules": {name: _module(found) for name, found in row["modules"].items()},
        "measures": {name: _measure(found) for name, found in row["measures"].items()},
        "violations": tuple(Violation(*found) for found in row["violations"]),
    })  # fmt: skip


def _module(row: dict[str, Any]) -> ModuleResult:
    tallies = {name: Tally(**row[name]) for name in ("waiting", "response", "interval")}
    return ModuleResult(**{**row, **tallies})


def _measure(row: dict[str, Any]) -> MeasureResult:
    if row["times"] is None:
        return MeasureResult(**row)
    return MeasureResult(row["value"], Tally(**row["times"]), np.array(row["percentiles"]))
