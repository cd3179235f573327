"""Several runs of a model: over seeds, and over values of a parameter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Union

import numpy as np
from numpy.typing import NDArray

from quintet import _native
from quintet.errors import BadValue, Code
from quintet.simulate.results import Quantities, Result
from quintet.status import table

if TYPE_CHECKING:
    import pandas

Floats = NDArray[np.float64]
FloatOrArray = Union[float, Floats]


@dataclass(frozen=True, eq=False)
class Interval:
    """Where the true mean lies. Numbers for a study; for a sweep arrays, float64, shape (values,)."""

    mean: FloatOrArray
    """The mean of the runs."""
    half_width: FloatOrArray
    """How far from it the true mean may lie."""

    @property
    def low(self) -> FloatOrArray:
        """The least mean that is likely."""
        return self.mean - self.half_width

    @property
    def high(self) -> FloatOrArray:
        """The largest mean that is likely."""
        return self.mean + self.half_width

    def contains(self, value: Any) -> Any:
        """Whether a value lies in it: a bool, or for a sweep an array of them, with one value or one for each."""
        found = (self.low <= value) & (value <= self.high)
        return bool(found) if np.ndim(found) == 0 else found


@dataclass(frozen=True, eq=False)
class Sample:
    """A quantity over several runs. In seconds or bytes, as the quantity is."""

    values: Floats
    """One value a run, NaN for a run that has none: float64, shape (seeds,), for a sweep (values, seeds)."""

    @property
    def count(self) -> Any:
        """Runs that have a value: an int; for a sweep int64, shape (values,)."""
        return _scalar(np.sum(~np.isnan(self.values), axis=-1))

    @property
    def mean(self) -> FloatOrArray:
        """The mean over the runs, NaN if none has a value: a float; for a sweep float64, shape (values,)."""
        return _scalar(_divided(np.nansum(self.values, axis=-1), self.count))

    @property
    def deviation(self) -> FloatOrArray:
        """The sample standard deviation over the runs, NaN with fewer than two: a float; for a sweep as `mean`."""
        distances = self.values - np.expand_dims(self.mean, -1)
        return _scalar(np.sqrt(_divided(np.nansum(distances**2, axis=-1), np.maximum(np.subtract(self.count, 1), 0))))

    def interval(self, confidence: float = 0.95) -> Interval:
        """The interval in which the true mean lies with this confidence, by Student's t.

        For a value of a sweep with fewer than two runs it is NaN.

        Raises BadValue for a confidence that is not between 0 and 1, and if there are nowhere two runs.
        """
        if not 0 < confidence < 1:
            raise BadValue(Code.BadValue, f"the confidence is {confidence}; it must be between 0 and 1")
        counts = np.atleast_1d(self.count)
        if not np.any(counts > 1):
            raise BadValue(Code.BadValue, f"{counts.max(initial=0)} runs; an interval takes two at least")
        part = 0.5 + confidence / 2
        t = [_native.student_t_quantile(part, float(count - 1)) if count > 1 else np.nan for count in counts]
        spread = self.deviation / np.sqrt(np.maximum(self.count, 1))
        return Interval(self.mean, _scalar(np.reshape(t, np.shape(self.count)) * spread))

    def __repr__(self) -> str:
        return f"<quintet.simulate.Sample shape={self.values.shape} mean={self.mean}>"


@dataclass(frozen=True, eq=False)
class Study(Quantities):
    """Runs of one model with different seeds. A mapping from the names of quantities to `Sample`, as well."""

    runs: tuple[Result, ...]
    """In the order of the seeds."""

    @property
    def seeds(self) -> NDArray[np.uint64]:
        """The seeds: uint64, shape (seeds,)."""
        return np.array([run.seed for run in self.runs], dtype=np.uint64)

    @cached_property
    def quantities(self) -> dict[str, Floats]:
        """The values of every quantity that some run has, NaN for a run that has none: float64, shape (seeds,)."""
        names = sorted({name for run in self.runs for name in run.quantities})
        return {name: np.array([run.quantities.get(name, np.nan) for run in self.runs]) for name in names}

    def __getitem__(self, name: str) -> Sample:
        if name not in self.quantities:
            raise self._unknown(name)
        return Sample(self.quantities[name])

    def _names(self) -> Iterable[str]:
        return self.quantities

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each run, by its seed, with a column for each quantity. Raises ImportError where pandas is not installed."""
        return table(self.quantities, index=("seed", self.seeds))

    def __repr__(self) -> str:
        return f"<quintet.simulate.Study of {len(self.runs)} runs>"


@dataclass(frozen=True, eq=False)
class Sweep(Quantities):
    """A study for each value of a parameter. A mapping from the names of quantities to `Sample`, as well."""

    parameter: str
    """The parameter."""
    at: Floats
    """Its values: float64, shape (values,)."""
    studies: tuple[Study, ...]
    """One for each value."""

    @property
    def seeds(self) -> NDArray[np.uint64]:
        """The seeds: uint64, shape (seeds,)."""
        return self.studies[0].seeds

    @cached_property
    def quantities(self) -> dict[str, Floats]:
        """The values of every quantity that some run has, NaN for a run that has none: float64, shape (values, seeds)."""
        names = sorted({name for study in self.studies for name in study.quantities})
        nothing = np.full(len(self.seeds), np.nan)
        return {name: np.stack([study.quantities.get(name, nothing) for study in self.studies]) for name in names}

    def __getitem__(self, name: str) -> Sample:
        if name not in self.quantities:
            raise self._unknown(name)
        return Sample(self.quantities[name])

    def _names(self) -> Iterable[str]:
        return self.quantities

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each run, by the parameter's value and the seed, with a column for each quantity. Raises ImportError where pandas is not
        installed.
        """
        values, seeds = np.repeat(self.at, len(self.seeds)), np.tile(self.seeds, len(self.at))
        columns = {self.parameter: values, "seed": seeds, **{name: found.ravel() for name, found in self.quantities.items()}}
        return table(columns).set_index([self.parameter, "seed"])

    def __repr__(self) -> str:
        return f"<quintet.simulate.Sweep of {self.parameter} over {len(self.at)} values, {len(self.seeds)} runs each>"


def _divided(above: Any, below: Any) -> Any:
    """NaN where `below` is 0."""
    quotient = np.full(np.shape(above), np.nan)
    np.divide(above, below, out=quotient, where=np.asarray(below) > 0)
    return quotient


def _scalar(found: Any) -> Any:
    """Python's own number for an array without dimensions."""
    return np.asarray(found).item() if np.ndim(found) == 0 else found
