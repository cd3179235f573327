"""Fields: what goes in comes out, of the same type; what cannot go in is refused by name."""

from __future__ import annotations

import copy
import enum
import gc
import pickle

import numpy
import pytest

import quintet

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]


@pytest.mark.parametrize(
    ("value", "formal"),
    [(0, int), (-(2**63), int), (2**63 - 1, int), (1.5, float), (float("inf"), float), (True, bool), ("é\0", str), ("", str),
     (b"", bytes), (b"\0x" * 5000, bytes)],
)  # fmt: skip
def test_plain_values(client, value, formal):
    space = client().space
    space.out("v", value)
    assert space.read("v", value) == ("v", value)
    back = space.take("v", formal)[1]
    assert back == value and type(back) is type(value)


def test_bytes_like_values(client):
    space = client().space
    space.out(bytearray(b"ab"), memoryview(b"abcdef")[::2])
    assert space.take(bytearray, memoryview) == (b"ab", b"ace")


def test_subclasses_of_plain_types(client):
    space = client().space
    colour = enum.IntEnum("colour", {"RED": 3})
    space.out(colour.RED, numpy.float64(2.5), numpy.str_("s"))
    assert space.take(int, float, str) == (3, 2.5, "s")


@pytest.mark.parametrize("name", DTYPES)
def test_scalars_keep_their_width(client, name):
    space, dtype = client().space, numpy.dtype(name)
    value = dtype.type(1)
    space.out("s", value)
    assert space.read("s", dtype) == space.read("s", dtype.type) == ("s", value)
    back = space.take("s", value)[1]
    assert back == value
    plain = {"?": bool, "i8": int, "f8": float}.get(name, dtype.type)
    assert type(back) is plain


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0, 4), (70, 90)])
def test_arrays(client, name, shape):
    space = client().space
    sent = numpy.arange(numpy.prod(shape, dtype=int)).reshape(shape).astype(name)
    space.out("a", sent)
    assert space.take_if("a", quintet.array(name, len(shape) + 1)) is None
    back = space.take("a", quintet.array(name, len(shape)))[1]
    assert back.dtype == sent.dtype and back.shape == shape
    numpy.testing.assert_array_equal(back, sent)
    assert not back.flags.writeable


def test_arrays_of_any_memory_order(client):
    space = client().space
    plain = numpy.arange(24.0).reshape(4, 6)
    for sent in (plain.T, plain[::2, ::-1], numpy.asfortranarray(plain), plain.astype(">f8"), plain[1]):
        space.out("a", sent)
        numpy.testing.assert_array_equal(space.take("a", quintet.array(float, sent.ndim))[1], sent)


def test_fixed_and_free_dimensions(client):
    space = client().space
    space.out("a", numpy.zeros((3, 5)))
    assert space.take_if("a", quintet.array("f8", (2, None))) is None
    assert space.take("a", quintet.array("f8", (3, None)))[1].shape == (3, 5)
    assert repr(quintet.array("f8", (3, None))) == "quintet.array(\"<f8\", (3, None))"


def test_formals_of_arrays_are_values():
    formal = quintet.array("f8", (3, None))
    others = [copy.copy(formal), copy.deepcopy(formal), pickle.loads(pickle.dumps(formal)), quintet.array(">f8", (3, None))]
    assert all(other == formal and hash(other) == hash(formal) for other in others)
    assert {formal: 1}[others[2]] == 1
    assert len({formal, quintet.array("f4", (3, None)), quintet.array("f8", 2), quintet.array("f8", ())}) == 4


def test_what_numpy_calls_text_and_bytes(client):
    space = client().space
    space.out(numpy.str_("s"), numpy.bytes_(b"b"))
    assert space.read(numpy.str_, numpy.bytes_) == space.read(str, bytes) == ("s", b"b")
    assert space.take(numpy.dtype("U"), numpy.dtype("S")) == ("s", b"b")
    with pytest.raises(quintet.BadValue, match="dtype <U5"):
        space.take(numpy.dtype("U5"))


@pytest.mark.parametrize("dtype", ["u1", "?", "f8"])
def test_an_array_above_the_limit_is_too_large_before_it_is_copied(dtype):
    element = numpy.zeros((), dtype=dtype)
    large = numpy.broadcast_to(element, quintet.MAX_BYTES // element.itemsize + 1)
    with quintet.connect() as lab, pytest.raises(quintet.TooLarge, match="field 1: an array of .* above the limit"):
        lab.space.out("x", large)


def test_a_received_array_keeps_its_data(client):
    space = client().space
    space.out("a", numpy.arange(200_000))
    part = space.take("a", quintet.array(int))[1][5:]
    for _ in range(5):
        space.out("a", numpy.zeros(200_000, dtype=int))
        space.take("a", quintet.array(int))
    gc.collect()
    numpy.testing.assert_array_equal(part, numpy.arange(5, 200_000))


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "field 1: NoneType"), ([1], "field 1: list"), (1j, "field 1: complex"), (int, "stands for any value"),
     (numpy.array([None]), "dtype object"), (numpy.array(["a"]), "field 1: numpy.ndarray of dtype <U1"),
     (numpy.float16(1), "dtype float16"), (numpy.zeros(2, dtype="M8[s]"), "datetime64"), ("\ud800", "Unicode")],
)  # fmt: skip
def test_what_cannot_be_a_field_is_refused_by_name(value, text):
    with quintet.connect() as lab, pytest.raises(quintet.BadValue, match=text) as raised:
        lab.space.out("x", value)
    assert isinstance(raised.value, TypeError) and isinstance(raised.value, ValueError)


@pytest.mark.parametrize(
    ("formal", "text"), [(list, "not the type of a field"), (numpy.ndarray, "quintet.array"), (numpy.complex128, "complex128")]
)
def test_what_cannot_be_a_formal_is_refused_by_name(formal, text):
    with quintet.connect() as lab, pytest.raises(quintet.BadValue, match=text):
        lab.space.take("x", formal)


def test_a_masked_array_is_refused_and_other_subclasses_are_arrays(client):
    space = client().space
    with pytest.raises(quintet.BadValue, match=r"field 1: a masked array.*filled\(value\)"):
        space.out("m", numpy.ma.array([1, 2, 3], mask=[0, 1, 0]))
    sent = numpy.arange(6.0).reshape(2, 3).view(numpy.matrix)
    space.out("m", sent)
    back = space.take("m", quintet.array(float, 2))[1]
    assert type(back) is numpy.ndarray and (back == sent).all()


def test_dimensions_that_no_array_has_are_refused():
    for dimensions in (-1, 33, 1000, (None,) * 33, (-1,), "two", None):
        with pytest.raises(quintet.BadValue, match="dimensions .*, expected their number, at most 32, or"):
            quintet.array("f8", dimensions)
    assert quintet.array("f8") == quintet.array("f8", 1) == quintet.array("f8", (None,))


def test_what_is_no_tuple_is_refused_by_its_number(client):
    with pytest.raises(quintet.BadValue, match="tuple 1: a tuple is wanted here, not int"):
        client().space.out_many([("a", 1), 1])


def test_an_integer_too_large_is_an_overflow():
    with quintet.connect() as lab:
        for value in (2**63, -(2**63) - 1, 10**100):
            with pytest.raises(OverflowError, match="field 0") as raised:
                lab.space.out(value)
            assert raised.value.code == quintet.Code.BadValue


def test_limits():
    with quintet.connect() as lab:
        lab.space.out(*range(quintet.MAX_FIELDS))
        for fields in ([], range(quintet.MAX_FIELDS + 1)):
            with pytest.raises(quintet.BadValue):
                lab.space.out(*fields)
        with pytest.raises(quintet.BadValue, match="dimensions"):
            lab.space.take(quintet.array("f8", 10**12))
        with pytest.raises(quintet.BadValue, match="object"):
            quintet.array(object)
        with pytest.raises(quintet.BadValue, match="-1"):
            lab.space.take("x", timeout=-1)
