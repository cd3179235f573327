"""Shared variables of isonets: their types, and what is written of them."""

from __future__ import annotations

import builtins
import struct
from collections.abc import Iterable
from typing import Any

from quintet.errors import BadValue, Code

MAX_VALUE_BYTES = 4096
"""Bytes of a variable, at most."""

_PLAIN = {int: "<q", float: "<d", bool: "<?"}
_SAID = {int: "int (64 bits)", float: "float", bool: "bool"}


class Variable:
    """A shared variable of an isonet, of one number and one type for all members. It begins as zeros.

        Variable(1, int)                              # 64 bits; also float, bool
        Variable(2, bytes, size=100)                  # always so long
        Variable(3, numpy.int16)                      # or anything that numpy.dtype takes
        Variable(4, float, shape=(3, 2))              # an array of it

    `copies` says which members have a copy, and others read it over a link; without it all have one. Values lie in it with the lowest byte first, in C and Rust too.

    Raises BadValue for what is no number, or has no fixed size of 1 to 4096 bytes.
    """

    def __init__(
        self,
        number: int,
        type: Any = int,
        *,
        size: int | None = None,
        shape: int | tuple[int, ...] | None = None,
        copies: Iterable[int] | None = None,
    ) -> None:
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 1 << 32:
            raise _bad(f"{number!r} is no number of a variable: they go from 0 to {(1 << 32) - 1}")
        self.number = number
        self.type = type
        self.copies = None if copies is None else sorted(set(copies))
        self._dtype: Any = None
        self._shape: tuple[int, ...] = ()
        if (size is not None) != (type is bytes):
            raise _bad(f"variable {number}: size is for bytes, which need one")
        if type is bytes and shape is None:
            self.size = size or 0
        elif type in _PLAIN and shape is None:
            self.size = struct.calcsize(_PLAIN[type])
        else:
            self._take_dtype(type, shape)
        if not 1 <= self.size <= MAX_VALUE_BYTES:
            raise _bad(f"variable {number} has {self.size} bytes: it may have 1 to {MAX_VALUE_BYTES}")

    def _take_dtype(self, type: Any, shape: int | tuple[int, ...] | None) -> None:
        import numpy

        try:
            dtype = numpy.dtype(type)
        except TypeError as error:
            raise _bad(f"variable {self.number}: {type!r} is no type of a variable") from error
        if dtype.hasobject:
            raise _bad(f"variable {self.number}: Python objects have no fixed size; pickle them into bytes")
        self._dtype = dtype.newbyteorder("<")
        self._shape = () if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)
        self.size = self._dtype.itemsize * int(numpy.prod(self._shape, dtype=numpy.int64))

    def pack(self, value: Any) -> builtins.bytes:
        """A value as bytes. Raises BadValue for one of another type or size, or which would be changed by it."""
        if self._dtype is not None:
            return self._pack_array(value)
        if self.type is bytes:
            return self._pack_bytes(value)
        if self.type is int and (isinstance(value, bool) or not hasattr(value, "__index__")):
            raise self._unfit(value)
        if self.type is bool and not isinstance(value, bool):
            raise self._unfit(value)
        try:
            return struct.pack(_PLAIN[self.type], value)
        except (struct.error, TypeError, OverflowError) as error:
            raise self._unfit(value) from error

    def _pack_bytes(self, value: Any) -> builtins.bytes:
        if not isinstance(value, (builtins.bytes, bytearray, memoryview)):
            raise self._unfit(value)
        data = builtins.bytes(value)
        if len(data) != self.size:
            raise _bad(f"variable {self.number} has {self.size} bytes, and this value {len(data)}")
        return data

    def _pack_array(self, value: Any) -> builtins.bytes:
        import numpy

        given = numpy.asarray(value)
        if given.shape != self._shape:
            raise _bad(f"variable {self.number} has the shape {self._shape}, and this value {given.shape}")
        if not numpy.can_cast(given.dtype, self._dtype, "same_kind") and given.dtype.kind not in "iu":
            raise self._unfit(value)
        packed = given.astype(self._dtype)
        if given.dtype.kind in "iu" and not numpy.array_equal(packed, given):
            raise self._unfit(value)
        return packed.tobytes()

    def unpack(self, data: builtins.bytes) -> Any:
        """A value of it: a Python object, a NumPy scalar, or an array that is the caller's own."""
        if self._dtype is not None:
            import numpy

            array = numpy.frombuffer(data, self._dtype).reshape(self._shape).copy()
            return array if self._shape else array[()]
        if self.type is bytes:
            return data
        return struct.unpack(_PLAIN[self.type], data)[0]

    def _unfit(self, value: Any) -> BadValue:
        return _bad(f"variable {self.number} is of {self._said()}, and {value!r} does not fit")

    def _said(self) -> str:
        if self._dtype is not None:
            return f"{self._dtype}{list(self._shape) or ''}"
        return f"{self.size} bytes" if self.type is bytes else _SAID[self.type]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Variable) and (self.number, self._said()) == (other.number, other._said())

    def __hash__(self) -> int:
        return hash(self.number)

    def __repr__(self) -> str:
        return f"<quintet.Variable {self.number}: {self._said()}>"


def _bad(text: str) -> BadValue:
    return BadValue(Code.BadValue, text)
