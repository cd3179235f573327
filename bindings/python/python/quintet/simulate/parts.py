"""Distributions and actions: the tables that a model file has in their place, which serve as well.

A quantity is a number, or a text with a unit, which may be an expression of parameters: "1.5 ms", "8 B * words".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Union

Quantity = Union[str, int, float]
Table = dict[str, Any]
Draw = Union[Quantity, Mapping[str, Any]]
"""A quantity, or a distribution of them."""


def exponential(mean: Quantity) -> Table:
    """Times between independent events, of this mean."""
    return {"exponential": {"mean": mean}}


def uniform(low: Quantity, high: Quantity) -> Table:
    """Evenly between the two."""
    return {"uniform": {"low": low, "high": high}}


def normal(mean: Quantity, deviation: Quantity) -> Table:
    """The normal distribution without its negative values: those are drawn again."""
    return {"normal": {"mean": mean, "deviation": deviation}}


def poisson(mean: Quantity) -> Table:
    """Counts of independent events. Not for times."""
    return {"poisson": {"mean": mean}}


def gamma(shape: Quantity, scale: Quantity) -> Table:
    """Mean `shape` times `scale`; the shape is a number without unit."""
    return {"gamma": {"shape": shape, "scale": scale}}


def beta(a: Quantity, b: Quantity, low: Quantity, high: Quantity) -> Table:
    """Between `low` and `high`; `a` and `b` are numbers without unit."""
    return {"beta": {"a": a, "b": b, "low": low, "high": high}}


def weibull(shape: Quantity, scale: Quantity) -> Table:
    """Times until something fails, with age more often for a shape above 1, less often below."""
    return {"weibull": {"shape": shape, "scale": scale}}


def pareto(shape: Quantity, minimum: Quantity, maximum: Quantity | None = None) -> Table:
    """A heavy tail. Without a maximum the variance is infinite for shapes up to 2, and the mean for shapes up to 1."""
    bounds = {"minimum": minimum} if maximum is None else {"minimum": minimum, "maximum": maximum}
    return {"pareto": {"shape": shape, **bounds}}


def log_normal(mean: Quantity, deviation: Quantity) -> Table:
    """Its logarithm is normal; mean and standard deviation are those of the values."""
    return {"log_normal": {"mean": mean, "deviation": deviation}}


def weighted(pairs: Iterable[tuple[Quantity, Quantity]]) -> Table:
    """These values alone, each with its weight."""
    return {"empirical": {"values": [list(pair) for pair in pairs]}}


def cumulative(pairs: Iterable[tuple[Quantity, Quantity]]) -> Table:
    """Values, each with the probability of that value or a smaller one; straight between them. The last one's is 1."""
    return {"empirical": {"cumulative": [list(pair) for pair in pairs]}}


def execute(instruction: str, times: Draw = 1) -> Table:
    """An action: executes an instruction of the module's processor so often."""
    return {"execute": instruction, "times": times}


def send(
    message: str,
    to: str,
    bytes: Draw = "0 B",
    *,
    through: str | None = None,
    route: Sequence[str] | None = None,
    times: Quantity = 1,
    synchronous: bool = False,
) -> Table:
    """An action: sends a message of so many bytes to a module that waits for it, so often.

    `to`: of a group of modules "NAME", "NAME.next" or "NAME.each". `through` is the device or network that carries it; without
    one it stays within the processor and takes no time, or takes the only one that joins the two processors. `route`: over which links of a
    network it goes, in order; without it by the way of the least cost. `synchronous`: within the station's synchronous allocation on a token ring.
    """
    action = {"send": message, "to": to, "bytes": bytes, "times": times}
    if through is not None:
        action["through"] = through
    if route is not None:
        action["route"] = list(route)
    if synchronous:
        action["class"] = "synchronous"
    return action


def use(pool: str, time: Draw = "0 s", *, bytes: Draw = "0 B", key: Draw | None = None, times: Quantity = 1) -> Table:
    """An action: uses a server of a pool for this time and for these bytes at its rate, so often; then the activation goes on.

    `key`: the number that chooses the server, modulo their number; without it whichever is free.
    """
    action = {"use": pool, "time": time, "bytes": bytes, "times": times}
    if key is not None:
        action["key"] = key
    return action
