"""Every operation, embedded and served."""

from __future__ import annotations

import sys
import threading

import pytest
from conftest import LONG_S

import quintet

SOON_S = 0.02


def wait_for_waiters(space: quintet.Space, number: int = 1) -> None:
    while space.status().waiters < number:
        threading.Event().wait(0)


def test_what_is_put_is_taken_once_and_the_oldest_first(client):
    a, b = client().space, client().space
    a.out("x", 1)
    a.out("x", 2)
    assert b.count("x", int) == 2
    assert b.read("x", int) == ("x", 1)
    assert b.read_if("x", 2) == ("x", 2)
    assert b.take("x", int) == ("x", 1)
    assert a.take_if("x", int) == ("x", 2)
    assert a.take_if("x", int) is None
    assert a.read_if("x", int) is None


def test_a_key_is_declared_by_its_field(client):
    space = client().space
    space.declare_key(1, "row", int, float)
    space.out("row", 3, 0.5)
    assert space.take("row", 3, float) == ("row", 3, 0.5)
    with pytest.raises(quintet.BadValue, match="field 3 is none of the 3 fields"):
        space.declare_key(3, "row", int, float)


def test_many_are_put_together(client):
    space = client().space
    space.out_many([])
    space.out_many(("many", i) for i in range(3))
    assert [space.take("many", int)[1] for _ in range(3)] == [0, 1, 2]
    with pytest.raises(quintet.BadValue):
        space.out_many([("many", 1), ("many", object())])
    assert space.count("many", int) == 0


def test_a_blocked_take_is_woken_by_another_client(client):
    taker, putter = client().space, client().space
    taken = []
    thread = threading.Thread(target=lambda: taken.append(taker.take("late", int, timeout=LONG_S)))
    thread.start()
    wait_for_waiters(putter)
    putter.out("late", 5)
    thread.join(LONG_S)
    assert taken == [("late", 5)]


def test_a_take_that_meets_its_deadline_says_what_nearly_matched(client):
    import numpy

    space = client().space
    space.out("row", numpy.int32(3))
    for wait in (space.take, space.read, space.lease):
        with pytest.raises(quintet.TimedOut, match="field 1: int32, wanted int$") as raised:
            wait("row", int, timeout=SOON_S)
        assert isinstance(raised.value, TimeoutError)
        assert (raised.value.code, raised.value.retry, raised.value.fault) == (1, "safe", "limit")


def test_a_lease_is_acknowledged_with_its_results_or_returned(client):
    worker, other = client().space, client().space
    other.out("task", 1)
    with pytest.raises(KeyError), worker.lease("task", int, timeout=LONG_S) as task:
        assert task.attempt == 1 and task == ("task", 1) and len(task) == 2 and task[1] == 1
        assert other.take_if("task", int) is None, "hidden"
        raise KeyError
    with other.lease("task", int, timeout=LONG_S) as task:
        assert task.attempt == 2
        with pytest.raises(quintet.BadValue):
            task.acknowledge(("result", object()))
        task.acknowledge(("result", 1), ("result", 2))
    assert [other.take("result", int)[1] for _ in range(2)] == [1, 2]
    with pytest.raises(quintet.LeaseLost):
        task.acknowledge()
    other.out("task", 2)
    with worker.lease("task", int):
        pass
    assert other.take_if("task", int) is None
    other.out("task", 3)
    lease = worker.lease("task", int)
    _, number = lease
    assert number == 3
    lease.release()
    del lease
    dropped = worker.lease("task", int)
    assert dropped.attempt == 2 and "attempt 2" in repr(dropped)
    del dropped
    assert other.take("task", int, timeout=LONG_S) == ("task", 3)


def test_an_acknowledgement_that_the_space_can_never_hold(tmp_path):
    too_large = ("result", bytes(2000))

    def give_up(error):
        raise KeyError(error.code)

    with quintet.serve(tmp_path / "space", max_bytes=1000) as server, quintet.connect(server.address) as lab:
        space = lab.space
        space.out("task", 1)
        with pytest.raises(quintet.TooLarge):
            space.lease("task", int).acknowledge(too_large)
        with pytest.raises(KeyError, match="TooLarge"):
            space.lease("task", int).acknowledge(too_large, instead=give_up)
        with pytest.raises(quintet.TooLarge):
            space.lease("task", int).acknowledge(too_large, instead=lambda _error: [too_large])
        task = space.lease("task", int)
        assert task.attempt == 4, "each time it returned"
        task.acknowledge(too_large, instead=lambda error: [("failed", error.text)])
        assert "1000" in space.take("failed", str)[1]
        with pytest.raises(quintet.LeaseLost):
            task.release()
        status = space.status()
        assert (status.tuples, status.hidden, status.leases) == (0, 0, 0)


def test_operations_can_be_begun(client):
    space = client().space
    take = space.begin().take("later", int)
    assert not take.done() and "under way" in repr(take)
    with pytest.raises(quintet.TimedOut):
        take.result(0)
    space.begin().out("later", 1).result(LONG_S)
    assert take.result(LONG_S) == take.result(LONG_S) == ("later", 1)
    assert space.begin().out_many([("later", 2)]).result() is None
    assert space.begin().read("later", int).result() == ("later", 2)
    with space.begin().lease("later", int).result() as task:
        assert task == ("later", 2)
    take = space.begin().take("never")
    take.cancel()
    with pytest.raises(quintet.Cancelled):
        take.result(LONG_S)
    take = space.begin().take("never")
    del take
    assert space.status().waiters == 0
    at_once = space.begin(timeout=0)
    for begin in (at_once.take, at_once.read, at_once.lease, at_once.take):
        with pytest.raises(quintet.TimedOut):
            begin("never").result(LONG_S)
    counted = [space.begin().count("never"), space.begin().take_if("never"), space.begin().read_if("never"), space.begin().status()]
    assert [pending.result(LONG_S) for pending in counted[:3]] == [0, None, None]
    assert counted[3].result(LONG_S).tuples == 0
    assert "timeout=0" in repr(at_once)
    with pytest.raises(quintet.BadValue, match="-1"):
        space.begin(timeout=-1)


def test_a_dropped_take_loses_nothing(client):
    space = client().space
    for number in range(100):
        take = space.begin().take("kept", int)
        space.out("kept", number)
        del take
        assert space.take("kept", int, timeout=LONG_S) == ("kept", number)


def test_the_state_of_the_space(client):
    space = client().space
    space.out("a", 1)
    status = space.status()
    assert (status.tuples, status.leases, status.dead_letters) == (1, 0, 0)
    row = next(row for row in status.rows if row.tuples == 1)
    assert row.signature == "(str, int)"


def test_live_tuples(client):
    space = client().space

    def fail():
        raise KeyError("no such thing")

    space.eval("sum", 3, lambda: sum(range(4)))
    assert space.take("sum", int, int, timeout=LONG_S) == ("sum", 3, 6)
    space.eval("bad", fail)
    _, name, text = space.take("quintet.failed", str, str, timeout=LONG_S)
    assert name.endswith("fail") and "no such thing" in text
    space.eval("bad", lambda: object())
    assert "BadValue" in space.take("quintet.failed", str, str, timeout=LONG_S)[2]
    space.eval("bad", lambda: sys.exit(3))
    assert "SystemExit" in space.take("quintet.failed", str, str, timeout=LONG_S)[2]


def test_a_task_whose_lease_fails_five_times_becomes_a_dead_letter(client):
    space = client().space
    space.out("task", 1)
    for _ in range(5):
        space.lease("task", int, timeout=LONG_S).release()
    _, reason, attempts, *fields = space.take(quintet.DEAD_LETTER, str, int, str, int, timeout=LONG_S)
    assert (attempts, fields) == (5, ["task", 1]) and "released" in reason
    assert space.status().dead_letters == 1


def test_a_closed_lab_ends_the_waits_of_other_threads():
    lab = quintet.connect()
    space, ended = lab.space, []

    def wait():
        with pytest.raises(quintet.Closed) as raised:
            space.take("never")
        ended.append(raised.value)

    thread = threading.Thread(target=wait)
    thread.start()
    wait_for_waiters(space)
    with lab:
        pass
    thread.join(LONG_S)
    assert isinstance(ended[0], ConnectionError)
    with pytest.raises(quintet.Closed):
        space.out(1)
    assert lab.closed and "closed" in repr(lab) and "closed" in repr(space)


def test_a_closed_lab_ends_what_was_made_from_it(socket):
    address = f"quintet://{socket}"
    with quintet.connect(address) as other:
        lab = quintet.connect(address)
        space = lab.space
        other.space.out("task", 1)
        lease, take = space.lease("task", int), space.begin().take("x")
        lab.close()
        again = other.space.lease("task", int, timeout=LONG_S)
        assert again.attempt == 2, "the lease has returned"
        again.acknowledge()
        for late in (take.result, lease.acknowledge, space.begin().status, space.status, lambda: space.eval("x", int)):
            with pytest.raises(quintet.Closed, match="closed by the program"):
                late()
        assert take.done()
        other.space.out("x")
        assert other.space.take("x", timeout=LONG_S) == ("x",), "the take under way has ended"


def test_what_was_answered_before_the_close_can_be_asked_for(client):
    lab = client()
    lab.space.out("x")
    take = lab.space.begin().take("x")
    while not take.done():
        threading.Event().wait(0)
    lab.close()
    assert take.result() == ("x",)


def test_a_listing_shows_all_that_matches_and_takes_nothing(client):
    lab = client()
    space = lab.space
    space.out_many(("row", number) for number in range(300))
    space.out("long", "x" * 1000)
    with space.lease("row", 0) as leased:
        shown = list(space.list("row", int))
        assert [row.fields for row in shown] == [("row", number) for number in range(300)]
        assert [row.age for row in shown] == sorted({row.age for row in shown})
        assert [row.lease is not None for row in shown] == [True] + [False] * 299
        assert shown[0].lease.held >= 0 and shown[0].bytes > 0 and shown[0].failed == 0
        leased.release()
    [row] = space.list("long", str)
    cut = row.fields[1]
    assert (cut.type, cut.size, cut.beginning) == ("str", 1000, "x" * 256)
    assert len(list(space.list())) == 301 and space.count("row", int) == 300
    assert not list(space.list("nothing"))
    with pytest.raises(quintet.BadValue):
        next(space.list(object()))
    lab.close()
    with pytest.raises(quintet.Closed):
        next(space.list())
