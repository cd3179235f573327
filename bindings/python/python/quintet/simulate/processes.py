"""Processes: generators that run beside the modules of a model, as those of other process-based simulators.

A generator is given the `Run`. It waits by yielding an event, or a number of seconds, and is given the event's value where it
yielded. What it asks for has its place among the events of the model: one simulator runs both.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, Union

from quintet import _native
from quintet._native import Event, Measure, Message, Process, Program, Request, Resource, Run, Store, Stream
from quintet.errors import BadValue, Code
from quintet.simulate.document import document
from quintet.simulate.parts import Draw
from quintet.simulate.results import Blocked, ProcessesResult, ResourceResult, Result, StoreResult, Tally, result

__all__ = [
    "Event", "Interrupt", "Measure", "Message", "Preempted", "Process", "Program", "Request", "Resource", "Run", "Store", "Stream",
]  # fmt: skip

Waited = Union[Event, float]
"""What a process yields: an event, or a number of seconds."""
Function = Callable[..., Generator[Waited, Any, Any]]
"""What makes a process: it is given the run, and what else was said."""


class Interrupt(Exception):
    """Raised in a process where it waits, when another one interrupts it, or takes its place at a resource."""

    def __init__(self, cause: Any = None) -> None:
        super().__init__(cause)
        self.cause = cause
        """What `interrupt` was given; of a lost place a `Preempted`."""


@dataclass(frozen=True)
class Preempted:
    """Why a process was interrupted that held a place of a preemptive resource."""

    by: Process | None
    """The process that has the place now; None for one that `Model.process` began."""
    since: float
    """Since when the other one had it, in seconds."""
    resource: str
    """The resource's name."""


@dataclass(frozen=True)
class Source:
    """What begins processes: see `Model.process`."""

    name: str
    function: Function
    arguments: tuple[Any, ...]
    start: Draw | None
    every: Draw | None
    count: int | None
    module: str | None

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise BadValue(Code.BadValue, f"process {self.name}: found {type(self.function).__name__}, expected a function with yield")
        if self.count is not None and (isinstance(self.count, bool) or not isinstance(self.count, int) or self.count < 1):
            raise BadValue(Code.BadValue, f"process {self.name}: the count is {self.count!r}, expected a whole number from 1 on")

    def __deepcopy__(self, _memo: Any) -> Source:
        return self


def run(model: _native.SimulatedModel, seed: int, sources: tuple[Source, ...]) -> Result:
    """One run of a model with processes, on this thread."""
    described = [(source.name, source.function, list(source.arguments), source.count) for source in sources]
    row, found = _native.run_driven(model, seed, _timings(sources), described)
    row["quantities"].update(found["quantities"])
    return result({
        **row,
        "resources": {name: _resource(each) for name, each in found["resources"].items()},
        "stores": {name: StoreResult(**each) for name, each in found["stores"].items()},
        "processes": ProcessesResult(
            found["processes_begun"], found["processes_ended"], found["blocked_count"],
            tuple(Blocked(*each) for each in found["blocked"]),
        ),
    })  # fmt: skip


def programs(sources: tuple[Source, ...]) -> list[str] | None:
    """The modules in whose places processes are; None without processes."""
    return sorted({source.module for source in sources if source.module is not None}) if sources else None


def _timings(sources: tuple[Source, ...]) -> str:
    """When the sources begin, as the tables of modules."""
    tables = {source.name: {"start": source.start, "every": source.every} for source in sources}
    # What no file can have is said of the process.
    document({"process": tables})
    return document({"module": tables})


def _resource(row: Mapping[str, Any]) -> ResourceResult:
    return ResourceResult(**{**row, "waiting": Tally(**row["waiting"])})
