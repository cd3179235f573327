"""What connecting takes from the environment and the settings file."""

from __future__ import annotations

import pytest

import quintet


def test_the_environment_says_where_the_space_is(tmp_path, monkeypatch):
    with quintet.serve(tmp_path / "space", cluster=7) as server:
        monkeypatch.setenv("QUINTET_CLUSTER_ID", "7")
        with quintet.connect(server.address) as lab:
            assert lab.address == server.address
        monkeypatch.setenv("QUINTET_SPACE_ADDRESS", str(tmp_path / "space"))
        with quintet.connect() as lab:
            assert lab.address == server.address
        monkeypatch.setenv("QUINTET_CLUSTER", "8")
        with pytest.raises(quintet.WrongCluster):
            quintet.connect()
        monkeypatch.setenv("QUINTET_SPACE", str(tmp_path / "nobody"))
        with pytest.raises(quintet.Unreachable):
            quintet.connect()


def test_the_settings_file_says_where_the_space_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with quintet.connect() as lab:
        assert lab.is_embedded and lab.address is None
    with quintet.serve("space", cluster=7) as server:
        (tmp_path / "quintet.toml").write_text("[cluster]\nid = 7\n[space]\naddress = './space'\n")
        with quintet.connect() as lab:
            assert lab.address == server.address == f"shm:{tmp_path}/space"
    (tmp_path / "quintet.toml").write_text("[cluster")
    with pytest.raises(quintet.BadFile, match="quintet.toml, line 1"):
        quintet.connect()


@pytest.mark.parametrize(
    ("variable", "value"),
    [("QUINTET_LINK_WINDOW_FRAMES", "5000000000"), ("QUINTET_LINK_SPIN_US", "-1"), ("QUINTET_LEASE_MS", "10 s"),
     ("QUINTET_SPACE_LEASE_MS", "1"), ("QUINTET_CLUSTER", str(2**128)), ("QUINTET_CLUSTER_ID", ""), ("QUINTET_SPACE", "")],
)  # fmt: skip
def test_a_setting_that_is_not_good_is_refused(monkeypatch, variable, value):
    monkeypatch.setenv(variable, value)
    with pytest.raises(quintet.BadValue, match=f"{variable}: .*{value or 'empty'}, expected"):
        quintet.connect()
