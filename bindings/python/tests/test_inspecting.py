"""Who waits in a space, who is connected, how its tuples are used."""

from __future__ import annotations

import asyncio

import numpy
import pytest

import quintet
from quintet.listing import Beginning, Formal


def test_who_waits_is_shown_with_what_he_asks_for(client):
    lab = client()
    space = lab.space
    take = space.begin(timeout=1000).take("row", int, quintet.array("f8"))
    (waiting,) = space.waiting()
    assert (waiting.operation, waiting.awaited, waiting.puts) == ("take", "tuple", 0)
    assert waiting.template == ("row", Formal("int"), Formal("float64[?]"))
    assert 0 <= waiting.waited < waiting.ends_in <= 1000
    space.out("row", 1, numpy.zeros(3))
    assert take.result()[1] == 1
    assert list(space.waiting()) == []
    lease = space.begin().lease("x" * 1000, int)
    (waiting,) = space.waiting()
    assert (waiting.operation, waiting.ends_in) == ("lease", None)
    assert isinstance(waiting.template[0], Beginning) and waiting.template[0].size == 1000
    lease.cancel()


def test_clients_are_shown_with_what_they_hold(client):
    lab, other = client(), client()
    other.space.out("row", 1)
    with other.space.lease("row", int):
        clients = list(lab.space.clients())
        if lab.is_embedded:
            assert clients == []
            return
        holder = next(shown for shown in clients if shown.leases == 1)
        assert holder.client.count(":") == 1 and holder.connected >= 0
        assert holder.reach == "machine"
        assert (holder.identity is not None and len(holder.identity) == 32) == lab.address.startswith("tls:")
    holder = next(shown for shown in lab.space.clients() if shown.acknowledged == 1)
    assert holder.leases == 0 and holder.held >= 0


def test_partitions_and_hot_keys_tell_what_is_used(client):
    space = client().space
    space.out_many([("job", n) for n in range(3)])
    space.out("done", 1)
    for _ in range(200):
        space.read("job", 2)
    space.take("job", 1)
    partitions = {partition.name: partition for partition in space.partitions()}
    job = partitions["job"]
    assert (job.signature, job.tuples, job.put, job.taken, job.read, job.asked) == ("(str, int)", 2, 3, 1, 200, 201)
    assert job.filled >= job.since_put >= 0 and job.since_delivery >= 0 and job.since_asked >= 0
    assert job.shapes == (((0, 1), 201),) and job.other_shapes == 0
    assert partitions["done"].since_delivery is None
    hottest = next(space.hot_keys())
    assert hottest.fields == ("job", 2)
    assert 8 <= hottest.asked <= 25, "one question in sixteen counts"


def test_they_are_awaited():
    async def main() -> None:
        async with quintet.aio.connect() as lab:
            space = lab.space
            await space.out("job", 1)
            waiting = asyncio.ensure_future(space.take("job", 2))
            await asyncio.sleep(0)
            assert [request.operation async for request in space.waiting()] == ["take"]
            assert [partition.name async for partition in space.partitions()] == ["job"]
            assert [client async for client in space.clients()] == []
            assert [key async for key in space.hot_keys()] is not None
            assert await lab.replicas() == []
            waiting.cancel()

    asyncio.run(main())


def test_a_page_shows_what_has_such_a_name():
    with quintet.connect() as lab:
        lab.space.out("row", 1)
        assert len(lab.space.begin().page(subject="partitions").result().rows) == 1
        with pytest.raises(quintet.BadValue, match='nothing named "leaks"'):
            lab.space.begin().page(subject="leaks")


def test_what_several_managers_have_is_told_as_one_space(tmp_path):
    async def awaited(address: str) -> tuple[list[quintet.Partition], list[quintet.HotKey], list[quintet.Client]]:
        async with quintet.aio.connect(address) as lab:
            space = lab.space
            rows, keys = [row async for row in space.partitions()], [key async for key in space.hot_keys()]
            return rows, keys, [client async for client in space.clients()]

    with quintet.serve(tmp_path / "space", managers=2) as server, quintet.connect(server.address) as lab:
        lab.space.declare_key(1, "row", int, int)
        lab.space.out_many([("row", n, n) for n in range(32)])
        for n in list(range(32)) * 10:
            lab.space.read("row", n, int)
        assert len(lab.space.begin().page(subject="partitions").result().rows) == 1
        (rows,) = lab.space.partitions()
        assert (rows.tuples, rows.put, rows.read, rows.asked, rows.shapes) == (32, 32, 320, 320, (((0, 1), 320),))
        keys = list(lab.space.hot_keys())
        assert len({key.fields for key in keys}) == len(keys) <= 16
        assert [key.asked for key in keys] == sorted((key.asked for key in keys), reverse=True)
        told, hot, clients = asyncio.run(awaited(server.address))
        assert (told[0].put, len(told), hot, len(clients)) == (32, 1, keys, 2)
        leases = [lab.space.lease("row", n, int) for n in range(32)]
        holders = [client.leases for client in lab.space.clients() if client.leases]
        assert holders == [32], "those of both managers, in one row"
        for lease in leases:
            lease.release()
