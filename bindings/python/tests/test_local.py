"""Workers of a program's own: started from wherever it came, started again when they die, and gone with it, however it ends."""

from __future__ import annotations

import concurrent.futures
import errno
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import joblib
import pytest
from conftest import LONG_S

import quintet
from quintet import cores, local, masters, tasks

PLAIN = """
import os, quintet

class Point:
    def __init__(self, x):
        self.x = x

def square(x):
    return Point(x * x), os.getpid()

print("main", flush=True)
with quintet.Executor(2) as executor:
    points = list(executor.map(square, range(4)))
    print([point.x for point, _ in points], all(isinstance(point, Point) for point, _ in points), flush=True)
    print(os.getpid() not in {pid for _, pid in points}, flush=True)
"""

HOLDS = """
import os, pathlib, signal, sys, time, quintet
folder = pathlib.Path(sys.argv[1])

def hold(n):
    (folder / str(n)).touch()
    time.sleep(1000)

executor = quintet.Executor(2)
futures = [executor.submit(hold, n) for n in range(4)]
while len(list(folder.iterdir())) < 2:
    time.sleep(0.01)
print(executor._own._folder, *executor._own.pids(), flush=True)
{end}
"""


def is_there(pid: int) -> bool:
    """Whether it runs; one that has ended and that nobody waits for does not."""
    return masters._began(str(pid)) != ""


def wait_until(is_so) -> None:
    end = time.monotonic() + LONG_S
    while not is_so():
        assert time.monotonic() < end
        threading.Event().wait(0.01)


@pytest.mark.parametrize("way", ["script", "input", "argument", "folder with spaces"])
def test_any_program_has_workers_without_a_word_more(tmp_path, way):
    folder = tmp_path / ("a folder" if way == "folder with spaces" else "folder")
    folder.mkdir()
    (folder / "program.py").write_text(PLAIN)
    words = {"input": ["-"], "argument": ["-c", PLAIN]}.get(way, ["program.py"])
    environment = {**os.environ, "TMPDIR": str(folder)}
    done = subprocess.run(
        [sys.executable, *words], input=PLAIN, cwd=folder, env=environment, capture_output=True, text=True, timeout=LONG_S
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "main\n[0, 1, 4, 9] True\nTrue\n", "the main module runs once"
    assert [path.name for path in folder.iterdir()] == ["program.py"], "nothing is left"


def held(tmp_path: Path, end: str) -> tuple[subprocess.Popen[str], Path, list[int]]:
    """A program whose two workers have a task each that does not end; where they have their space, and their processes."""
    (tmp_path / "program.py").write_text(HOLDS.format(end=end))
    (tmp_path / "begun").mkdir()
    command = [sys.executable, "program.py", "begun"]
    program = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    folder, *pids = program.stdout.readline().split()
    assert len(pids) == 2 and all(is_there(int(pid)) for pid in pids)
    return program, Path(folder), [int(pid) for pid in pids]


def test_workers_end_with_a_program_that_is_killed(tmp_path):
    program, folder, pids = held(tmp_path, "futures[0].result()")
    program.kill()
    program.communicate(timeout=LONG_S)
    wait_until(lambda: not any(map(is_there, pids)))
    assert not folder.exists()


@pytest.mark.parametrize("end", ["futures[0].result()", "with executor: futures[0].result()", "executor.shutdown()"])
def test_one_interrupt_ends_all_in_order(tmp_path, end):
    program, folder, pids = held(tmp_path, end)
    os.kill(program.pid, signal.SIGINT)
    _, text = program.communicate(timeout=LONG_S)
    assert program.returncode == -signal.SIGINT
    assert text.count("Traceback") == 1 and text.count("KeyboardInterrupt") == 1, text
    assert not any(map(is_there, pids)) and not folder.exists()


def test_a_worker_that_dies_is_started_again_and_its_task_done_again():
    with quintet.Executor(1) as executor:
        first = executor.submit(os.getpid).result(LONG_S)

        def die_once():
            if os.getpid() == first:
                os.kill(first, signal.SIGKILL)
            return os.getpid()

        second = executor.submit(die_once).result(LONG_S)
        assert second != first and executor._own.pids() == [second]
        wait_until(lambda: executor.workers() == 1)


def test_a_task_that_kills_every_worker_fails_and_the_others_are_done():
    with quintet.Executor(1) as executor:
        futures = [executor.submit(os.kill, 0, 0), executor.submit(os.abort), executor.submit(pow, 2, 3)]
        assert futures[2].result(LONG_S) == 8
        with pytest.raises(quintet.TaskFailed, match="after 5 attempts"):
            futures[1].result(LONG_S)
        assert executor.submit(pow, 2, 4).result(LONG_S) == 16


def test_workers_that_cannot_begin_break_the_executor(monkeypatch):
    monkeypatch.setattr(local, "BEGIN", "import sys; sys.stdin.read(); sys.exit(3)")
    with quintet.Executor(2) as executor:
        with pytest.raises(concurrent.futures.BrokenExecutor, match="exit status 3"):
            executor.submit(pow, 2, 3).result(LONG_S)
        with pytest.raises(concurrent.futures.BrokenExecutor, match="exit status 3"):
            executor.submit(pow, 2, 3)


def test_where_a_space_is_named_nothing_is_started(worker):
    worker()
    with quintet.Executor(1) as executor:
        assert executor._own is None
        assert executor.submit(os.getppid).result(LONG_S) == os.getpid()
        assert executor._pool._feed._most_tasks == 1, "no more than that are there at a time"


def test_threads_on_request(worker):
    worker()
    with quintet.Executor(3, threads=True) as executor:
        assert {executor.submit(os.getpid).result(LONG_S) for _ in range(5)} == {os.getpid()}
        wait_until(lambda: executor.workers() == 3)


@pytest.mark.parametrize("number", [0, -1])
def test_no_workers_are_refused(number):
    with pytest.raises(ValueError, match="greater than 0"):
        quintet.Executor(number)


def test_a_forked_child_leaves_the_workers_alone():
    with quintet.Executor(1) as executor:
        pid = executor.submit(os.getpid).result(LONG_S)
        child = os.fork()
        if child == 0:
            try:
                executor._own.end()
                local._end_all_open()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert executor.submit(os.getpid).result(LONG_S) == pid


def getpid_of(_number: int) -> int:
    return os.getpid()


def test_joblib_keeps_its_workers_from_call_to_call():
    def pids(jobs: int) -> set[int]:
        with joblib.parallel_config(backend="quintet", n_jobs=jobs):
            return set(joblib.Parallel(batch_size=1)(joblib.delayed(getpid_of)(n) for n in range(30)))

    first = pids(2)
    assert os.getpid() not in first
    assert first & pids(2) and local._shared.users == 0
    assert len(local._shared) == 2
    pids(3)
    assert len(local._shared) == 3, "those that are missing are started"


def test_shared_workers_that_nobody_uses_end(monkeypatch):
    monkeypatch.setattr(local, "IDLE_S", 0.05)
    workers = local.LocalWorkers(1)
    monkeypatch.setattr(local, "_shared", workers)
    local._shared.users = 1
    pids = workers.pids()
    threading.Event().wait(0.2)
    assert all(map(is_there, pids)), "somebody uses them"
    local.give_back(workers)
    wait_until(lambda: local._shared is None and not any(map(is_there, pids)))


def test_shared_workers_end_that_had_been_idle_for_long_when_the_program_ends(monkeypatch):
    workers = local.LocalWorkers(1)
    workers.users = 1
    monkeypatch.setattr(local, "_shared", workers)
    threading.Event().wait(0.2)
    # Since the watching thread has looked last.
    workers.users, workers.idle_since = 0, time.monotonic() - local.IDLE_S
    ending = threading.Thread(target=workers.end, daemon=True)
    ending.start()
    ending.join(LONG_S)
    assert not ending.is_alive() and not workers._folder.exists()


def test_nobody_gets_workers_that_are_being_ended(monkeypatch):
    monkeypatch.setattr(local, "_shared", None)
    first, got = local.share(1), []
    monkeypatch.setattr(first, "end", lambda: got.append(local.share(1)))
    local.stop(first)
    try:
        assert got[0] is not first and got[0].users == 1
    finally:
        for workers in {first, *got}:
            local.LocalWorkers.end(workers)


def test_what_is_done_with_a_failed_future_may_end_the_executor_while_the_program_ends_it():
    executor = quintet.Executor(1)
    executor.submit(os.getpid).result(LONG_S)
    workers, is_told, goes_on = executor._own, threading.Event(), threading.Event()

    class Pool:
        def give_up(self, _failure):
            is_told.set()
            goes_on.wait(LONG_S)
            workers.end()

    pool = Pool()
    workers.pools.add(pool)
    workers._failed_starts = local.FAILED_STARTS
    (workers._folder / f"begun-{workers.pids()[0]}").unlink()
    os.kill(workers.pids()[0], signal.SIGKILL)
    assert is_told.wait(LONG_S)
    ending = threading.Thread(target=workers.end, daemon=True)
    ending.start()
    wait_until(lambda: workers._has_ended)
    goes_on.set()
    ending.join(LONG_S)
    assert not ending.is_alive()
    executor.shutdown()


WITHOUT_WORKERS = """
import os, signal, threading
from quintet import local

class Pool:
    def give_up(self, _failure):
        os.kill(os.getpid(), signal.SIGKILL)

local.BEGIN = "import sys; sys.stdin.read(); sys.exit(3)"
workers, pool = local.LocalWorkers(1), Pool()
workers.pools.add(pool)
if workers.failure is None:
    threading.Event().wait()
pool.give_up(workers.failure)
"""


def test_what_a_program_leaves_that_is_killed_without_a_worker_the_next_one_removes(tmp_path, monkeypatch):
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", WITHOUT_WORKERS], env=environment, stderr=subprocess.DEVNULL, timeout=LONG_S)
    (tmp_path / "quintet-without-a-word").mkdir()
    left = [path for path in tmp_path.iterdir() if (path / local.OWNER).exists()]
    assert len(left) == 1
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    first, second = local.LocalWorkers(1), local.LocalWorkers(1)
    assert first._folder.exists() and not left[0].exists()
    first.end()
    second.end()
    assert [path.name for path in tmp_path.iterdir()] == ["quintet-without-a-word"]


@pytest.mark.parametrize("content", [b"int main(void);\n", b"\x7fELF\xff\xfe", b"a/b/c/12/34", b"see /usr/share/doc\n", b""])
def test_folders_of_others_that_are_called_alike_stay(tmp_path, monkeypatch, content):
    other = tmp_path / "quintet-build"
    other.mkdir()
    (other / local.OWNER).write_bytes(content)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    local.LocalWorkers(1).end()
    assert (other / local.OWNER).read_bytes() == content


def test_a_process_that_cannot_be_watched_is_none(monkeypatch):
    started = []
    plain = subprocess.Popen

    def popen(*words, **settings):
        started.append(plain(*words, **settings))
        return started[-1]

    def refuse(_pid):
        raise OSError(errno.EMFILE, "no more descriptors")

    monkeypatch.setattr(subprocess, "Popen", popen)
    monkeypatch.setattr(os, "pidfd_open", refuse)
    with pytest.raises(OSError, match="no more descriptors"):
        quintet.Executor(1)
    assert [process.returncode for process in started] == [-signal.SIGKILL]
    assert started[0].stdin.closed


def test_a_worker_that_cannot_be_started_again_fails_the_tasks(monkeypatch):
    def refuse(*_told):
        raise OSError(errno.EAGAIN, "no more processes")

    with quintet.Executor(1) as executor:
        executor.submit(os.getpid).result(LONG_S)
        monkeypatch.setattr(local, "_Worker", refuse)
        future = executor.submit(time.sleep, 1000)
        os.kill(executor._own.pids()[0], signal.SIGKILL)
        with pytest.raises(concurrent.futures.BrokenExecutor, match="cannot be started again.*no more processes"):
            future.result(LONG_S)


def test_joblibs_jobs_are_the_usable_cores():
    from quintet.joblib_backend import QuintetBackend

    assert QuintetBackend().effective_n_jobs(-1) == max(cores.usable_cores(), 2)
    assert local._shared is None or local._shared.users == 0, "asking starts none"


def test_what_joblib_gave_up_is_computed_no_further(tmp_path):
    def fail_or_wait(number):
        if number == 0:
            while not (tmp_path / "begun").exists():
                time.sleep(0.01)
            raise KeyError("so")
        (tmp_path / "begun").touch()
        time.sleep(1000)

    with joblib.parallel_config(backend="quintet", n_jobs=2), pytest.raises(KeyError, match="so"):
        joblib.Parallel(batch_size=1)(joblib.delayed(fail_or_wait)(n) for n in range(4))
    with joblib.parallel_config(backend="quintet", n_jobs=2):
        assert joblib.Parallel()(joblib.delayed(abs)(-n) for n in range(4)) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("lines", "files", "usable"),
    [
        ("0::/\n", {"cpu.max": "max 100000"}, 8),
        ("0::/\n", {"cpu.max": "250000 100000"}, 3),
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000", "a/cpu.max": "100000 100000"}, 1),
        ("4:cpu,cpuacct:/a\n", {"cpu,cpuacct/a/cpu.cfs_quota_us": "-1", "cpu,cpuacct/a/cpu.cfs_period_us": "100000"}, 8),
        ("4:cpu,cpuacct:/a\n", {"cpu,cpuacct/a/cpu.cfs_quota_us": "150000", "cpu,cpuacct/a/cpu.cfs_period_us": "100000"}, 2),
        ("3:cpuset:/a\n", {"cpuset/a/cpu.cfs_quota_us": "1000", "cpuset/a/cpu.cfs_period_us": "100000"}, 8),
        ("0::/\n", {"cpu.max": "1000 100000"}, 1),
        ("0::/\n", {}, 8),
    ],
)
def test_the_usable_cores_are_those_of_the_affinity_and_the_control_groups(tmp_path, monkeypatch, lines, files, usable):
    (tmp_path / "own").write_text(lines)
    for name, text in files.items():
        (tmp_path / "root" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "root" / name).write_text(text)
    monkeypatch.setattr(cores, "OWN", tmp_path / "own")
    monkeypatch.setattr(cores, "ROOT", tmp_path / "root")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    assert cores.usable_cores() == usable


def test_workers_are_told_apart_and_counted():
    with quintet.Executor(2) as executor:
        wait_until(lambda: executor.workers() == 2)
        assert {executor.lab.space.read(tasks.WORKER, rank, int)[1] for rank in (0, 1)} == {0, 1}


def _sleep_noted(started):
    started.touch()
    time.sleep(1000)


def test_a_task_that_comes_back_once_all_were_given_up_is_not_waited_for(monkeypatch, tmp_path):
    def refuse(*_told):
        raise OSError(errno.EAGAIN, "no more processes")

    started = tmp_path / "started"
    with quintet.Executor(1) as executor:
        future = executor.submit(_sleep_noted, started)
        while not started.exists():
            time.sleep(0.01)
        monkeypatch.setattr(local, "_Worker", refuse)
        # As who watches the workers does, who may see the end of one before the space does.
        executor._own.pools.discard(executor._pool)
        executor._pool.give_up(concurrent.futures.BrokenExecutor("no workers"))
        with pytest.raises(concurrent.futures.BrokenExecutor, match="no workers"):
            future.result(LONG_S)
        os.kill(executor._own.pids()[0], signal.SIGKILL)
