"""Named spaces, embedded and served, sync and asyncio."""

from __future__ import annotations

import asyncio

import pytest
from conftest import LONG_S

import quintet


def test_named_spaces_are_apart_and_known_to_others_by_name(client):
    lab, other = client(), client()
    orders = lab.create_space("orders", max_bytes=10_000)
    assert (orders.name, lab.space.name) == ("orders", None)
    orders.out("row", 1)
    assert lab.space.count("row", int) == 0
    there = other.space("orders")
    with there.lease("row", int) as task:
        assert list(task) == ["row", 1]
        assert orders.count("row", int) == 0
    assert there.begin().take_if("row", int).result(LONG_S) is None
    there.eval("row", lambda: 2).join()
    assert [row.fields for row in orders.list("row", int)] and orders.take("row", int) == ("row", 2)
    (space,) = other.spaces()
    assert (space.name, space.policy, space.max_bytes, space.tuples) == ("orders", "volatile", 10_000, 0)


def test_a_space_that_is_not_there_is_named_beside_those_that_are(client):
    lab = client()
    lab.create_space("orders")
    with pytest.raises(quintet.NoSuchSpace, match="there are: orders"):
        lab.space("order")
    lab.create_space("orders")
    with pytest.raises(quintet.SpaceExists):
        lab.create_space("orders", max_tuples=7)
    for bad in ("", "a b", "x" * 64):
        with pytest.raises(quintet.BadValue):
            lab.space(bad)
    with pytest.raises(quintet.BadValue, match="logged"):
        lab.create_space("later", policy="logged")
    with pytest.raises(quintet.BadValue, match="policy"):
        lab.create_space("later", policy="fast")
    with pytest.raises(quintet.BadValue, match="max_bytes"):
        lab.create_space("later", max_bytes=0)
    waiting = lab.space("orders").begin(timeout=LONG_S).take("row", int)
    lab.remove_space("orders")
    with pytest.raises(quintet.NoSuchSpace):
        waiting.result()
    assert lab.spaces() == []


def test_what_is_closed_closes_its_named_spaces(client):
    lab = client()
    orders = lab.create_space("orders")
    lab.close()
    with pytest.raises(quintet.Closed):
        orders.out("row", 1)
    with pytest.raises(quintet.Closed):
        lab.space("orders")


def test_named_spaces_are_awaited():
    async def main() -> None:
        async with quintet.aio.connect() as lab:
            orders = await lab.create_space("orders")
            take = asyncio.create_task(orders.take("row", int, timeout=LONG_S))
            await (await lab.space("orders")).out("row", 5)
            assert await take == ("row", 5)
            assert [space.name for space in await lab.spaces()] == ["orders"]
            await lab.remove_space("orders")
            with pytest.raises(quintet.NoSuchSpace):
                await orders.status()
            with pytest.raises(quintet.NoSuchSpace):
                await lab.space("orders")

    asyncio.run(main())


def test_a_space_is_for_those_that_its_creation_names(client):
    lab, other = client(), client()
    own = lab.create_space("own", allow=[bytes(31) + b"\1"], allow_own_machine=True)
    (listed,) = lab.spaces()
    assert (listed.allow, listed.allow_own_machine) == ((bytes(31) + b"\1",), True)
    with pytest.raises(quintet.SpaceExists):
        lab.create_space("own")
    if lab.is_embedded or not lab.address.startswith("tls:"):
        own.out("row", 1)
        assert other.space("own").take("row", int) == ("row", 1)
        theirs = other.create_space
    else:
        # Over TLS who comes proves who he is, and is none of these.
        with pytest.raises(quintet.NotAllowed):
            own.out("row", 1)
        return
    for bad, why in [([], "one machine at least"), ([b"short"], "32 bytes, not 5"), (["b"], "connection to one")]:
        with pytest.raises(quintet.BadValue, match=why):
            theirs("x", allow=bad)
    with pytest.raises(TypeError):
        theirs("x", allow="b")
    with pytest.raises(quintet.TooLarge, match="129 identities"):
        theirs("x", allow=[n.to_bytes(32, "big") for n in range(129)])
    with pytest.raises(quintet.BadValue, match="connection to one"):
        lab.allow_space("own", grant=["b"])


def test_a_space_is_found_by_its_policy_or_created(client):
    lab, other = client(), client()
    lab.space("orders", policy="volatile").out("row", 1)
    assert other.space("orders", policy="volatile").take("row", int) == ("row", 1)
    (space,) = lab.spaces()
    assert (space.name, space.policy) == ("orders", "volatile")
    # Its limits may be others: it is the same space.
    lab.create_space("small", max_tuples=3).out("row", 2)
    assert lab.space("small", policy="volatile").take("row", int) == ("row", 2)
    for policy, why in [("logged", "logged"), ("fast", "policy")]:
        with pytest.raises(quintet.BadValue, match=why):
            lab.space("later", policy=policy)
    with pytest.raises(quintet.NoSuchSpace):
        lab.space("later")


def test_a_logged_server_has_logged_spaces(tmp_path):
    async def main(address: str) -> None:
        async with quintet.aio.connect(address) as lab:
            orders = await lab.space("orders", policy="logged")
            assert await orders.take("row", int) == ("row", 1)

    with quintet.serve(tmp_path / "space", log_dir=tmp_path / "log") as server:
        with quintet.connect(server.address) as lab:
            lab.space("orders", policy="logged").out("row", 1)
            assert [space.policy for space in lab.spaces()] == ["logged"]
            with pytest.raises(quintet.SpaceExists):
                lab.space("orders", policy="replicated=3")
            with pytest.raises(quintet.BadValue, match="replicated"):
                lab.space("later", policy="replicated=3")
        asyncio.run(main(f"quintet://{tmp_path}/space"))
