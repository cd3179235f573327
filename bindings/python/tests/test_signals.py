"""A signal ends a wait, and nothing is lost."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest
from conftest import LONG_S

import quintet


@pytest.mark.parametrize("operation", ["take", "read", "lease"])
def test_an_interrupt_ends_a_wait(client, operation):
    space, other = client().space, client().space

    def interrupt():
        while other.status().waiters == 0:
            threading.Event().wait(0)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        getattr(space, operation)("kept", int, timeout=LONG_S)
    thread.join()
    assert other.status().waiters == 0, "it was cancelled"
    other.out("kept", 1)
    assert other.take("kept", int, timeout=LONG_S) == ("kept", 1)


def test_an_interrupt_ends_the_wait_for_a_result(client):
    space = client().space
    take = space.begin().take("kept", int)
    thread = threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        thread.start()
        take.result(LONG_S)
    thread.join()
    space.out("kept", 1)
    assert take.result(LONG_S) == ("kept", 1), "the operation goes on"


class Handled(Exception):
    """Raised by a signal's handler."""


@pytest.fixture(params=["interrupt", "handler"])
def signal_and_put(request) -> Iterator[Callable[..., AbstractContextManager[None]]]:
    """A block that a signal ends by an exception, what it waits for being put right after the signal."""

    def handle(_number, _frame):
        raise Handled

    number, raised = (signal.SIGINT, KeyboardInterrupt) if request.param == "interrupt" else (signal.SIGUSR1, Handled)
    before = signal.getsignal(number)
    if number == signal.SIGUSR1:
        signal.signal(number, handle)

    @contextmanager
    def block(other: quintet.Space) -> Iterator[None]:
        begun = threading.Event()

        def act():
            begun.wait()
            while other.status().waiters == 0:
                threading.Event().wait(0)
            os.kill(os.getpid(), number)
            other.out("kept", 1)

        thread = threading.Thread(target=act)
        thread.start()
        with pytest.raises(raised):
            begun.set()
            yield
        thread.join()

    yield block
    signal.signal(number, before)


@pytest.mark.parametrize("operation", ["take", "read", "lease"])
def test_a_tuple_that_comes_with_a_signal_is_not_lost(client, signal_and_put, operation):
    space, other = client().space, client().space
    for _ in range(5):
        with signal_and_put(other):
            getattr(space, operation)("kept", int, timeout=LONG_S)
        assert other.take("kept", int, timeout=LONG_S) == ("kept", 1)
        assert other.status().waiters == 0


def test_a_result_that_comes_with_a_signal_can_be_asked_for_again_or_goes_back(client, signal_and_put):
    space, other = client().space, client().space
    for operation in ("take", "lease"):
        for is_asked_again in (True, False):
            pending = getattr(space.begin(), operation)("kept", int)
            with signal_and_put(other):
                pending.result(LONG_S)
            if is_asked_again:
                assert tuple(pending.result(LONG_S)) == ("kept", 1)
                assert other.take_if("kept", int) is None
            del pending
            if not is_asked_again or operation == "lease":
                assert other.take("kept", int, timeout=LONG_S) == ("kept", 1)


def test_a_tuple_that_comes_with_a_signal_to_an_event_loop_is_not_lost(tmp_path, signal_and_put):
    with quintet.serve(tmp_path / "space") as server, quintet.connect(server.address) as other:

        async def take() -> None:
            told: list[BaseException] = []
            task = asyncio.current_task()

            def tell(_loop, context) -> None:
                told.append(context["exception"])
                task.cancel()

            # What a handler raises in a callback of the loop, asyncio only tells of, and goes on.
            asyncio.get_running_loop().set_exception_handler(tell)
            try:
                async with quintet.aio.connect(server.address) as lab:
                    await lab.space.take("kept", int, timeout=LONG_S)
            except asyncio.CancelledError:
                raise (told or [asyncio.CancelledError()])[0] from None

        for _ in range(3):
            with signal_and_put(other.space):
                asyncio.run(take())
            assert other.space.take("kept", int, timeout=LONG_S) == ("kept", 1)


def test_what_was_only_looked_at_goes_back(client):
    space = client().space
    space.out("kept", 1)
    take = space.begin().take("kept", int)
    assert wait_until_done(take) and "done" in repr(take)
    del take
    assert space.take_if("kept", int) == ("kept", 1)


def wait_until_done(pending: quintet.Pending) -> bool:
    while not pending.done():
        threading.Event().wait(0)
    return True


def test_an_interrupt_ends_an_acknowledgement_that_waits_for_room(tmp_path):
    with quintet.serve(tmp_path / "space", max_tuples=2) as server, quintet.connect(server.address) as lab:
        space = lab.space
        space.out_many([("task", 1), ("before",)])
        space.lease("before").acknowledge(("reserve", 1), ("reserve", 2))
        space.out("filling", 1)
        task = space.lease("task", int)

        def interrupt():
            with quintet.connect(server.address) as other:
                while other.space.status().parked == 0:
                    threading.Event().wait(0)
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            task.acknowledge(("result", 1), ("result", 2))
        thread.join()
        assert space.status().parked == 0, "it was called off"
        with pytest.raises(quintet.LeaseLost):
            task.release()
        again = space.lease("task", int, timeout=LONG_S)
        assert again.attempt == 2, "the task has returned"
        space.take("filling", 1)
        again.acknowledge(("result", 1), ("result", 2))
        assert (space.count("result", int), space.count("task", int)) == (2, 0)


def interrupt_while_silent(server: subprocess.Popen[str], lab: quintet.Lab, ask: Callable[[quintet.Space], object]) -> bool:
    """Whether an interrupt ended the wait for a space that says nothing, before the silence had ended the connection."""
    asking = threading.Event()

    def interrupt():
        asking.wait()
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    server.send_signal(signal.SIGSTOP)
    os.waitpid(server.pid, os.WUNTRACED)
    interval = sys.getswitchinterval()
    # The other thread goes on when this one waits for the space.
    sys.setswitchinterval(LONG_S)
    try:
        with pytest.raises(KeyboardInterrupt):
            asking.set()
            ask(lab.space)
    finally:
        sys.setswitchinterval(interval)
        server.send_signal(signal.SIGCONT)
    thread.join()
    try:
        lab.space.status()
    except quintet.PeerSilent:
        return False
    return True


@pytest.mark.parametrize("ask", [lambda space: space.count("x"), quintet.Space.status, lambda space: space.take_if("x")])
def test_an_interrupt_ends_the_wait_for_a_silent_space(server, socket, ask):
    def is_interrupted() -> bool:
        with quintet.connect(f"quintet://{socket}") as lab:
            return interrupt_while_silent(server, lab, ask)

    # The wait is short, as with connecting.
    assert any(is_interrupted() for _ in range(10))


def interrupt_connecting(listener: socket.socket) -> bool:
    """Whether an interrupt ended the wait for the listener's answer before it had ended by itself."""
    accepted = []

    def interrupt():
        accepted.append(listener.accept()[0])
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        quintet.connect(f"quintet://{listener.getsockname()}")
    thread.join()
    with accepted[0] as other:
        other.setblocking(False)
        assert other.recv(4096), "the offer"
        try:
            return bool(other.recv(1))
        except BlockingIOError:
            return True


def test_an_interrupt_ends_connecting(tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(tmp_path / "silent"))
        listener.listen()
        # The wait is short, and may be over on a machine that is busy.
        assert any(interrupt_connecting(listener) for _ in range(10))


def test_a_handler_that_returns_does_not_end_the_wait(client):
    space, handled = client().space, []

    def handle(_number, _frame):
        handled.append(True)
        space.out("kept", 2)

    before = signal.signal(signal.SIGUSR1, handle)
    try:
        thread = threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGUSR1))
        thread.start()
        assert space.take("kept", int, timeout=LONG_S) == ("kept", 2)
        thread.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert handled


def test_the_space_is_used_by_threads_while_one_waits(client):
    space = client().space
    taken = []
    threads = [threading.Thread(target=lambda: taken.append(space.take("t", int, timeout=LONG_S)[1])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for number in range(8):
        space.out("t", number)
    for thread in threads:
        thread.join(LONG_S)
    assert sorted(taken) == list(range(8))
    assert isinstance(space, quintet.Space)
