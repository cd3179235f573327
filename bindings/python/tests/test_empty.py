"""Arrays that are put and taken where they lie: what is copied is counted, not timed."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest
from conftest import serving

import quintet
from quintet import _native

ITEMS = 131_072 // 8
FORMAL = quintet.array("f8", 1)


def full_of(value: float, items: int = ITEMS) -> numpy.ndarray:
    array = quintet.empty(items, "f8")
    array[:] = value
    return array


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[quintet.Lab]:
    """A space that this process serves and uses over shared memory, so that both sides count what they copy."""
    with quintet.serve(tmp_path / "own") as server, quintet.connect(server.address) as lab:
        yield lab


def copied() -> int:
    return _native.bulk_bytes_copied()


@pytest.mark.parametrize("items", [ITEMS, ITEMS - 5, (1 << 20) // 8])
def test_nothing_of_an_array_is_copied_from_put_to_take(own_server, items):
    space, before = own_server.space, copied()
    for n in range(40):
        space.out("a", n, full_of(n, items))
        back = space.take("a", n, FORMAL)[2]
        assert back.shape == (items,) and (back == n).all() and not back.flags.writeable
        del back
    assert copied() == before


def test_what_was_taken_is_put_again_without_a_copy(own_server):
    space, before = own_server.space, copied()
    for _ in range(20):
        space.out("a", full_of(1))
        for _ in range(3):
            space.out("a", space.take("a", FORMAL)[1])
        assert (space.take("a", FORMAL)[1] == 1).all()
    assert copied() == before
    space.out("a", full_of(2))
    for _ in range(100):
        space.out("a", space.take("a", FORMAL)[1])
    assert (space.take("a", FORMAL)[1] == 2).all(), "each time it is lent on, until there is no place"


def test_other_arrays_are_copied(own_server):
    space, before = own_server.space, copied()
    space.out("a", numpy.zeros(ITEMS))
    space.take("a", FORMAL)
    assert copied() - before == ITEMS * 8, "once, into memory that is lent"


def test_an_array_that_was_put_cannot_be_written(client):
    space = client().space
    array = full_of(2)
    part = array.reshape(2, -1)
    space.out("a", part)
    for view in (array, part):
        with pytest.raises(ValueError, match="read-only"):
            view[0] = 3
    assert (space.read("a", quintet.array("f8", 2))[1] == 2).all()
    space.out("a", array)
    assert (space.take("a", FORMAL)[1] == 2).all()


def test_views_in_another_order_or_of_a_part_are_put_as_they_are_seen(client):
    space = client().space
    square = quintet.empty((128, 256))
    square[:] = numpy.arange(128 * 256).reshape(128, 256)
    for sent in (square.T, square[1:], square[:, ::-1], square[::2], square.view(">f8"), square.view("u8"), square):
        assert sent is square or square.flags.writeable or sent.dtype == "u8"
        space.out("a", sent)
        back = space.take("a", quintet.array(sent.dtype, 2))[1]
        numpy.testing.assert_array_equal(back, sent)


@pytest.mark.parametrize("shape", [(), 0, 5, (3, 0), (70, 90), 1 << 17, (1 << 18) + 1])
@pytest.mark.parametrize("dtype", ["?", "i2", "f4", "f8", ">f8"])
def test_arrays_of_every_size_are_made(client, shape, dtype):
    space = client().space
    array = quintet.empty(shape, dtype)
    assert array.shape == numpy.empty(shape).shape and array.dtype == dtype and array.flags.writeable
    array[...] = 1
    space.out("a", array)
    assert (space.take("a", quintet.array(dtype, array.ndim))[1] == 1).all()


@pytest.mark.parametrize("shape", [(128, 128), [128, 128], numpy.array([128, 128]), numpy.int64(128 * 128), numpy.array(128 * 128)])
def test_a_shape_is_whatever_numpy_takes_for_one(own_server, shape):
    space, before = own_server.space, copied()
    array = quintet.empty(shape)
    array[:] = 1
    assert array.shape == numpy.empty(shape).shape
    space.out("a", array)
    assert (space.take("a", quintet.array(float, array.ndim))[1] == 1).all()
    assert copied() == before


@pytest.mark.parametrize("duplicate", [numpy.copy, copy.copy, copy.deepcopy, lambda array: pickle.loads(pickle.dumps(array, protocol=4))])
def test_a_copy_of_an_array_that_was_put_can_be_written(client, duplicate):
    space, array = client().space, full_of(2)
    space.out("a", array)
    duplicate(array)[0] = 3
    assert array[0] == 2


def test_an_array_that_could_not_be_put_cannot_be_written_either(client):
    array = full_of(2)
    with pytest.raises(quintet.BadValue):
        client().space.out(array, object())
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 3


def test_what_no_array_can_be_is_refused():
    with pytest.raises(quintet.BadValue, match="dtype object .* use bool"):
        quintet.empty(3, object)
    with pytest.raises(quintet.BadValue, match="dtype nonsense"):
        quintet.empty(3, "nonsense")
    for shape, error in ((-1, ValueError), ("x", TypeError), (2.5, TypeError), ({70, 90}, TypeError)):
        with pytest.raises(error):
            quintet.empty(shape)
    assert quintet.empty(100_000).dtype == float


def test_an_array_in_a_template_stays_writable(client):
    space = client().space
    wanted = full_of(4)
    space.out("a", full_of(4))
    assert space.take_if("a", wanted) is not None
    wanted[0] = 5
    assert space.take_if("a", wanted) is None


def test_more_arrays_are_kept_than_a_connection_lends(own_server):
    space = own_server.space
    for n in range(40):
        space.out("a", n, full_of(n))
    kept = [space.take("a", n, FORMAL)[2] for n in range(40)]
    for n in range(40):
        space.out("b", full_of(-1))
    assert all((array == n).all() for n, array in enumerate(kept))


def test_a_taken_array_outlives_its_connection_and_its_server(tmp_path):
    with serving(str(tmp_path / "space")) as (server, address):
        with quintet.connect(address) as lab:
            for n in range(4):
                lab.space.out("a", n, full_of(n))
            kept = [lab.space.take("a", n, FORMAL)[2] for n in range(2)]
        with quintet.connect(address) as lab:
            kept += [lab.space.take("a", n, FORMAL)[2] for n in range(2, 4)]
            os.kill(server.pid, signal.SIGKILL)
            server.wait()
            full = [full_of(-1) for _ in range(40)]
    gc.collect()
    assert all((array == n).all() for n, array in enumerate(kept))
    assert len(full) == 40


HOLDER = """
import os, sys, quintet
lab = quintet.connect(sys.argv[1])
array = quintet.empty(16384)
array[:] = 7
lab.space.out("kept", array)
back = lab.space.read("kept", quintet.array("f8"))[1]
assert (back == 7).all()
print("ready", flush=True)
if sys.argv[2] == "killed":
    sys.stdin.read()
"""


@pytest.mark.parametrize("end", ["exits", "killed"])
def test_what_a_client_put_outlives_it(socket, end):
    command = [sys.executable, "-c", HOLDER, str(socket), end]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "ready\n"
    if end == "killed":
        holder.kill()
    assert holder.wait() == (-signal.SIGKILL if end == "killed" else 0)
    holder.communicate()
    with quintet.connect(str(socket)) as lab:
        assert (lab.space.take("kept", FORMAL)[1] == 7).all()


def test_a_forked_child_keeps_what_it_had(own_server):
    space = own_server.space
    space.out("a", full_of(1))
    taken, put = space.take("a", FORMAL)[1], full_of(2)
    space.out("b", put)
    told, tells = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(tells)
        os.read(told, 1)
        os._exit(0 if (taken == 1).all() and (put == 2).all() else 1)
    os.close(told)
    del taken, put
    space.take("b", FORMAL)
    others = [full_of(9) for _ in range(60)]
    os.close(tells)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    del others
