"""What models promise about their runs, and the search for a run that breaks it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quintet import _native
from quintet.errors import BadValue, TaskFailed
from quintet.simulate.results import Result, Violation

if TYPE_CHECKING:
    from quintet.simulate.model import Model


@dataclass(frozen=True)
class Promise:
    """What a function says of runs: see `Model.promise`."""

    name: str
    holds: Callable[[Result], Any]

    def broken(self, found: Result) -> Violation | None:
        """How a run breaks it."""
        statement = getattr(self.holds, "__name__", type(self.holds).__name__)
        try:
            holds = self.holds(found)
        except AssertionError as error:
            return Violation(self.name, statement, str(error) or "an AssertionError")
        return None if holds is None or holds else Violation(self.name, statement, repr(holds))

    def __deepcopy__(self, _memo: Any) -> Promise:
        return self


@dataclass(frozen=True)
class Finding:
    """A run that breaks what its model promises."""

    seed: int
    """Its seed."""
    violations: tuple[Violation, ...]
    """What it breaks; nothing if a process raised."""
    failure: TaskFailed | None
    """That a process raised: its name, the time, and the exception as `__cause__`."""
    simulated: float
    """How far the run came, in seconds; NaN if a process raised."""
    shortest_end: str | None
    """An end before that, "12.5 s", with which the same seed breaks the first of them already: `model.with_settings(end=...)` has it. None if no
    shorter run was found."""
    shortest: Violation | None
    """What is broken then."""


@dataclass(frozen=True)
class Exploration:
    """What a search over seeds found."""

    runs: int
    """Runs that were looked at, up to the one that was found."""
    finding: Finding | None
    """That one; None if none breaks anything."""


def violations(found: Result, promises: Sequence[Promise]) -> Result:
    """A run with what it breaks of what functions say, behind what it breaks of statements."""
    broken = tuple(violation for promise in promises if (violation := promise.broken(found)))
    return dataclasses.replace(found, violations=found.violations + broken) if broken else found


def explored(model: Model, seeds: list[int], at_once: int) -> Exploration:
    """The first of these seeds whose run breaks something, so many runs at a time."""
    for first in range(0, len(seeds), at_once):
        batch = seeds[first : first + at_once]
        try:
            study = model.replicate(batch)
        except TaskFailed as failure:
            # Only processes fail, whose runs are made one by one.
            return Exploration(first + 1, Finding(batch[0], (), failure, math.nan, None, None))
        for number, found in enumerate(study.runs, first + 1):
            if found.violations:
                return Exploration(number, _finding(model, found))
    return Exploration(len(seeds), None)


def _finding(model: Model, found: Result) -> Finding:
    broken: dict[str, Violation] = {}

    def is_broken(end: str) -> bool:
        again = model.with_settings(end=end)
        try:
            violations = again.run(found.seed).violations
        except BadValue:
            return False  # An end within the warm-up is none.
        same = next((violation for violation in violations if violation.check == found.violations[0].check), None)
        if same:
            broken[end] = same
        return same is not None

    # Where time stands still it is not the end that is too late.
    end = None if found.ended in ("stalled", "overfull") else _native.shortest_end(found.simulated, is_broken)
    return Finding(found.seed, found.violations, None, found.simulated, end, broken.get(end) if end else None)
