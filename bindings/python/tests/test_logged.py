"""A space that outlives its process."""

import subprocess
import sys

import pytest
import quintet

SERVE = """
import sys, quintet
with quintet.serve(sys.argv[1], log_dir=sys.argv[2]) as server:
    with quintet.connect(server.address) as lab:
        lab.space.out("row", 1)
        lab.space.out("row", 2)
        lab.space.take("row", 1)
    print("put", flush=True)
    sys.stdin.read()
"""


def test_what_a_killed_process_has_put_is_there(tmp_path):
    command = [sys.executable, "-c", SERVE, tmp_path / "space", tmp_path / "log"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "put\n"
        process.kill()
    with quintet.serve(tmp_path / "space", log_dir=tmp_path / "log") as server:
        with quintet.connect(server.address) as lab:
            assert lab.space.take("row", int) == ("row", 2)
            assert lab.space.take_if("row", int) is None


def test_who_asks_nothing_until_the_server_has_forgotten_him_goes_on(tmp_path, monkeypatch):
    monkeypatch.setenv("QUINTET_LINK_RESUME_WINDOW_MS", "50")
    address, log = tmp_path / "space", tmp_path / "log"
    with quintet.serve(address, log_dir=log) as server:
        idle = quintet.connect(server.address)
        idle.space.out("row", 1)
    with quintet.serve(address, log_dir=log) as server, quintet.connect(server.address) as other, idle:
        while len(list(other.space.clients())) > 1:
            pass
        assert idle.space.take("row", int) == ("row", 1)
        idle.space.out("row", 2)
        assert other.space.take("row", int) == ("row", 2)


def test_a_log_that_is_none_is_named_and_left_as_it_is(tmp_path):
    (tmp_path / "log").mkdir()
    file = tmp_path / "log" / "space.log"
    file.write_bytes(b"a text, and no log of anything")
    with pytest.raises(quintet.BadFile, match="no log of this kind"):
        quintet.serve(tmp_path / "space", log_dir=tmp_path / "log")
    assert file.read_bytes() == b"a text, and no log of anything"
