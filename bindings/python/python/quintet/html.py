"""What notebooks show of labs, spaces, executors and futures. Asking a space waits for its answer; what cannot be asked is left out."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

from quintet import presence
from quintet.errors import Error

if TYPE_CHECKING:
    from quintet._native import Lab, Space
    from quintet.executor import Executor
    from quintet.status import SignatureStatus, Status

MOST_ROWS = 20
"""Signatures that are shown."""

Row = tuple[str, object]


def of_lab(lab: Lab) -> str:
    """Where it is, and what is there."""
    rows: list[Row] = [("space", lab.address or "embedded in this process")]
    if lab.why_embedded is not None:
        rows.append(("why embedded", lab.why_embedded))
    try:
        if lab.closed:
            rows.append(("closed", "yes"))
        else:
            rows += [("workers", presence.count(lab)), *_numbers(lab.space.status())]
    except Error as error:
        rows.append(("gone", error))
    return table("quintet.Lab", rows)


def of_space(space: Space) -> str:
    """Its numbers, and its tuples by signature."""
    try:
        status = space.status()
    except Error as error:
        return table("quintet.Space", [("gone", error)])
    return table("quintet.Space", _numbers(status)) + of_signatures(status.rows)


def of_signatures(rows: Iterable[SignatureStatus]) -> str:
    """Tuples by signature."""
    head = ("signature", "tuples", "hidden", "waiters")
    shown = [(row.signature, row.tuples, row.hidden, row.waiters) for row in rows]
    body = "".join(f"<tr>{_cells(row)}</tr>" for row in shown[:MOST_ROWS])
    more = f"<tr><td colspan=4>and {len(shown) - MOST_ROWS} more</td></tr>" if len(shown) > MOST_ROWS else ""
    names = "".join(f"<th>{name}</th>" for name in head)
    return f"<table><tr>{names}</tr>{body}{more}</table>" if shown else ""


def of_executor(executor: Executor) -> str:
    """Who does its tasks, and how many are under way."""
    rows: list[Row] = [("space", executor.lab.address or "embedded in this process"), ("pool", executor.pool)]
    try:
        rows.append(("workers", "closed" if executor.lab.closed else presence.count(executor.lab)))
    except Error as error:
        rows.append(("gone", error))
    return table("quintet.Executor", [*rows, ("tasks under way", executor.tasks_under_way())])


def table(title: str, rows: Iterable[Row]) -> str:
    """Names with their values; whatever they are, none of it is markup."""
    body = "".join(f"<tr>{_cells(row)}</tr>" for row in rows)
    return f"<table><caption><b>{escape(title)}</b></caption>{body}</table>"


def _cells(values: Iterable[object]) -> str:
    return "".join(f"<td style='text-align: left'>{escape(str(value))}</td>" for value in values)


def _numbers(status: Status) -> list[Row]:
    names = ("tuples", "bytes", "leases", "waiters", "parked", "redone", "dead_letters")
    return [(name.replace("_", " "), f"{getattr(status, name):,}") for name in names]
