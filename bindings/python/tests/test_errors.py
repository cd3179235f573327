"""Errors are those of the crate, and of Python."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import quintet
from quintet import _native, errors


def test_every_code_has_its_class():
    rows = _native.codes()
    assert [(number, name) for number, name, *_ in rows] == [(code.value, code.name) for code in quintet.Code]
    for number, name, text, fault, retry, exit_status in rows:
        error = errors.from_code(number, "this time")
        assert type(error) is getattr(quintet, name) and isinstance(error, quintet.Error)
        assert (error.code, error.text, error.fault, error.retry) == (number, "this time", fault, retry)
        assert (error.exit_status, str(error)) == (exit_status, f"{text}: this time")
        back = pickle.loads(pickle.dumps(error))
        assert (type(back), back.code, back.text) == (type(error), error.code, error.text)


@pytest.mark.parametrize(
    ("ours", "built_in"),
    [("TimedOut", TimeoutError), ("PeerDied", ConnectionError), ("PeerSilent", ConnectionError), ("Closed", ConnectionError),
     ("Unreachable", ConnectionError), ("BadValue", TypeError), ("BadValue", ValueError), ("TooLarge", ValueError),
     ("NotAllowed", PermissionError), ("IntegerOverflow", OverflowError), ("TaskFailed", RuntimeError)],
)  # fmt: skip
def test_the_built_in_that_fits(ours, built_in):
    assert issubclass(getattr(quintet, ours), built_in)


def test_addresses(tmp_path, monkeypatch):
    with pytest.raises(quintet.Unreachable):
        quintet.connect(f"quintet://{tmp_path}/nobody")
    for address, said in {"quintet://host": "quintet:///path", "http://x": "shm:PATH", "": "shm:PATH", "tcp:x": "HOST:PORT"}.items():
        with pytest.raises(quintet.BadValue, match=said):
            quintet.connect(address)
    with quintet.connect() as lab:
        assert lab.is_embedded and "embedded" in repr(lab)
    with quintet.serve(tmp_path / "space", cluster=2**100) as server:
        with pytest.raises(quintet.WrongCluster):
            quintet.connect(server.address)
        monkeypatch.setenv("QUINTET_CLUSTER", str(2**100))
        monkeypatch.setenv("QUINTET_SPACE", str(tmp_path / "space"))
        with quintet.connect() as lab:
            assert not lab.is_embedded and str(tmp_path) in repr(lab)
            take = lab.space.begin().take("never")
            server.stop()
            with pytest.raises(quintet.PeerDied):
                take.result()
            with pytest.raises(quintet.PeerDied):
                lab.space.out(1)
    monkeypatch.setenv("QUINTET_CLUSTER", "x")
    with pytest.raises(quintet.BadValue, match="QUINTET_CLUSTER"):
        quintet.connect()


@pytest.mark.parametrize(
    ("address", "said"),
    [("tpc:127.0.0.1:7400", "tcp:HOST:PORT"), ("a:b", r"\./a:b"), ("quintet://host", "quintet:///path"), ("unix:", "names no path"),
     ("unix:/run/\udcff", "not UTF-8"), ("/run/\udcff", "not UTF-8"), (Path("\udcff"), "not UTF-8")],
)  # fmt: skip
def test_what_is_no_address_is_not_served_as_a_file(tmp_path, monkeypatch, address, said):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(quintet.BadValue, match=said):
        quintet.serve(address)
    assert list(tmp_path.iterdir()) == []
    if isinstance(address, str):
        with pytest.raises(quintet.BadValue, match=said):
            quintet.connect(address)


def test_a_path_with_a_colon_is_served_where_it_is_told_from_a_kind(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for address in ["./a:b", "shm:a:b", Path("a:b")]:
        with quintet.serve(address) as server:
            assert server.address == f"shm:{tmp_path}/a:b"
            quintet.connect(server.address).close()


def test_importing_brings_in_neither_numpy_nor_joblib():
    program = "import quintet, sys; assert not {'numpy', 'joblib', 'asyncio'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_program_with_waiting_threads_ends_quietly():
    program = """
import threading, quintet
space = quintet.connect().space
for _ in range(4):
    threading.Thread(target=space.take, args=("never",), daemon=True).start()
while space.status().waiters < 4:
    pass
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.returncode == 0
    assert "panicked" not in ended.stderr


def test_types_are_told_in_the_words_of_python():
    with quintet.connect() as lab, pytest.raises(quintet.TimedOut) as raised:
        lab.space.out('i64 "text"', b"", 1.5)
        lab.space.take('i64 "text"', str, float, timeout=0)
    assert raised.value.text.startswith(r'nothing matched ("i64 \"text\"", str, float) within')
    assert raised.value.text.endswith("1 tuple differs only in field 1: bytes, wanted str")
    with quintet.connect() as lab, pytest.raises(quintet.TimedOut, match=r"float32\[2,\?\], True, bytes\[2\]\) within.*no tuple"):
        lab.space.take(quintet.array("f4", (2, None)), True, b"ab", timeout=0)


def test_names_that_are_imported_later_are_listed():
    assert {"Executor", "aio", "simulate", "connect", "__version__"} <= set(dir(quintet))
    assert set(quintet.__all__) <= set(dir(quintet))
