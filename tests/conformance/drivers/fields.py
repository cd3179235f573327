"""Fields as they travel between the player and a driver, as values of the Python front end and back."""

from __future__ import annotations

from typing import Any

import numpy

import quintet
from quintet.listing import Beginning, ListedTuple

# Names of NumPy's types by those of the text; an `i64` is an `int`, an `f64` a `float`.
DTYPES = {
    "bool": "?", "i8": "<i1", "i16": "<i2", "i32": "<i4", "i64": "<i8",
    "u8": "<u1", "u16": "<u2", "u32": "<u4", "u64": "<u8", "f32": "<f4", "f64": "<f8",
}  # fmt: skip
NAMES = {numpy.dtype(dtype): name for name, dtype in DTYPES.items()}
PLAIN = {"bool": bool, "i64": int, "f64": float}


def read(token: str) -> tuple[Any, ...]:
    """The fields of a tuple or a template."""
    return () if token == "()" else tuple(map(_read_field, token.split(",")))


def _read_field(token: str) -> Any:
    if token.startswith("~"):
        return _read_range(token[1:].split("~"))
    name, *rest = token.split(":")
    if name == "?array":
        sizes = tuple(None if size == "?" else int(size) for size in rest[1].split("x") if size)
        return quintet.array(DTYPES[rest[0]], sizes)
    if name.startswith("?"):
        return _read_formal(name[1:])
    data = bytes.fromhex(rest[-1])
    if name == "text":
        return data.decode("utf-8", "surrogateescape")
    if name == "binary":
        return data
    if name == "array":
        shape = [int(size) for size in rest[1].split("x") if size]
        return numpy.frombuffer(data, DTYPES[rest[0]]).reshape(shape)
    scalar = numpy.frombuffer(data, DTYPES[name])[0]
    return PLAIN[name](scalar) if name in PLAIN else scalar


def _read_formal(name: str) -> Any:
    if name in ("text", "binary"):
        return str if name == "text" else bytes
    return PLAIN.get(name) or numpy.dtype(DTYPES[name])


def _read_range(parts: list[str]) -> Any:
    ends = {end: _read_field(value) for end, value in zip(parts[::2], parts[1::2], strict=True)}
    if "prefix" in ends:
        return quintet.prefix(ends["prefix"])
    inclusive = {(True, True): "both", (True, False): "left", (False, True): "right", (False, False): "neither"}
    low, high = ends.get("from", ends.get("above")), ends.get("to", ends.get("below"))
    return quintet.between(low, high, inclusive["above" not in ends, "below" not in ends])


def write(fields: tuple[Any, ...]) -> str:
    """The fields of a tuple, as they travel."""
    return ",".join(map(_write_field, fields))


def _write_field(field: Any) -> str:
    if isinstance(field, Beginning):
        return "cut"
    if isinstance(field, str):
        return f"text:{field.encode().hex()}"
    if isinstance(field, bytes):
        return f"binary:{field.hex()}"
    if isinstance(field, numpy.ndarray):
        shape = "x".join(map(str, field.shape))
        return f"array:{NAMES[field.dtype]}:{shape}:{numpy.ascontiguousarray(field).tobytes().hex()}"
    names = {bool: "bool", int: "i64", float: "f64"}
    name = names.get(type(field)) or NAMES[field.dtype]
    return f"{name}:{numpy.array(field, DTYPES[name]).tobytes().hex()}"


def write_row(row: ListedTuple) -> str:
    """A row of a listing, with a mark in front if it is leased."""
    return ("!" if row.lease else "") + write(row.fields)


def write_status(status: Any) -> str:
    """The numbers of a space."""
    names = "tuples", "hidden", "waiters", "leases", "parked", "redone", "dead_letters", "signatures"
    return "status " + " ".join(f"{name}={getattr(status, name)}" for name in names)


def limit(word: str) -> float | None:
    """`-`, or milliseconds; in seconds."""
    return None if word == "-" else float(word) / 1000
