"""What somebody meets who tries it: where a lab is and why, who works, what a notebook shows, what the command is."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import pandas.testing
import pytest
from conftest import LONG_S, serving

import quintet
from quintet import presence, simulate, tasks


@pytest.fixture
def found(tmp_path, monkeypatch):
    """A server that nobody named an address."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "quintet").mkdir()
    with serving(str(tmp_path / "quintet" / "local.sock")) as (_, address):
        yield address


def test_a_server_at_its_default_place_is_found(found):
    with quintet.connect() as lab:
        assert (lab.address, lab.is_embedded, lab.why_embedded) == (found, False, None)


def test_an_embedded_lab_says_where_a_space_was_looked_for(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with caplog.at_level(logging.INFO, logger="quintet"), quintet.connect() as lab:
        assert lab.is_embedded
        assert f"no server listens at {tmp_path}/quintet/local.sock" in lab.why_embedded
        assert lab.why_embedded in caplog.text


def test_what_is_at_the_default_place_and_speaks_another_cluster_is_no_secret(found, monkeypatch):
    monkeypatch.setenv("QUINTET_CLUSTER", "8")
    with pytest.raises(quintet.WrongCluster):
        quintet.connect()


def test_a_worker_finds_the_server_too_and_says_where_it_looked(found, tmp_path, monkeypatch):
    worker = subprocess.Popen([sys.executable, "-m", "quintet.worker"])
    with quintet.connect() as lab:
        assert lab.wait_for_workers(1, LONG_S) == 1
    worker.terminate()
    assert worker.wait(LONG_S) == 0
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "other"))
    alone = subprocess.run([sys.executable, "-m", "quintet.worker"], capture_output=True, text=True, timeout=LONG_S)
    assert alone.returncode == 2 and f"{tmp_path}/other/quintet/local.sock" in alone.stderr


def test_workers_are_waited_for(worker):
    with quintet.connect() as lab:
        with pytest.raises(quintet.TimedOut, match="0 of 1 workers"):
            lab.wait_for_workers(1, timeout=0.0)
        worker()
        worker()
        assert lab.wait_for_workers(2, timeout=LONG_S) == 2
        assert lab.wait_for_workers(1) == 2


def test_workers_without_a_rank_take_the_lowest_that_is_free(socket, monkeypatch):
    monkeypatch.setenv("QUINTET_SPACE", str(socket))

    def start():
        return subprocess.Popen([sys.executable, "-m", "quintet.worker"])

    with quintet.connect() as lab:
        workers = [start() for _ in range(4)]
        lab.wait_for_workers(4, LONG_S)
        pids = [lab.space.read(tasks.WORKER, rank, int, timeout=LONG_S)[2] for rank in range(4)]
        assert sorted(pids) == sorted(worker.pid for worker in workers)
        second = next(worker for worker in workers if worker.pid == pids[1])
        second.kill()
        lab.space.read(presence.PRESENCE, 1, second.pid, str, timeout=LONG_S)
        workers.append(start())
        assert lab.space.read(tasks.WORKER, 1, workers[-1].pid, timeout=LONG_S)[1] == 1
        for process in workers:
            process.terminate()
        for process in workers:
            process.wait(LONG_S)
        status = lab.space.status()
        assert (status.tuples, status.hidden) == (0, 0)


def test_notebooks_see_tables(socket):
    with quintet.connect(str(socket)) as lab:
        lab.space.out("<row>", 1)
        assert f"shm:{socket}" in lab._repr_html_()
        assert "<td style='text-align: left'>(str, int)</td>" in lab.space._repr_html_()
        executor = quintet.Executor(lab)
        future = executor.submit(pow, 2, 3)
        assert "pending" in future._repr_html_() and "tasks under way" in executor._repr_html_()
        assert "1 tasks under way" in repr(executor)
        assert future.cancel() and "cancelled" in future._repr_html_()
        executor.shutdown()
    assert "closed" in lab._repr_html_() and "gone" in lab.space._repr_html_()


def test_what_is_shown_is_no_markup():
    with quintet.Executor(1, threads=True) as executor:
        future = executor.submit(int, "<script>")
        assert isinstance(future.exception(LONG_S), ValueError)
        assert "<script>" not in future._repr_html_() and "&lt;script&gt;" in future._repr_html_()


def test_results_become_tables_of_pandas():
    model = simulate.Model.from_file(Path(__file__).parents[3] / "models" / "mm1.toml")
    study = model.replicate(seeds=2)
    frame = study.to_pandas()
    assert list(frame.index) == [int(seed) for seed in study.seeds] and frame.index.name == "seed"
    assert (frame["processor.server.utilisation"] == study["processor.server.utilisation"].values).all()
    pandas.testing.assert_frame_equal(study.runs[0].to_pandas(), frame.iloc[:1][study.runs[0].to_pandas().columns])
    with quintet.connect() as lab:
        lab.space.out("row", 1)
        assert lab.space.status().to_pandas().loc["(str, int)", "tuples"] == 1


def test_without_pandas_it_is_said_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with quintet.connect() as lab, pytest.raises(ImportError, match="pip install pandas"):
        lab.space.status().to_pandas()


@pytest.fixture
def command(tmp_path):
    """Makes a command of a version, which says how it is called; runs the package beside commands of these folders."""

    def make(folder: str, version: str) -> None:
        (tmp_path / folder).mkdir()
        script = f'#!/bin/sh\n[ "$*" = --version ] && echo "quintet {version}" || echo "{folder}" "$@"\n'
        (tmp_path / folder / "quintet").write_text(script)
        (tmp_path / folder / "quintet").chmod(0o755)

    def run(*folders: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join(str(tmp_path / folder) for folder in folders) + os.pathsep + "relative"
        environment = {**os.environ, "PATH": path}
        words = [sys.executable, "-m", "quintet", "status", "--json"]
        return subprocess.run(words, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=LONG_S)

    return make, run


def test_the_package_is_the_command_of_its_version(command):
    make, run = command
    make("old", "0.0.1")
    make("own", quintet.__version__)
    make("relative", quintet.__version__)
    done = run("old", "own")
    assert (done.stdout, done.stderr) == ("own status --json\n", "")
    done = run("old")
    assert done.stdout == "old status --json\n" and f"is 0.0.1, and this package is {quintet.__version__}" in done.stderr
    done = run()
    assert (done.returncode, done.stdout) == (127, "") and "neither beside" in done.stderr
