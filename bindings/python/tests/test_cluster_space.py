"""The space of a cluster, quintet://lab: from three machines, each a home folder with an agent of its own, and workers on two of them."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import joblib
import pytest
from conftest import LONG_S

import quintet
from quintet import aio, presence


def command() -> str | None:
    """The command: that of this working tree if it was built, else the one that is installed."""
    root = Path(__file__).parents[3]
    built = Path(os.environ.get("CARGO_TARGET_DIR", root / "target")) / "debug" / "quintet"
    return str(built) if built.is_file() else shutil.which("quintet")


QUINTET = command()
pytestmark = pytest.mark.skipif(QUINTET is None, reason="the command quintet is neither built nor installed")


class Machine:
    """A home folder, and an address of the loopback that no other run of the tests has."""

    def __init__(self, name: str, number: int, home: Path) -> None:
        run = os.getpid() % 62_000
        self.name, self.home = name, home
        self.place = f"127.{64 + number}.{run // 250}.{1 + run % 250}:7400"
        self.environment = {**os.environ, **dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"), str(home))}
        home.mkdir()

    def does(self, *words: str) -> str:
        done = subprocess.run([QUINTET, *words], env=self.environment, capture_output=True, text=True, timeout=LONG_S)
        assert done.returncode == 0, f"{self.name}: {words}: {done.stderr}"
        return done.stdout

    def join(self, of: Machine, allow: str) -> None:
        token = json.loads(of.does("token", "create", "--allow", allow, "--json"))["token"]
        self.does("join", f"lab@{of.place}", token, "--name", self.name, "--listen", self.place)

    def worker(self, rank: int) -> subprocess.Popen[str]:
        tests = str(Path(__file__).parent)
        names = {"QUINTET_SPACE": "quintet://lab", "QUINTET_RANK": str(rank), "PYTHONPATH": tests, "MACHINE": self.name}
        worker = [sys.executable, "-m", "quintet.worker"]
        return subprocess.Popen(worker, env={**self.environment, **names}, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[list[Machine]]:
    """a, b and c of a cluster; a has made it."""
    a, *others = machines = [Machine(name, number, tmp_path / name) for number, name in enumerate("abc")]
    try:
        a.does("init", "lab", "--machine", "a")
        a.does("up", "--listen", a.place)
        for machine in others:
            machine.join(a, "join,code")
        yield machines
    finally:
        for machine in reversed(machines):
            subprocess.run([QUINTET, "down"], env=machine.environment, capture_output=True, timeout=LONG_S)


def where(_: int) -> str:
    time.sleep(0.001)
    return os.environ["MACHINE"]


def test_work_goes_to_workers_on_other_machines(machines, monkeypatch):
    a, b, c = machines
    monkeypatch.setenv("XDG_CONFIG_HOME", str(a.home))
    workers = [b.worker(0), c.worker(1)]
    try:
        with quintet.connect("quintet://lab") as lab:
            assert lab.address == "quintet://lab" and not lab.is_embedded
            until = time.monotonic() + LONG_S
            while presence.count(lab) < 2:
                assert time.monotonic() < until, "two workers announce themselves"
            seen = set()
            with quintet.Executor(lab) as executor:
                while seen != {"b", "c"}:
                    assert time.monotonic() < until, f"both machines work, not only {seen}"
                    seen |= set(executor.map(where, range(10)))
        monkeypatch.setenv("QUINTET_SPACE", "quintet://lab")
        with joblib.parallel_config(backend="quintet"):
            assert joblib.Parallel()(joblib.delayed(pow)(n, 2) for n in range(50)) == [n * n for n in range(50)]
    finally:
        for worker in workers:
            worker.terminate()
            assert worker.communicate(timeout=LONG_S) == (None, "")


@pytest.fixture
def guest(machines, tmp_path: Path) -> Iterator[Machine]:
    """d of the same cluster, let in by a token that allows to join and nothing else."""
    machine = Machine("d", 3, tmp_path / "d")
    try:
        machine.join(machines[0], "join")
        yield machine
    finally:
        subprocess.run([QUINTET, "down"], env=machine.environment, capture_output=True, timeout=LONG_S)


def test_who_may_only_join_has_its_data_in_the_space_and_neither_functions_nor_results(machines, guest, monkeypatch):
    a = machines[0]
    monkeypatch.setenv("XDG_CONFIG_HOME", str(guest.home))
    with quintet.connect("quintet://lab") as lab:
        lab.space.out("row", 1)
        assert lab.space.take("row", int) == ("row", 1)
        with quintet.Executor(lab) as executor:
            with pytest.raises(quintet.NotAllowed, match="--allow join,code"):
                executor.submit(abs, -1).result(LONG_S)
            with pytest.raises(quintet.NotAllowed, match="--allow join,code"):
                list(executor.map(abs, range(100)))

    monkeypatch.setenv("XDG_CONFIG_HOME", str(a.home))
    with quintet.connect("quintet://lab") as lab, quintet.Executor(lab) as executor:
        task = executor.submit(abs, -1)
        worker = guest.worker(7)
        said = worker.communicate(timeout=LONG_S)[1]
        assert worker.returncode == 77 and "--allow join,code" in said, said
        assert not task.done()
        allowed = machines[1].worker(8)
        try:
            assert task.result(LONG_S) == 1
            monkeypatch.setenv("XDG_CONFIG_HOME", str(guest.home))
            monkeypatch.setenv("QUINTET_SPACE", "quintet://lab")
            with joblib.parallel_config(backend="quintet"), pytest.raises(quintet.NotAllowed, match="--allow join,code"):
                joblib.Parallel()(joblib.delayed(abs)(n) for n in range(10))
        finally:
            allowed.terminate()
            assert allowed.communicate(timeout=LONG_S) == (None, "")


def test_the_end_of_the_serving_agent_is_told_with_what_to_do(machines, monkeypatch):
    a, b, _ = machines
    monkeypatch.setenv("XDG_CONFIG_HOME", str(b.home))
    with quintet.connect("quintet://lab") as lab:
        take = lab.space.begin().take("never")
        a.does("down")
        with pytest.raises(quintet.PeerDied):
            take.result(LONG_S)
    with pytest.raises(quintet.Unreachable, match="node 0.*quintet up"):
        quintet.connect("quintet://lab")


def test_a_space_that_machines_keep_is_created_found_listed_and_removed(machines, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(machines[0].home))
    with quintet.connect("quintet://lab") as lab:
        orders = lab.create_space("orders", policy="logged")
        orders.out("order", 7)
        assert lab.space.count("order", int) == 0 and orders.name == "orders"
        assert [(kept.name, kept.policy, kept.nodes) for kept in lab.kept_spaces()] == [("orders", "logged", (0,))]
        assert lab.spaces() == []
        with pytest.raises(quintet.SpaceExists):
            lab.create_space("orders", policy="logged", max_tuples=7)
        assert asyncio.run(take_from("orders")) == ("order", 7)
        for policy in ("replicated=3", "volatile"):
            with pytest.raises(quintet.SpaceExists):
                lab.space("orders", policy=policy)
        lab.create_space("small", policy="logged", max_tuples=7).out("order", 8)
        assert lab.space("small", policy="logged").take("order", int) == ("order", 8)
        lab.remove_space("small")
        lab.remove_space("orders")
        with pytest.raises(quintet.NoSuchSpace):
            lab.space("orders")
        last = lab.create_space("last", policy="logged")
    with pytest.raises(quintet.Closed):
        last.out("x")


def test_a_space_is_for_the_machines_that_are_named_and_these_change_that(machines, monkeypatch):
    a, b, c = machines
    labs = []
    for machine in machines:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(machine.home))
        labs.append(quintet.connect("quintet://lab"))
    of_a, of_b, of_c = labs
    try:
        # Volatile: by the machine that serves, for those who prove who they are and for its own programs.
        volatile = of_b.create_space("volatile", allow=["a", "b"])
        volatile.out("row", 1)
        assert of_a.space("volatile").take("row", int) == ("row", 1)
        with pytest.raises(quintet.NotAllowed):
            of_c.space("volatile")
        with pytest.raises(quintet.BadValue, match='"d" is not in the cluster; there are: a, b, c'):
            of_a.create_space("other", allow=["a", "d"])
        # Kept on disks.
        with pytest.raises(quintet.NotAllowed):
            of_a.create_space("theirs", policy="logged", allow=["b"])
        theirs = of_b.space("theirs")
        theirs.out("row", 2)
        (kept,) = of_b.kept_spaces()
        assert (kept.name, kept.allow) == ("theirs", (1,))
        with pytest.raises(quintet.NotAllowed):
            of_c.allow_space("theirs", grant=["c"])
        of_b.allow_space("theirs", grant=["c"], revoke=["b"])
        until = time.monotonic() + LONG_S
        while (taken := taken_from(of_c, "theirs")) is None:
            assert time.monotonic() < until, "c may use it"
        assert taken == ("row", 2)
        with pytest.raises(quintet.BadValue, match="not for 0"):
            of_c.allow_space("theirs", revoke=["c"])
        with pytest.raises(quintet.NoSuchSpace):
            of_a.allow_space("nothing", grant=["a"])
        assert asyncio.run(create_for("b"))
    finally:
        for lab in labs:
            lab.close()


def taken_from(lab: quintet.Lab, name: str) -> tuple[object, ...] | None:
    """What is taken, once its machines have heard that this one may."""
    try:
        return lab.space(name).take_if("row", int)
    except (quintet.NotAllowed, quintet.NoSuchSpace):
        time.sleep(0.02)
        return None


async def create_for(machine: str) -> bool:
    """In an event loop, of the machine c: a space for another one, which c may not use."""
    async with aio.connect("quintet://lab") as lab:
        with pytest.raises(quintet.NotAllowed):
            await lab.create_space("awaited", policy="logged", allow=[machine])
        return "awaited" in [kept.name for kept in await lab.kept_spaces()]


async def take_from(name: str) -> tuple[object, ...]:
    """In an event loop, where what is awaited goes on over the connection of its own that the space has."""
    async with aio.connect("quintet://lab") as lab:
        space = await lab.space(name)
        waiting = asyncio.ensure_future(space.take("later", int))
        await space.out("later", 1)
        assert await waiting == ("later", 1)
        return await space.take("order", int)


def test_what_is_no_cluster_here_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with pytest.raises(quintet.BadValue, match="no cluster named lab.*quintet join"):
        quintet.connect("quintet://lab")
    with pytest.raises(quintet.BadValue, match="quintet up"):
        quintet.serve("quintet://lab")
