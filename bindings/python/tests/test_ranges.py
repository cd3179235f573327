"""Ranges and prefixes in templates."""

from __future__ import annotations

import asyncio
import copy
import math
import pickle

import numpy
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


def test_the_oldest_in_a_range_is_taken(lab):
    lab.space.out_many([("job", n, f"eu/{n}") for n in (5, 9, 3, 4)])
    low = ("job", quintet.between(3, 5), str)
    assert lab.space.count(*low) == 3
    assert lab.space.take(*low) == ("job", 5, "eu/5")
    with lab.space.lease(*low) as job:
        assert job.fields == ("job", 3, "eu/3")
    assert lab.space.select(("stop",), low) == (1, ("job", 4, "eu/4"))
    assert lab.space.take_if(*low) is None
    assert lab.space.collect("job", int, quintet.prefix("eu/")) == [("job", 9, "eu/9")]


def test_which_bounds_are_in_it_is_said(lab):
    lab.space.out_many([(n,) for n in range(5)])
    within = {"both": 3, "left": 2, "right": 2, "neither": 1}
    assert {name: lab.space.count(quintet.between(1, 3, name)) for name in within} == within
    assert lab.space.count(quintet.between(None, 2, inclusive="neither")) == 2
    assert lab.space.count(quintet.between(3, None)) == 2


def test_bounds_have_the_type_of_the_field(lab):
    lab.space.out_many([(1,), (numpy.int32(1),), (1.0,), (math.nan,), (b"1",), ("1",)])
    assert lab.space.count(quintet.between(0, 2)) == 1
    assert lab.space.count(quintet.between(numpy.int32(0), None)) == 1
    assert lab.space.count(quintet.between(-math.inf, None)) == 1
    assert lab.space.count(quintet.between(b"", None)) == 1
    assert lab.space.count(quintet.prefix("")) == 1


def test_what_is_no_range_is_refused_where_it_is_made():
    for low, high in [(1, 2.0), (False, True), (math.nan, 1.0), (None, None), (numpy.zeros(2), None), (int, None), ({}, None)]:
        with pytest.raises(quintet.BadValue):
            quintet.between(low, high)
    for prefix in (3, "x" * 1025, None, quintet.prefix("a")):
        with pytest.raises(quintet.BadValue):
            quintet.prefix(prefix)
    with pytest.raises(quintet.BadValue, match="neither"):
        quintet.between(1, 2, inclusive="some")


def test_a_range_is_no_value(lab):
    with pytest.raises(quintet.BadValue):
        lab.space.out("job", quintet.between(1, 2))


def test_a_range_is_shown_copied_and_pickled(lab):
    lab.space.out_many([("a", 1), ("ab", 2)])
    for one, text in [
        (quintet.between(1, None, "left"), "quintet.between(1, None, 'left')"),
        (quintet.prefix("ab"), "quintet.prefix('ab')"),
    ]:
        assert repr(one).replace('"', "'") == text
        for other in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
            assert repr(other) == repr(one) and isinstance(other, quintet.Range)
    assert lab.space.take(quintet.prefix("ab"), quintet.between(1, None)) == ("ab", 2)


def test_ranges_in_asyncio(socket):
    async def main() -> None:
        async with aio.connect(f"quintet://{socket}") as lab:
            waiting = asyncio.ensure_future(lab.space.take("t", quintet.between(0.5, None)))
            while (await lab.space.status()).waiters == 0:
                await asyncio.sleep(0)
            await lab.space.out_many([("t", 0.25), ("t", 0.5)])
            assert await waiting == ("t", 0.5)

    asyncio.run(main())
