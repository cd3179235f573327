"""Collections: all tuples that match."""

from __future__ import annotations

import asyncio

import pytest

import quintet
from quintet import aio


@pytest.fixture(params=["embedded", "served"])
def address(request: pytest.FixtureRequest) -> str | None:
    return None if request.param == "embedded" else f"quintet://{request.getfixturevalue('socket')}"


@pytest.fixture
def lab(address):
    with quintet.connect(address) as lab:
        yield lab


def test_all_that_match_are_copied_and_taken_oldest_first(lab):
    rows = [("row", n, "x" * 40) for n in range(3000)]
    lab.space.out_many([*rows, ("other", 1)])
    assert lab.space.copy_collect("row", int, str) == rows
    pages = list(lab.space.copy_collect_pages("row", int, str))
    assert len(pages) > 1 and sum(pages, []) == rows
    assert next(lab.space.collect_pages("row", int, str)) == pages[0]
    assert lab.space.collect("row", int, str) == rows[len(pages[0]) :]
    assert lab.space.collect("row", int, str) == []
    assert lab.space.count("other", int) == 1


def test_as_many_as_are_wanted_are_taken_at_once(lab):
    rows = [("row", n, "x" * 40) for n in range(3000)]
    lab.space.out_many(rows)
    assert lab.space.take_up_to(0, "row", int, str) == []
    assert lab.space.take_up_to(5, "row", int, str) == rows[:5]
    assert lab.space.take_up_to(5, "row", 2999, str) == rows[2999:]
    assert lab.space.take_up_to(5, "row", 2999, str) == []
    taken = []
    while some := lab.space.take_up_to(10_000, "row", int, str):
        taken += some
    assert taken == rows[5:2999]
    with pytest.raises(quintet.BadValue, match="0 is the least"):
        lab.space.take_up_to(-1, "row", int, str)
    lab.space.out("row", 1, "")
    pending = lab.space.begin().take_up_to(2, "row", int, str)
    while not pending.done():
        lab.progress()
    del pending
    assert lab.space.take_up_to(2, "row", int, str) == [("row", 1, "")]


def test_a_page_of_nobody_goes_back(lab):
    lab.space.out("row", 1)
    pending = lab.space.begin().collect("row", int)
    while not pending.done():
        lab.progress()
    del pending
    assert lab.space.collect("row", int) == [("row", 1)]


def test_all_that_match_go_into_another_space(lab):
    lab.create_space("archive", max_tuples=3)
    archive = lab.space("archive")
    lab.space.out_many([("order", n, "done") for n in range(4)])
    with pytest.raises((quintet.SpaceFull, quintet.TooLarge)):
        lab.space.collect_into(archive, "order", int, "done")
    assert lab.space.collect_into(archive, "order", 2, str) == 1
    assert lab.space.copy_collect_into(archive, "order", 3, str) == 1
    assert archive.copy_collect("order", int, str) == [("order", 2, "done"), ("order", 3, "done")]
    assert lab.space.count("order", int, str) == 3
    with quintet.connect() as other, pytest.raises(quintet.BadValue, match="another connection"):
        lab.space.collect_into(other.space, "order", int, str)
    with pytest.raises(quintet.BadValue, match="the same one"):
        lab.space.collect_into(lab.space, "order", int, str)
    lab.remove_space("archive")


def test_asyncio_collects_as_well(address):
    async def run():
        async with aio.connect(address) as lab:
            rows = [("row", n) for n in range(2500)]
            await lab.space.out_many(rows)
            assert await lab.space.copy_collect("row", int) == rows
            await lab.space.out_many([("task", n) for n in range(3)])
            assert await lab.space.take_up_to(2, "task", int) == [("task", 0), ("task", 1)]
            assert await lab.space.take_up_to(2, "task", int) == [("task", 2)]
            assert await lab.space.take_up_to(2, "task", int) == await lab.space.take_up_to(0, "row", int) == []
            with pytest.raises(quintet.BadValue):
                await lab.space.take_up_to(-1, "task", int)
            pages = [page async for page in lab.space.copy_collect_pages("row", int)]
            assert len(pages) > 1 and sum(pages, []) == rows
            await asyncio.get_running_loop().run_in_executor(None, lab.native.create_space, "more")
            more = await lab.space("more")
            assert await lab.space.copy_collect_into(more, "row", int) == 2500
            assert await lab.space.collect_into(more, "row", int) == 2500
            assert await lab.space.collect("row", int) == []
            assert len(await more.collect("row", int)) == 5000
            await asyncio.get_running_loop().run_in_executor(None, lab.native.remove_space, "more")

    asyncio.run(run())
