"""A model as the text of a model file."""

from __future__ import annotations

import json
import numbers
from collections.abc import Mapping
from typing import Any

from quintet.errors import Code, Error, from_problems


def document(tables: Mapping[str, Mapping[str, Any]]) -> str:
    """The text. Keys whose value is None are left out.

    Raises BadValue for a value that no model file can have; its problem has the key.
    """
    return "".join(f"[{name}]\n{_lines(name, table)}\n" for name, table in tables.items() if table or name == "model")


def plain(key: str, value: Any) -> str:
    """The text of a quantity. Raises BadValue for anything else than a text or a number."""
    if isinstance(value, str):
        return value
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return _value(key, value)
    raise _wrong(key, value, "a number or a text")


def _lines(path: str, table: Mapping[str, Any]) -> str:
    kept = ((key, value) for key, value in table.items() if value is not None)
    return "".join(f"{_key(path, key)} = {_value(f'{path}.{key}', value)}\n" for key, value in kept)


def _value(path: str, value: Any) -> str:
    if isinstance(value, str):
        return _text(path, value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(f"{path}[{index}]", item) for index, item in enumerate(value)) + "]"
    if isinstance(value, Mapping):
        kept = ((key, item) for key, item in value.items() if item is not None)
        inner = (f"{_key(path, key)} = {_value(f'{path}.{key}', item)}" for key, item in kept)
        return "{" + ", ".join(inner) + "}"
    raise _wrong(path, value, "a number, a text, True or False, a list or a dict")


def _key(path: str, key: Any) -> str:
    if not isinstance(key, str):
        raise _wrong(path, key, "names that are text")
    return _text(path, key)


def _text(path: str, text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _wrong(path, text, "text that is valid Unicode") from None
    # The format of JSON, but for one character that must be escaped here.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _wrong(key: str, value: Any, expected: str) -> Error:
    found = type(value).__name__ if not isinstance(value, str) else ascii(value)
    return from_problems(Code.BadValue, [(None, None, key, f"found {found}, expected {expected}")])
