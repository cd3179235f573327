"""Workers of the program's own: processes that it starts and ends, and a space that it serves to nobody but them.

`quintet.Executor(4)` has four of its own, until it is shut down. joblib's backend shares those of `shared` between its calls, as starting
them takes longer than a short call.

They are `sys.executable` again, with the program's own path for modules, and never import its main module: what a task needs of that travels
with it. The kernel tells them when the program dies, however it dies: they end at once, whatever they compute. A worker that dies is started
again, and the task that it held returns to the space, for one that lives. ctrl-C reaches the program alone, which ends them.
"""

from __future__ import annotations

import atexit
import json
import os
import secrets
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from concurrent.futures import BrokenExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quintet import masters
from quintet._native import Lab, Settings
from quintet.connecting import serve

if TYPE_CHECKING:
    from quintet.pool import Pool

BEGIN = "import json, sys; told = json.load(sys.stdin); sys.path[:] = told['path']; from quintet import local_worker; sys.exit(local_worker.main(told))"
"""What a worker's interpreter runs. It is told where modules are before it imports one."""

FOLDER = "quintet-"
"""How the name of the folder with their space begins, among the temporary files."""

OWNER = "program"
"""The file in it that names the program's process."""

LONGEST_PATH = 100
"""Bytes of a socket's path that every system takes."""

FAILED_STARTS = 3
"""So many workers in succession that end before they have begun are a reason to start no more."""

END_S = 2.0
"""How long workers have that are asked to end; then they are killed."""

IDLE_S = 300.0
"""How long shared workers stay that nobody uses."""

_open: set[LocalWorkers] = set()


class LocalWorkers:
    """So many worker processes with their space, until `end`. Start no more than the machine has cores for."""

    def __init__(self, number: int) -> None:
        """Returns before they have begun: tasks may be put at once.

        Raises ValueError, RuntimeError if the interpreter cannot be started again, OSError, and as `quintet.serve`.
        """
        if number < 1:
            raise ValueError("max_workers must be greater than 0")
        if not sys.executable or getattr(sys, "frozen", False):
            raise RuntimeError("this program's interpreter cannot be started again for workers; use Executor(threads=True)")
        self._maker = os.getpid()
        self._folder = _new_folder()
        try:
            cluster = secrets.randbits(128)
            self._server = serve(self._folder / "space", cluster)
            self.lab = Lab.link(self._server.address, Settings(), cluster)
            """The program's connection with their space."""
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        self._lock = threading.Lock()
        self._has_ended = False
        self._running: dict[int, _Worker] = {}
        """By their ranks."""
        self._failed_starts = 0
        self.failure: BrokenExecutor | None = None
        """Why none is started any more."""
        self.pools: weakref.WeakSet[Pool] = weakref.WeakSet()
        """Whose tasks they do: those are told of it."""
        self.users = 0
        """How many share them."""
        self.idle_since = time.monotonic()
        self._ending = threading.Lock()
        self._woken, self._wake = os.pipe()
        self._watcher = threading.Thread(target=self._watch, name="quintet-local", daemon=True)
        _open.add(self)
        try:
            self.grow(number)
            self._watcher.start()
        except BaseException:
            self.end()
            raise

    def __len__(self) -> int:
        return len(self._running)

    def pids(self) -> list[int]:
        """The processes, by their ranks."""
        with self._lock:
            return [self._running[rank].process.pid for rank in sorted(self._running)]

    def grow(self, number: int) -> None:
        """Starts as many as are missing to that number. Raises OSError."""
        with self._lock:
            if len(self._running) >= number:
                return
            for rank in range(len(self._running), number):
                self._running[rank] = self._start(rank, number)
        self._look_again()

    def _start(self, rank: int, number: int) -> _Worker:
        settings = {
            "QUINTET_SPACE": self._server.address,
            "QUINTET_CLUSTER": str(self._server.cluster),
            "QUINTET_RANK": str(rank),
            "QUINTET_WORKERS": str(number),
        }
        return _Worker(settings, {"path": _module_path(), "parent": self._maker, "folder": str(self._folder)})

    def _look_again(self) -> None:
        os.write(self._wake, b"\0")

    def _watch(self) -> None:
        """Starts those again that die, until all is to end."""
        while not self._has_ended:
            watched = select.poll()
            watched.register(self._woken, select.POLLIN)
            with self._lock:
                by_descriptor = {worker.descriptor: rank for rank, worker in self._running.items()}
            for descriptor in by_descriptor:
                watched.register(descriptor, select.POLLIN)
            for descriptor, _ in watched.poll(IDLE_S * 1000):
                if self._has_ended:
                    return
                if descriptor == self._woken:
                    os.read(self._woken, 4096)
                else:
                    self._replace(by_descriptor[descriptor])
            _end_if_idle(self)

    def _replace(self, rank: int) -> None:
        with self._lock:
            died = self._running.pop(rank, None)
            if self._has_ended or died is None:
                return
            number = len(self._running) + 1
            status = died.reap()
            has_begun = status == 0 or _begun(self._folder, died.process.pid).exists()
            self._failed_starts = 0 if has_begun else self._failed_starts + 1
            text = f"the workers of this program end before they begin ({_told(status)}); what they said stands above"
            if self._failed_starts < FAILED_STARTS:
                try:
                    self._running[rank] = self._start(rank, number)
                    return
                except OSError as error:
                    text = f"a worker of this program that has ended cannot be started again: {error}"
            if self.failure is None:
                self.failure = BrokenExecutor(text)
        for pool in list(self.pools):
            pool.give_up(self.failure)

    def end(self) -> None:
        """Ends them, and their space. What they compute is not waited for. A second call waits for the first, but for one by the thread that
        watches them, for which the first one may wait; one in a forked child does nothing.
        """
        if os.getpid() != self._maker:
            return
        watches = self._watcher is threading.current_thread()
        if not self._ending.acquire(blocking=not watches):
            return
        try:
            self._end(watches)
        finally:
            self._ending.release()

    def _end(self, watches: bool) -> None:
        with self._lock:
            if self._has_ended:
                return
            self._has_ended = True
            running, self._running = list(self._running.values()), {}
        self._look_again()
        if self._watcher.is_alive() and not watches:
            self._watcher.join()
        _end_all(running)
        self.lab.close()
        self._server.stop()
        shutil.rmtree(self._folder, ignore_errors=True)
        os.close(self._woken)
        os.close(self._wake)
        _open.discard(self)


class _Worker:
    """A process, and what tells of its end."""

    def __init__(self, settings: dict[str, str], told: dict[str, Any]) -> None:
        """Raises OSError, and then there is no process."""
        flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
        command = [sys.executable, *flags, "-c", BEGIN, "quintet.worker", settings["QUINTET_RANK"]]
        environment = {**os.environ, **settings}
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, start_new_session=True)
        assert self.process.stdin is not None
        try:
            self.descriptor = os.pidfd_open(self.process.pid)
        except BaseException:
            # Nobody would hear of its end, nor bring it about.
            self.process.kill()
            self.process.stdin.close()
            self.process.wait()
            raise
        try:
            with self.process.stdin as stdin:
                stdin.write(json.dumps(told).encode())
        except BrokenPipeError:
            pass  # It has died, which its descriptor says.

    def reap(self) -> int:
        """Its exit status."""
        os.close(self.descriptor)
        return self.process.wait()


def _end_all(workers: list[_Worker]) -> None:
    for worker in workers:
        worker.process.terminate()
    end = time.monotonic() + END_S
    for worker in workers:
        try:
            worker.process.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            worker.process.kill()
        worker.reap()


def _new_folder() -> Path:
    """A folder that only this user enters, in which a socket's path is not too long; it says whose it is. Removes those of programs that are no
    more: a program that is killed while it has no worker leaves its own.
    """
    place = Path(tempfile.gettempdir())
    if len(os.fsencode(place / f"{FOLDER}xxxxxxxx" / "space")) > LONGEST_PATH:
        place = Path("/tmp")
    _remove_left(place)
    folder = Path(tempfile.mkdtemp(prefix=FOLDER, dir=place))
    try:
        (folder / OWNER).write_text(masters.this_process())
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder


def _remove_left(place: Path) -> None:
    """Removes the folders of programs that are no more. One of another user, or that names no program of this machine, stays: whatever else is
    called like that is not this package's.
    """
    for folder in place.glob(f"{FOLDER}*"):
        try:
            is_own = folder.lstat().st_uid == os.geteuid()
            owner = (folder / OWNER).read_text() if is_own else ""
        except (OSError, UnicodeDecodeError):
            continue
        if masters.is_seen_gone(owner):
            shutil.rmtree(folder, ignore_errors=True)


def _module_path() -> list[str]:
    """Where the program's modules are, in every folder: "" is the working folder as it is now."""
    return [os.path.abspath(place) for place in sys.path]


def _told(status: int) -> str:
    return f"signal {-status}" if status < 0 else f"exit status {status}"


def begin(folder: str) -> None:
    """Says that this worker has begun. It is asked when it has died."""
    _begun(Path(folder), os.getpid()).touch()


def _begun(folder: Path, pid: int) -> Path:
    return folder / f"begun-{pid}"


_shared: LocalWorkers | None = None
_sharing = threading.Lock()


def share(number: int) -> LocalWorkers:
    """Workers that this program keeps from one use to the next, so many or more; to be given back by `give_back`. Raises as `LocalWorkers`."""
    global _shared
    with _sharing:
        if _shared is None or _shared.failure is not None or _shared not in _open:
            _shared = LocalWorkers(number)
        elif len(_shared) < number:
            _shared.grow(number)
        _shared.users += 1
        return _shared


def give_back(workers: LocalWorkers) -> None:
    """What `share` gave is used no more."""
    with _sharing:
        workers.users -= 1
        workers.idle_since = time.monotonic()


def stop(workers: LocalWorkers) -> None:
    """Ends what they compute for the only one who uses them, if so: the next use starts others."""
    global _shared
    with _sharing:
        if workers.users > 1:
            return
        if _shared is workers:
            # Nobody gets them while they are being ended.
            _shared = None
    workers.end()


def _end_if_idle(workers: LocalWorkers) -> None:
    global _shared
    with _sharing:
        if workers is not _shared or workers.users > 0 or time.monotonic() - workers.idle_since < IDLE_S:
            return
        _shared = None
    workers.end()


def _leave_to_the_parent() -> None:
    """In a forked child: workers are the parent's."""
    global _shared, _sharing
    _shared, _sharing = None, threading.Lock()
    _open.clear()


os.register_at_fork(after_in_child=_leave_to_the_parent)


@atexit.register
def _end_all_open() -> None:
    for workers in list(_open):
        workers.end()
