"""Arrays that were taken as views of another process's memory, and are held while the interpreter ends."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import LONG_S

import quintet
from quintet import _native

ARRAYS = 8
ITEMS = (1 << 20) // 8
FORMAL = quintet.array("f8", 1)

TAKES = """
import atexit, contextlib, gc, sys, threading

def check(arrays):
    assert len(arrays) == {arrays} and all((array == n).all() for n, array in enumerate(arrays))

{before}
import numpy
import quintet
lab = quintet.connect(sys.argv[1])

def taken():
    views = [lab.space.take("a", n, quintet.array("f8"))[2] for n in range({arrays})]
    check(views)
    return views

{holds}
print("held", flush=True)
sys.stdin.readline()
"""

THREAD = """
held = threading.Event()

def hold(views):
    # The lab is closed at the end of the program, and its threads are not waited for.
    with contextlib.suppress(quintet.Closed):
        {does}

threading.Thread(target=hold, args=(taken(),), daemon=True).start()
held.wait()
"""

OUTLIVES = """
def hold(views, main):
    main.join()
    check(views)

threading.Thread(target=hold, args=(taken(), threading.main_thread())).start()
"""

COLLECTED = """
class Last:
    def __del__(self, check=check):
        check(self.kept)

gc.disable()
last = Last()
last.kept, last.itself = taken(), last
del last
"""

LEASED = """
kept = [lab.space.lease("a", n, quintet.array("f8")) for n in range({arrays})]
check([task[2] for task in kept])
"""

HOLDS = {
    "by the module": ("", "kept = taken()"),
    "by the module, of a lab that was closed": ("", "kept = taken(); lab.close()"),
    "by parts of them": ("", "kept = [array[5:].reshape(-1, 1) for array in taken()]"),
    "by leases": ("", LEASED.format(arrays=ARRAYS)),
    "by a thread that waits": ("", THREAD.format(does="held.set(); lab.space.take('never')")),
    "by a thread that reads them": ("", THREAD.format(does="while True: check(views); held.set()")),
    "by a thread that takes more": (
        "",
        THREAD.format(does="while True: views.append(lab.space.read('more', quintet.array('f8'))); held.set()"),
    ),
    "by a thread that outlives the program's end": ("", OUTLIVES),
    "by a handler that runs first": ("", "atexit.register(check, taken())"),
    "by a handler that runs last": ("kept = []; atexit.register(check, kept)", "kept += taken()"),
    "by what is collected at the end": ("", COLLECTED),
}


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[tuple[quintet.Lab, str]]:
    """A space that this process serves, which therefore lends the memory."""
    with quintet.serve(tmp_path / "own") as server, quintet.connect(server.address) as lab:
        yield lab, server.address


def lent_bytes() -> int:
    """What this process has of memory that others may see: has mapped, or has a descriptor of."""
    with open("/proc/self/maps") as maps:
        ranges = [line.split(" ", 1)[0].split("-") for line in maps if "/memfd:" in line]
    bytes_of_each = [int(end, 16) - int(start, 16) for start, end in ranges]
    for descriptor in os.listdir("/proc/self/fd"):
        # Some are closed meanwhile.
        with contextlib.suppress(OSError):
            if "memfd:" in os.readlink(f"/proc/self/fd/{descriptor}"):
                bytes_of_each.append(os.fstat(int(descriptor)).st_blocks * 512)
    return sum(bytes_of_each)


def wait_until(is_so: Callable[[], bool]) -> None:
    limit = time.monotonic() + LONG_S
    while not is_so():
        assert time.monotonic() < limit, "it is still not so"
        time.sleep(0.001)


def put(space: quintet.Space, *name: object) -> None:
    array = quintet.empty(ITEMS)
    array[:] = name[-1] if len(name) > 1 else 0
    space.out(*name, array)


def run(space: quintet.Space, address: str, program: str) -> None:
    """A program that takes what is put for it, holds it, and ends."""
    for n in range(ARRAYS):
        put(space, "a", n)
    holder = subprocess.Popen(
        [sys.executable, "-c", program, address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    said = holder.stdout.readline()
    rest, errors = holder.communicate("\n", timeout=LONG_S)
    assert (said, rest, errors, holder.returncode) == ("held\n", "", "", 0)


@pytest.mark.parametrize("held", HOLDS)
def test_views_held_at_the_end_of_a_program_harm_nobody(own_server, held):
    (lab, address), (before, holds) = own_server, HOLDS[held]
    program = TAKES.format(arrays=ARRAYS, before=before, holds=holds)
    space = lab.space
    put(space, "more")
    copied, kept = _native.bulk_bytes_copied(), []
    for _ in range(4):
        run(space, address, program)
        # Those that were leased come back.
        wait_until(lambda: space.status().leases == 0)
        for n in range(ARRAYS):
            space.take_if("a", n, FORMAL)
        assert space.status().tuples == 1
        kept.append(lent_bytes())
    wait_until(lambda: lent_bytes() <= kept[1])
    assert _native.bulk_bytes_copied() == copied, "there was memory to lend each time"
