"""Isonets: plain messages, news of views, counters, witnesses of the order, reads without a value, and isochrons within others or never ended."""

import asyncio
import pickle
import threading
import time

import pytest

import quintet
from quintet.isochrons import Lost, View, Witness, check

WITHIN_S = 60
X = quintet.Variable(1, int)
AT_ONE = quintet.Variable(2, int, copies=[1])


@pytest.fixture
def lab():
    with quintet.connect() as lab:
        yield lab


def joined(lab, count, **said):
    """So many members, which have all joined."""
    isonets = [None] * count

    def join(me):
        own = {key: value(me) if key in ("handlers", "plain_handlers", "on_view") else value for key, value in said.items()}
        isonets[me] = lab.isochrons("test", variables=[X, AT_ONE], member=(me, count), limit=WITHIN_S, silence=WITHIN_S, **own).join()

    at_once([lambda me=me: join(me) for me in range(count)])
    return isonets


def at_once(calls):
    """What each raised, or None."""
    raised = [None] * len(calls)

    def call(number):
        try:
            calls[number]()
        except quintet.Error as error:
            raised[number] = error

    threads = [threading.Thread(target=call, args=(number,)) for number in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WITHIN_S)
        assert not thread.is_alive()
    return raised


def close(isonets):
    return at_once([isonet.close for isonet in isonets])


def wait_for_members(isonet, members):
    """A member that comes back knows the view before all others do."""
    end = time.monotonic() + WITHIN_S
    while isonet.view.members != members:
        assert time.monotonic() < end, f"it has view {isonet.view}"
        time.sleep(0.001)


def test_plain_messages_come_whatever_isochrons_wait_for(lab):
    told, asked = [], threading.Event()

    def plain_handlers(me):
        def ask(message):
            message.send_plain(message.sender, "told", message.data + b" and back")
            with message.isochron() as i:
                i.send(0, "note", b"in order")

        def hear(message):
            told.append((message.sender, message.handler, message.data))
            asked.set()

        return {"ask": ask, "told": hear}

    first, second = joined(lab, 2, handlers=lambda me: ["note"], plain_handlers=plain_handlers)
    with first.isochron() as i:
        i.schedule(X)
    with second.isochron() as waits:
        waits.read(X)
        pending = waits.begin()
    first.send_plain(1, "ask", b"there", timeout=WITHIN_S)
    assert asked.wait(WITHIN_S) and told == [(1, "told", b"there and back")] and not pending.done()
    with first.isochron() as i:
        i.assign(X, 5)
    assert pending.result(WITHIN_S)[1] == [(5).to_bytes(8, "little")]
    assert next(event for event in first.events(WITHIN_S) if event.handler == "note").value == b"in order"
    for arguments, error, words in [((2, "ask"), quintet.BadValue, "node 2"), ((-1, "ask"), quintet.BadValue, "no number"), ((1, "ask", bytes(70_000)), quintet.TooLarge, "65536")]:
        with pytest.raises(error, match=words):
            first.send_plain(*arguments)
    assert close([first, second]) == [None, None]


def test_a_plain_handler_that_raises_ends_its_member_and_one_that_cannot_be_is_refused(lab):
    def fails(message):
        raise KeyError("no such account")

    first, second = joined(lab, 2, plain_handlers=lambda me: {"enter": fails})
    first.send_plain(1, "enter")
    own = close([first, second])[1]
    assert isinstance(own, quintet.TaskFailed) and isinstance(own.__cause__, KeyError)

    async def coroutine(message): ...

    for handlers, words in [({"a": None}, "called"), ({"a": coroutine}, "coroutine")]:
        with pytest.raises(quintet.BadValue, match=words):
            lab.isochrons("test", plain_handlers=handlers)
    with pytest.raises(quintet.BadValue, match="called"):
        lab.isochrons("test", on_view=7)


def test_each_view_that_begins_is_told_and_a_reader_is_told_whether_the_writer_has_died_or_all_copies_are_lost(lab):
    views = [[], [], []]
    isonets = joined(lab, 3, on_view=lambda me: views[me].append, rejoinable=True)
    with isonets[1].isochron() as i:
        i.schedule(X)
    with isonets[0].isochron() as waits:
        value = waits.read(X)
        pending = waits.begin()
    isonets[1].leave()
    pending.result(WITHIN_S)
    with pytest.raises(quintet.WriterDied, match="had reserved the place"):
        value.value
    with pytest.raises(quintet.WriterDied):
        isonets[2].read(X)
    with pytest.raises(quintet.WriterDied):
        isonets[2].update(lambda x: x + 1, X)
    assert isonets[2].update(lambda x: x + 1, X) == 1, "it is zero after that"
    for refused in [lambda: isonets[2].read(AT_ONE), lambda: isonets[2].write(AT_ONE, 4), lambda: isonets[2].update(lambda x: x, AT_ONE)]:
        with pytest.raises(quintet.ValueLost, match="no copy of variable 2"):
            refused()
    for refused in [lambda: isonets[2].send(1, "note"), lambda: isonets[2].send_plain(1, "note")]:
        with pytest.raises(quintet.PeerDied, match="member 1 has ended"):
            refused()
    isonets[1] = lab.isochrons("test", variables=[X, AT_ONE], member=(1, 3), rejoinable=True, rejoin=True, limit=WITHIN_S).join()
    with pytest.raises(quintet.ValueLost):
        isonets[1].read(AT_ONE)
    for isonet in (isonets[0], isonets[2]):
        wait_for_members(isonet, (0, 1, 2))
    isonets[0].write(AT_ONE, 4)
    assert isonets[2].read(AT_ONE) == 4
    came_back = [isonet.view for isonet in isonets]
    assert close(isonets) == [None] * 3
    assert [view._replace(lost=()) for view in views[0]] == [view._replace(lost=()) for view in views[2]]
    assert [(view.members, view.back) for view in views[0]] == [((0, 2), ()), ((0, 1, 2), (1,))]
    # Who misses it first is chance; the other one may hear of that before it misses it.
    lost = [views[member][0].lost for member in (0, 2)]
    assert (Lost(1, "gone"),) in lost and set(lost) <= {(Lost(1, "gone"),), (Lost(1, "missed elsewhere"),)}
    assert came_back[0] == came_back[2] == views[0][1] == views[2][1] and came_back[0].lost == () and came_back[1].back == (1,)
    assert View(1, (0, 1)) == (1, (0, 1), (), ()), "nobody was lost with the first"
    assert issubclass(quintet.WriterDied, quintet.NoValue) and issubclass(quintet.NoValue, quintet.PeerDied)


def test_what_members_have_done_is_one_order_and_what_is_missing_is_found(lab):
    isonets = joined(lab, 2, handlers=lambda me: ["note"], keep_witness=True, check_invariants=True)

    def work(isonet):
        for number in range(10):
            with isonet.isochron() as i:
                i.send_all("note", bytes([number]))
                i.write(X, number)
                i.read(AT_ONE)

    assert at_once([lambda isonet=isonet: work(isonet) for isonet in isonets]) == [None, None]
    early = isonets[0].take_witness()
    assert close(isonets) == [None, None]
    late, other = isonets[0].take_witness(), isonets[1].take_witness()
    assert len(early.executed) + len(late.executed) >= 20 and other.member == 1
    assert [one.place for one in other.executed] == sorted(one.place for one in other.executed)
    with pytest.raises(quintet.Mismatch):
        check([late, other])
    for witnesses, words in [([], "nothing to check"), ([late, early], "one member")]:
        with pytest.raises(quintet.BadValue, match=words):
            check(witnesses)

    isonets = joined(lab, 2, handlers=lambda me: ["note"], keep_witness=True)
    at_once([lambda isonet=isonet: work(isonet) for isonet in isonets])
    close(isonets)
    witnesses = [isonet.take_witness() for isonet in isonets]
    check(witnesses)
    check([pickle.loads(pickle.dumps(witness)) for witness in witnesses])
    assert Witness.from_bytes(witnesses[0].to_bytes()).executed == witnesses[0].executed
    with pytest.raises(quintet.BadValue, match="no witness"):
        Witness.from_bytes(witnesses[0].to_bytes()[:-1])


def test_a_member_counts_what_it_does_also_for_who_asks_behind_the_end(lab):
    asked = []

    def ask(message):
        with pytest.raises(quintet.BadValue, match="would wait for itself"):
            isonets[0].counters()
        asked.append(message.data)

    isonets = joined(lab, 2, handlers=lambda me: {"note": ask} if me == 0 else [])
    for number in range(10):
        with isonets[1].isochron() as i:
            i.send(0, "note", bytes([number]))
            i.write(X, number)
    assert [isonets[0].read(X) for _ in range(3)] == [9] * 3 and len(asked) == 10
    one, other = (isonet.counters() for isonet in isonets)
    assert (other.begun, other.executed, other.operations, other.parts, other.stamped) == (10, 10, 20, 10, 0)
    assert (one.begun, one.local, one.parts, one.parts_at_once + one.parts_waited) == (3, 3, 13, 10)
    assert (one.stamped, one.pulses, one.tokens, one.markers, one.marker_frames) == (10, 10, 0, 20, 20)
    intervals = one.pulse_intervals
    assert 0 <= intervals.shortest <= intervals.median <= intervals.p99 <= intervals.longest < WITHIN_S and intervals.median > 0
    assert intervals.count == sum(count for _, _, count in intervals.classes) == 9 and other.pulse_intervals.count == 0
    assert all(one[1] < next_[0] for one, next_ in zip(intervals.classes, intervals.classes[1:]))
    assert close(isonets) == [None, None]
    assert [isonet.counters() for isonet in isonets] == [one, other]
    isonets = joined(lab, 2)
    for isonet in isonets:
        isonet.leave()
        with pytest.raises(quintet.Closed, match="has left"):
            isonet.counters()


def test_a_member_whose_handler_does_not_return_is_named_by_who_waits_for_it(lab):
    stands_still, goes_on = threading.Event(), threading.Event()

    def stand_still(message):
        stands_still.set()
        assert goes_on.wait(WITHIN_S)

    isonets = joined(lab, 3, handlers=lambda me: {"note": stand_still} if me == 2 else [])
    first = isonets[0]
    assert [peer.is_awaited for peer in first.peers()] == [False, False]
    note = threading.Thread(target=first.send, args=(2, "note", b"data"))
    note.start()
    assert stands_still.wait(WITHIN_S)
    write = threading.Thread(target=first.write, args=(X, 1))
    write.start()
    end = time.monotonic() + WITHIN_S
    named = first.peers()[0]
    while not named.unreceived or named.unheard < 0.05:
        assert time.monotonic() < end, named
        time.sleep(0.001)
        named = first.peers()[0]
    assert named.member == 2 and named.is_awaited and named.unanswered >= 1 and named.unanswered_for > 0
    assert (named.is_full, named.full, named.full_for) == (False, 0, 0)
    goes_on.set()
    note.join(WITHIN_S)
    write.join(WITHIN_S)
    assert not any(peer.is_awaited for peer in first.peers())
    assert close(isonets) == [None] * 3
    assert first.peers() == []


def test_an_isochron_within_another_is_refused_and_one_that_never_ends_is_told_at_the_end(lab):
    for keep in (False, True):
        isonet, other = joined(lab, 2)
        with isonet.isochron() as i:
            i.write(X, 1)
            for within in (isonet.isochron, lambda isonet=isonet: isonet.read(X)):
                with pytest.raises(quintet.BadValue, match="within the block of another"):
                    within()
        with pytest.raises(ZeroDivisionError), isonet.isochron() as i:
            1 / 0
        assert isonet.read(X) == 1
        never = isonet.isochron()
        never.write(X, 2)
        if not keep:
            del never
        own, others = close([isonet, other])
        assert isinstance(own, quintet.BadValue) and "never ended" in str(own) and others is None


def test_the_same_in_an_event_loop():
    async def member(lab, me):
        arrived = asyncio.Event()
        loop = asyncio.get_running_loop()
        plain = {"hello": lambda message: loop.call_soon_threadsafe(arrived.set)}
        async with lab.isochrons("test", member=(me, 2), variables=[X, AT_ONE], handlers=["note"], plain_handlers=plain) as isonet:
            with isonet.isochron() as i:
                i.send(1 - me, "note", b"data")
                i.write(X, 5)
                y = i.read(AT_ONE)
                with pytest.raises(quintet.BadValue, match="not executed"):
                    await y
            assert await y == 0
            async for event in isonet.events():
                if event.handler == "note":
                    break
            await isonet.send_plain(1 - me, "hello")
            await asyncio.wait_for(arrived.wait(), WITHIN_S)
            async with isonet.isochron() as i:
                i.read(X)
                with pytest.raises(quintet.BadValue, match="within the block of another"):
                    await isonet.read(X)
                await asyncio.create_task(isonet.write(AT_ONE, me))
            held = asyncio.create_task(isonet.update(lambda x: x, X))
            await asyncio.sleep(0)
            held.cancel()
            assert await isonet.compare_and_swap(X, 5, 6) or await isonet.read(X) == 6
            assert (await isonet.counters()).executed >= 3
            assert [peer.member for peer in await isonet.peers()] == [1 - me]

    async def main():
        async with quintet.aio.connect() as lab:
            await asyncio.wait_for(asyncio.gather(*(member(lab, me) for me in range(2))), WITHIN_S)

    asyncio.run(main())
