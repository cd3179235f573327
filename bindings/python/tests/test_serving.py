"""What a space is served with."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading

import pytest
from conftest import LONG_S

import quintet


def free_places(count: int) -> list[str]:
    """Ports of the loopback that nobody has now."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return ["127.0.0.1:%d" % one.getsockname()[1] for one in sockets]


def test_limits_are_those_that_were_asked_for(tmp_path):
    with quintet.serve(tmp_path / "space", max_attempts=1, max_spaces=1, max_spaces_bytes=1 << 20) as server:
        with quintet.connect(server.address) as lab:
            lab.space.out("row", 1)
            lab.space.lease("row", int).release()
            assert lab.space.take(quintet.DEAD_LETTER, str, int, "row", int, timeout=LONG_S)[3:] == ("row", 1)
            with pytest.raises(quintet.SpaceFull):
                lab.create_space("large", max_bytes=1 << 21)
            lab.create_space("orders", max_bytes=1 << 19)
            with pytest.raises(quintet.SpaceFull, match="1 named spaces at most"):
                lab.create_space("others", max_bytes=1 << 18)


def test_one_space_is_served_at_several_addresses(tmp_path):
    with quintet.serve([tmp_path / "space", f"unix:{tmp_path}/unix"]) as server:
        assert server.addresses == [f"shm:{tmp_path}/space", f"unix:{tmp_path}/unix"]
        with quintet.connect(server.addresses[0]) as one, quintet.connect(server.addresses[1]) as other:
            one.space.out("row", 1)
            assert other.space.take("row", int, timeout=LONG_S) == ("row", 1)


def test_a_space_has_several_managers_of_one_process_or_of_several(tmp_path):
    with quintet.serve(tmp_path / "space", managers=3, hot_key_requests=1000) as server:
        uses(server.address)
    peers = [f"shm:{tmp_path}/one", f"shm:{tmp_path}/two"]
    with quintet.serve(manager=1, peers=peers) as one, quintet.serve(manager=2, peers=peers):
        assert one.address == peers[0]
        uses(one.address)


def uses(address: str) -> None:
    """What several managers do together, also with a named space beside theirs, and what only that does."""
    with quintet.connect(address) as lab:
        space = lab.space
        space.begin().declare_key(1, "row", int).result(LONG_S)
        for n in range(20):
            space.out("row", n)
        assert sorted(row[1] for row in space.collect("row", int)) == list(range(20))
        events = space.watch("row", int, timeout=LONG_S)
        space.out("row", 20)
        event = next(events)
        assert (event.change, event.fields) == ("put", ("row", 20))
        with pytest.raises(quintet.BadValue, match="watch the tuples of one template"):
            next(space.watch(timeout=LONG_S))
        collected_into_each_other(space, lab.create_space("orders"))


def collected_into_each_other(space: quintet.Space, orders: quintet.Space) -> None:
    """Orders of two keys, wherever their managers are, at one instant each."""
    assert space.collect_into(orders, "row", 20) == 1
    space.begin().declare_key(1, "order", int, int).result(LONG_S)
    space.out_many([("order", key, n) for n in range(3) for key in range(20)])
    assert space.collect_into(orders, "order", 7, int) == 3
    assert [orders.take("order", 7, int) for _ in range(3)] == [("order", 7, n) for n in range(3)]
    assert space.copy_collect_into(orders, "order", int, int) == 57
    assert (space.count("order", int, int), orders.count("order", int, int)) == (57, 57)
    # Back to all managers.
    space.begin().declare_key(1, "back", int, int).result(LONG_S)
    orders.out_many([("back", key, n) for n in range(3) for key in range(20)])
    assert orders.collect_into(space, "back", int, int) == 60
    assert [space.take("back", 7, int) for _ in range(3)] == [("back", 7, n) for n in range(3)]


@pytest.mark.parametrize("kind", ["tcp:", "tls:"])
def test_three_replicas_keep_a_space_together(tmp_path, kind, monkeypatch, request):
    if kind == "tls:":
        monkeypatch.setenv("QUINTET_IDENTITY", str(request.getfixturevalue("identity")))
    places, servers = [kind.removeprefix("tcp:") + place for place in free_places(3)], []

    def start(number: int) -> None:
        servers.append(quintet.serve(replica=number, replicas=places, log_dir=tmp_path / str(number)))

    threads = [threading.Thread(target=start, args=(number,)) for number in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG_S)
    assert sorted(server.address for server in servers) == sorted(kind + place.removeprefix(kind) for place in places)
    with quintet.connect("quintet://" + ",".join(places)) as lab:
        lab.space.out("row", 1)
        roles = [(replica.number, replica.role, replica.error) for replica in lab.replicas()]
        assert sorted(role for _, role, _ in roles) == ["follows", "follows", "leads"], roles
        assert asyncio.run(awaited_roles(lab.address)) == len(places)
        servers.pop().stop()
        (gone,) = (replica for replica in lab.replicas() if replica.role is None)
        assert isinstance(gone.error, quintet.Error)
        assert lab.space.take("row", int, timeout=LONG_S) == ("row", 1)
    for server in servers:
        server.stop()


async def awaited_roles(address: str) -> int:
    """How many replicas answer in an event loop."""
    async with quintet.aio.connect(address) as lab:
        return len([replica for replica in await lab.replicas() if replica.leader is not None])


def test_what_does_not_go_together_is_refused(tmp_path):
    for options, why in [
        ({}, "name an address"),
        ({"manager": 1}, "manager and peers belong together"),
        ({"replicas": ["127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"]}, "replica and replicas belong together"),
        ({"replica": 1, "replicas": ["127.0.0.1:1", "127.0.0.1:2"]}, "three or five"),
        ({"replica": 4, "replicas": ["127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"]}, "name an address"),
        ({"address": tmp_path / "space", "managers": 2, "log_dir": tmp_path / "log"}, "keeps no log"),
        ({"address": tmp_path / "space", "managers": 17}, "16 at most"),
    ]:
        with pytest.raises(quintet.BadValue, match=why):
            quintet.serve(**options)
