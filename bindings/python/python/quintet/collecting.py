"""All tuples that match, a page at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quintet._native import Space


def pages(space: Space, takes: bool, template: tuple[Any, ...]) -> Iterator[list[tuple[Any, ...]]]:
    """The pages that have tuples, each asked for when it is wanted."""
    start, below = 0, None
    while start is not None:
        begin = space.begin()
        ask = begin.collect if takes else begin.copy_collect
        tuples, start, below = ask(*template, start=start, below=below).result()
        if tuples:
            yield tuples
