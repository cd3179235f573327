"""Isochrons between members: threads of one process, tasks of one event loop, and processes."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading

import numpy
import pytest

import quintet
from quintet.isochrons import handler_number

WITHIN_S = 60
X = quintet.Variable(1, int)
Y = quintet.Variable(2, numpy.float32)
NAME = quintet.Variable(3, bytes, size=4)
GRID = quintet.Variable(4, numpy.int16, shape=(2, 3), copies=[0])
Z = quintet.Variable(5)
ALL = [X, Y, NAME, GRID]


@pytest.fixture
def lab():
    with quintet.connect() as lab:
        yield lab


def members(lab, count, work, **said):
    """What became of `work(isonet)` at each member, all at once: its result, or what it raised."""
    became = [None] * count

    def member(me):
        own = {key: value(me) if callable(value) else value for key, value in said.items()}
        try:
            with lab.isochrons("test", member=(me, count), limit=WITHIN_S, silence=WITHIN_S, **own) as isonet:
                became[me] = work(isonet)
        except Exception as error:
            became[me] = error

    threads = [threading.Thread(target=member, args=(me,)) for me in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WITHIN_S)
        assert not thread.is_alive()
    return became


def test_all_members_are_told_the_same_in_one_order_and_read_several_variables_at_one_instant(lab):
    logs = [[], []]

    def work(isonet):
        torn = 0
        for number in range(20):
            with isonet.isochron() as i:
                i.send_all("note", bytes([isonet.member, number]))
                i.write(X, number)
                i.write(Y, number / 4)
                own = i.read(X)
            assert own.value == number, "an isochron reads what it has written"
            x, y = isonet.read(X, Y)
            torn += y != x / 4
        return torn, i.place

    def handlers(me):
        return {"note": lambda message: logs[me].append((message.place, message.sender, message.data))}

    first, second = members(lab, 2, work, variables=ALL, handlers=handlers)
    assert first[0] == second[0] == 0 and first[1] != second[1]
    assert len(logs[0]) == 40 and logs[0] == logs[1] and logs[0] == sorted(logs[0], key=lambda one: one[0])


def test_values_keep_their_types_and_what_does_not_fit_is_refused(lab):
    grid = numpy.arange(6, dtype=numpy.int16).reshape(2, 3)

    def work(isonet):
        if isonet.member == 1:
            with isonet.isochron() as i:
                i.write(X, -(1 << 63))
                i.write(Y, 3)
                i.write(NAME, memoryview(b"four"))
                i.write(GRID, grid.astype(int))
        for variable, value in [
            (X, 1 << 63), (X, 1.5), (X, True), (Y, "text"), (NAME, b"five!"), (NAME, "four"), (GRID, grid[0]), (GRID, grid.astype(int) + 40_000), (GRID, grid * 1.5),
        ]:  # fmt: skip
            with pytest.raises(quintet.BadValue, match=f"variable {variable.number}"):
                isonet.write(variable, value)
        with pytest.raises(quintet.BadValue, match="no variable of this isonet"):
            isonet.read(quintet.Variable(9))
        with pytest.raises(quintet.BadValue, match="no number of a member"):
            isonet.send(-1, "note")
        with pytest.raises(quintet.BadValue, match="node 2"):
            isonet.send(2, "note")
        with isonet.isochron() as i:
            with pytest.raises(quintet.TooLarge):
                i.send(0, "note", bytes(70_000))
            reading = i.read(X)
            with pytest.raises(quintet.BadValue, match="not executed"):
                reading.value
        with pytest.raises(ZeroDivisionError), isonet.isochron() as i:
            i.write(X, 1)
            1 / 0
        return None

    became = members(lab, 2, work, variables=ALL)
    assert became == [None, None]

    def last(isonet):
        with isonet.isochron() as i:
            i.write(GRID, grid)
            values = [i.read(variable) for variable in (Y, NAME, GRID)]
        return [read.value for read in values]

    y, name, read = members(lab, 1, last, variables=ALL)[0]
    assert (type(y), y, name) == (numpy.float32, 0, bytes(4))
    assert read.dtype == numpy.int16 and (read == grid).all() and read.flags.writeable


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ((1 << 32,), "no number"), ((1, bytes), "size"), ((1, object), "fixed size"), ((1, "no type"), "no type"), ((1, float, 513), "4104 bytes"),
    ],
)  # fmt: skip
def test_a_variable_that_cannot_be_is_refused(said, words):
    with pytest.raises(quintet.BadValue, match=words):
        quintet.Variable(*said[:2], shape=said[2] if len(said) > 2 else None)


def test_updates_of_several_variables_lose_nothing_and_never_wait_in_a_circle(lab):
    accounts = [quintet.Variable(number) for number in range(3)]

    def work(isonet):
        for number in range(15):
            one, other = accounts[(number + isonet.member) % 3], accounts[(number * 2 + isonet.member + 1) % 3]
            if one != other:
                isonet.update(lambda a, b: (a - 1, b + 1), one, other)
            isonet.update(lambda a: a + 1, one)
        with pytest.raises(ZeroDivisionError):
            isonet.update(lambda a: a / 0, one)  # the place is given back
        with pytest.raises(quintet.BadValue, match="does not fit"):
            isonet.update(lambda a: "text", one)
        return None

    assert members(lab, 2, work, variables=accounts) == [None, None]

    def swaps(isonet):
        won = [isonet.compare_and_swap(X, number, number + 1) for number in range(10)]
        return won, isonet

    # Each number is swapped by one member at most, and by one of the two it is.
    (first, one), (second, _) = members(lab, 2, swaps, variables=[X])
    assert not any(a and b for a, b in zip(first, second)) and one.closed

    def total(isonet):
        isonet.update(lambda *values: (7, 8, 9), *accounts)
        return sum(isonet.read(*accounts))

    assert members(lab, 1, total, variables=accounts) == [24]


@pytest.mark.parametrize("updates", [1, 2, 5, 13])
def test_updates_lose_nothing_to_a_member_that_leaves_between_two_of_its_own(lab, updates):
    def work(isonet):
        for _ in range(updates if isonet.member == 2 else 30):
            isonet.update(lambda count: count + 1, X)
        if isonet.member == 2:
            isonet.leave()
            return None
        while 2 in isonet.view.members:
            isonet.update(lambda count: count, X)
        isonet.update(lambda done: done + 1, Z)
        while isonet.read(Z) < 2 and len(isonet.view.members) == 2:
            pass
        return isonet.read(X)

    left = members(lab, 3, work, variables=[X, Z])
    assert left[:2] == [60 + updates] * 2 and (left[2] is None or isinstance(left[2], quintet.Closed))


def test_a_handler_that_raises_ends_its_member_with_its_exception_and_the_others_go_on(lab):
    def fails(message):
        raise KeyError("no such account")

    def work(isonet):
        if isonet.member == 0:
            with contextlib.suppress(quintet.PeerDied):         # it may be gone before it can say that it has it
                isonet.send(1, "enter", b"x")
        while isonet.member == 1 or 1 in isonet.view.members:
            with contextlib.suppress(quintet.PeerDied):         # the value of a place that who is gone had reserved
                isonet.update(lambda value: value + 1, X)
        with isonet.isochron() as i:
            i.write(X, 7)
            own = i.read(X)
        assert own.value == 7 and i.place.view == isonet.view.number > 1
        with pytest.raises(quintet.PeerDied, match="member 1 has ended"):
            isonet.send(1, "enter", b"gone")
        return isonet.view.members

    def handlers(me):
        return {"enter": fails if me == 1 else None}

    left, own, other = members(lab, 3, work, variables=[X], handlers=handlers)
    assert isinstance(own, quintet.TaskFailed) and "handler 'enter' of this member raised KeyError" in str(own)
    assert isinstance(own.__cause__, KeyError)
    assert left == (0, 2) == other


def test_a_handler_begins_isochrons_and_may_not_wait_for_them(lab):
    refused = []
    isonets, is_known = {}, [threading.Event(), threading.Event()]

    def handlers(me):
        def answer(message):
            with message.isochron() as i:
                i.write(X, message.data[0])
                i.send(message.sender, "answer", b"done")
            assert is_known[me].wait(WITHIN_S)      # a message may come before `join` has returned
            for wait in (isonets[me].close, lambda: isonets[me].read(X), lambda: isonets[me].update(abs, X)):
                try:
                    wait()
                except quintet.BadValue as error:
                    refused.append(str(error))

        return {"ask": answer, "answer": None}

    def work(isonet):
        isonets[isonet.member] = isonet
        is_known[isonet.member].set()
        if isonet.member == 0:
            isonet.send(1, "ask", b"\x05")
            events = isonet.events(WITHIN_S)
            while next(events).handler != "answer":
                pass
            assert isonet.read(X) == 5

    assert members(lab, 2, work, variables=[X], handlers=handlers) == [None, None]
    assert len(refused) == 3 and all("handler" in text for text in refused)


def test_handlers_are_checked_before_anybody_is_waited_for(lab):
    async def handler(message): ...

    for handlers, words in [({"a": handler}, "coroutine"), ({"a": 7}, "called"), ({-1: None}, "no handler"), ({handler_number("a"): None, "a": None}, "one number")]:
        with pytest.raises(quintet.BadValue, match=words):
            lab.isochrons("test", handlers=handlers)
    with pytest.raises(quintet.BadValue, match="quintet run -n N"), lab.isochrons:
        pass
    with pytest.raises(quintet.TimedOut, match="come: 1"):
        lab.isochrons("test", member=(0, 2), limit=0).join()


def test_events_are_in_order_and_who_reads_too_slowly_is_told_where_some_are_lost(lab):
    def work(isonet):
        for number in range(9):
            isonet.write(X, number)
        isonet.send(0, 7, b"end")
        events = isonet.events()
        kept = [next(events) for _ in range(4)]
        with pytest.raises(quintet.LimitReached, match="6 events were lost"):
            next(events)
        isonet.write(Y, 2.5)
        later = next(events)
        with pytest.raises(quintet.TimedOut):
            next(isonet.events(timeout=0))
        isonet.native.close()
        assert list(events) == [], "it ends with the isonet"
        assert [event.value for event in kept] == [0, 1, 2, 3] and later.variable == Y and later.value == 2.5
        assert kept[0].place < kept[1].place < later.place and later.sender == 0 and later.handler is None

    assert members(lab, 1, work, variables=ALL, handlers=[7], max_events=4) == [None]


def test_who_waits_is_told_which_handler_of_its_member_holds_it_up(lab):
    goes_on = threading.Event()

    def work(isonet):
        with isonet.isochron() as i:
            i.send(0, "slow")
            i.begin()
        with pytest.raises(quintet.TimedOut, match="handler 'slow' of this member has been running"):
            while True:
                with isonet.isochron(timeout=0.05) as i:
                    i.read(X)
        goes_on.set()

    assert members(lab, 1, work, variables=[X], handlers={"slow": lambda message: goes_on.wait(WITHIN_S)}) == [None]


def test_the_same_in_an_event_loop():
    async def member(lab, me, log):
        handlers = {"note": lambda message: log.append(message.data), "done": None}
        async with lab.isochrons("test", member=(me, 2), variables=[X, Y], handlers=handlers) as isonet:
            async with isonet.isochron() as i:
                i.send_all("note", bytes([me]))
            with isonet.isochron() as i:
                i.write(Y, 1.5)
                y = i.read(Y)
            await i
            assert y.value == 1.5
            await asyncio.gather(*(isonet.update(lambda x: x + 1, X) for _ in range(10)))
            # Two isochrons of one thread at once.
            with isonet.isochron() as one, isonet.isochron() as other:
                one.read(X)
                other.read(X)
            await asyncio.gather(one, other)
            async with isonet.isochron() as i:
                i.send_all("done", bytes([me]))
            done = set()
            async for event in isonet.events():
                if event.handler == "done":
                    done.add(event.sender)
                if len(done) == 2:
                    break
            held = asyncio.create_task(isonet.update(lambda x: x, X)) if me == 0 else None
            if held:
                await asyncio.sleep(0)
                held.cancel()
            return await isonet.read(X)

    async def main():
        async with quintet.aio.connect() as lab:
            logs = [[], []]
            values = await asyncio.wait_for(asyncio.gather(*(member(lab, me, logs[me]) for me in range(2))), WITHIN_S)
            assert values == [20, 20] and sorted(logs[0]) == [b"\0", b"\1"] and logs[0] == logs[1]
            with pytest.raises(quintet.BadValue, match="member 2"):
                await lab.isochrons("test", member=(2, 2)).join()

    asyncio.run(main())


def test_tasks_of_a_loop_go_on_without_a_member_that_leaves():
    async def member(lab, me):
        async with lab.isochrons("test", member=(me, 3), variables=[X], silence=WITHIN_S) as isonet:
            done = 0
            while isonet.view.members != (0, 1) and (me, done) != (2, 5):
                with contextlib.suppress(quintet.PeerDied):     # the value of a place as the view ended
                    await isonet.update(lambda x: x + 1, X)
                done += 1
            if me == 2:
                isonet.leave()
            else:
                await isonet.write(X, 7)
            return done

    async def main():
        async with quintet.aio.connect() as lab:
            done = await asyncio.wait_for(asyncio.gather(*(member(lab, me) for me in range(3))), WITHIN_S)
            assert done[2] == 5

    asyncio.run(main())


INTERRUPTED = """
import quintet, sys, threading
X = quintet.Variable(1)
lab = quintet.connect()
def other():
    with lab.isochrons("test", member=(1, 2), variables=[X]) as isonet:
        with isonet.isochron() as i:
            i.schedule(X)
        held.set()
        goes_on.wait()
        with isonet.isochron() as i:
            i.assign(X, 5)
        isonet.update(lambda x: x + 1, X)
held, goes_on = threading.Event(), threading.Event()
thread = threading.Thread(target=other)
thread.start()
with lab.isochrons("test", member=(0, 2), variables=[X]) as isonet:
    held.wait()
    for wait in (lambda: isonet.read(X), lambda: isonet.update(abs, X)):
        try:
            print("waits", flush=True)
            wait()
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    goes_on.set()
    thread_lock = isonet.update(lambda x: x + 10, X)  # the place was given back
    print(thread_lock >= 15, flush=True)
thread.join()
left = lab.isochrons("never closed", member=(0, 1), handlers={"a": print}).join()
"""


def test_ctrl_c_ends_a_wait_and_what_was_reserved_is_given_back():
    program = subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True)
    for _ in range(2):
        assert program.stdout.readline() == "waits\n"
        # Whether it waits already does not matter: the signal is looked for once it does.
        os.kill(program.pid, signal.SIGINT)
        assert program.stdout.readline() == "interrupted\n"
    assert program.stdout.readline() == "True\n"
    assert program.wait(WITHIN_S) == 0


class Book:
    """A state machine: what was entered, in the one order."""

    def __init__(self):
        self.entered = []

    def enter(self, message):
        self.entered.append(message.data.decode())

    def give(self):
        return "\n".join(self.entered).encode()

    def take(self, state):
        self.entered = state.decode().split("\n") if state else []

    def said(self, me, of=3, **more):
        own = dict(variables=[X], handlers={"enter": self.enter}, state=(self.give, self.take), rejoinable=True, limit=WITHIN_S)
        return dict(member=(me, of), **own, **more)


class Unreadable(Book):
    def take(self, state):
        raise ValueError("no such book")


def test_a_member_that_left_comes_back_with_the_variables_and_the_state_of_the_others(lab):
    books, isonets = [Book() for _ in range(3)], [None] * 3

    def join(me):
        isonets[me] = lab.isochrons("test", **books[me].said(me)).join()

    joining = [threading.Thread(target=join, args=(me,)) for me in range(3)]
    for thread in joining:
        thread.start()
    for thread in joining:
        thread.join(WITHIN_S)

    def enter(isonet, text, value):
        while True:
            try:
                with isonet.isochron() as i:
                    i.send_all("enter", text)
                    i.write(X, value)
                return
            except quintet.ViewChanged:
                continue

    enter(isonets[0], b"all are there", 1)
    isonets[1].leave()
    enter(isonets[2], b"without the second", 2)
    with pytest.raises(quintet.TaskFailed, match="raised ValueError: no such book") as failed:
        lab.isochrons("test", **Unreadable().said(1, rejoin=True)).join()
    assert isinstance(failed.value.__cause__, ValueError)
    books[1] = Book()
    isonets[1] = lab.isochrons("test", **books[1].said(1, rejoin=True)).join()
    assert isonets[1].view.members == (0, 1, 2)
    assert books[1].entered == ["all are there", "without the second"] and isonets[1].read(X) == 2
    enter(isonets[1], b"it is back", 3)
    closing = [threading.Thread(target=isonet.close) for isonet in isonets]
    for thread in closing:
        thread.start()
    for thread in closing:
        thread.join(WITHIN_S)
    assert [book.entered for book in books] == [["all are there", "without the second", "it is back"]] * 3


def test_who_cannot_come_back_is_told_why(lab):
    with pytest.raises(quintet.NoHandler, match="lets others come back"):
        lab.isochrons("test", **Book().said(1, rejoin=True)).join()
    with pytest.raises(quintet.BadValue, match="two functions"):
        lab.isochrons("test", member=(0, 1), state=(print, None))
