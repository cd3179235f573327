"""A forked child leaves its parent's connections alone, and makes its own."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from collections.abc import Callable

import pytest
from conftest import LONG_S

import quintet

EXITS = """
import os, sys, quintet
lab = quintet.connect(sys.argv[1])
space = lab.space
space.out_many([("task", 1), ("kept", 1)])
task, never = space.lease("task", int), space.begin().take("never")
server = quintet.serve(sys.argv[2])
if os.fork() == 0:
    sys.exit(3)
assert os.waitstatus_to_exitcode(os.wait()[1]) == 3
task.acknowledge(("done", 1))
space.out("never")
assert never.result() == ("never",)
assert space.take("kept", int) == ("kept", 1)
quintet.connect(server.address).space.out("the server lives")
"""


def in_a_child(function: Callable[[], None]) -> int | None:
    """The exit code of a forked child that calls the function; none if it does not end."""
    child = multiprocessing.get_context("fork").Process(target=function)
    child.start()
    child.join(LONG_S)
    if child.exitcode is None:
        child.kill()
        child.join()
        return None
    return child.exitcode


def test_a_child_that_exits_ends_nothing_of_its_parents(socket, tmp_path):
    subprocess.run([sys.executable, "-c", EXITS, f"quintet://{socket}", str(tmp_path / "own")], check=True, timeout=LONG_S)


def test_a_child_connects_again(client):
    lab = client()
    address = lab.address

    def work():
        with pytest.raises(quintet.Closed, match="made in another process; connect again"):
            lab.space.out("child", 1)
        with quintet.connect(address) as own:
            own.space.out("child", 2)
            assert own.space.take("child", int) == ("child", 2)

    assert in_a_child(work) == 0
    lab.space.out("parent", 1)
    assert lab.space.take("parent", int) == ("parent", 1)
    assert lab.space.count("child", int) == 0


def test_a_child_cannot_use_what_its_parent_has_under_way(client):
    lab = client()
    space = lab.space
    space.out("task", 1)
    task, take, told = space.lease("task", int), space.begin().take("later", int), []

    def work():
        for use in (task.acknowledge, task.release, task.__enter__().begin_acknowledge, take.result, lab.fileno, lab.progress,
                    space.status, lambda: space.take("later", int), lambda: space.begin().out("later", 0)):  # fmt: skip
            with pytest.raises(quintet.Closed, match="another process"):
                use()
        with pytest.raises(quintet.Closed, match="another process"), task:
            pass
        with pytest.raises(KeyError), task:
            raise KeyError
        take.cancel()
        take.notify(lambda: told.append(True))
        assert told == [True] and take.done() and lab.closed
        lab.close()

    assert in_a_child(work) == 0
    assert space.status().leases == 1
    space.out("later", 1)
    assert take.result(LONG_S) == ("later", 1)
    task.acknowledge()


def test_a_child_leaves_a_server_alone(tmp_path):
    with quintet.serve(tmp_path / "space") as server:
        assert in_a_child(server.stop) == 0
        with quintet.connect(server.address) as lab:
            lab.space.out("alive")


def test_a_child_is_no_member_of_an_isonet():
    variable, told = quintet.Variable(1, int), []
    with quintet.connect() as lab, lab.isochrons("test", member=(0, 1), variables=[variable]) as isonet:
        isonet.write(variable, 1)
        put_together = isonet.isochron()
        put_together.read(variable)

        def work():
            for use in (isonet.isochron, put_together.execute, isonet.native.event, isonet.close, lambda: isonet.read(variable),
                        lambda: put_together.write(variable, 9), lambda: isonet.view):  # fmt: skip
                with pytest.raises(quintet.Closed, match="another process"):
                    use()
            isonet.native.notify_event(lambda: told.append(True))
            assert isonet.closed and told == [True]
            isonet.leave()

        assert in_a_child(work) == 0
        put_together.execute()
        isonet.write(variable, 2)
        assert isonet.read(variable) == 2
