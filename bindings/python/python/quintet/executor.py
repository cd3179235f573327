"""An executor whose tasks are done by the workers of a space."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor as _Executor
from typing import Any, Callable

from quintet import presence, tasks
from quintet._native import Lab
from quintet.bulk import Sharing
from quintet.connecting import connect
from quintet.pool import Future, Pool

EMBEDDED_WORKERS = 2
"""Threads that do the tasks when the lab is embedded and nobody else can."""

AHEAD_TASKS = 4096
"""Tasks that an executor puts ahead of their results, at most."""

AHEAD_BYTES = 128 << 20
"""Bytes of their payloads, at most; one task is always put."""


class Executor(_Executor):
    """Runs calls in the workers of a lab's space (`python -m quintet.worker`), each exactly once also if workers die: a
    task whose worker dies is done by another. A task whose workers died five times fails with TaskFailed.

    A future's callbacks (`add_done_callback`) run one after the other in the thread that collects the results. A callback
    may submit a task, and must not wait for another future: no result comes while it waits.

    At most `ahead_tasks` tasks, of `ahead_bytes` bytes when pickled, lie in the space or with workers; those beyond wait here, in
    their order, so that a job of any length leaves the space room for its results, and others.

    A task may submit tasks to an executor of its own. If it waits for them it keeps its worker meanwhile: once every worker does so,
    nothing goes on. That is said as a warning, as it is when there is no worker at all (logger "quintet", after two seconds).

    Arrays of 64 KiB and more travel apart from the pickle and are copied once on their way to a worker, which sees what cannot be
    written. Tasks of one `map` send an array that they have in common once; it is not to be changed meanwhile.

    As with the standard library's executors, tasks under way are done also if the executor was dropped or the program ends: the end
    waits for them, unless ctrl-C ends it. Without a lab it connects as `quintet.connect()` and closes that connection at shutdown. In an embedded lab two threads
    of this process do the work.
    """

    def __init__(
        self,
        lab: Lab | None = None,
        *,
        initializer: Callable[..., Any] | None = None,
        initargs: tuple[Any, ...] = (),
        ahead_tasks: int = AHEAD_TASKS,
        ahead_bytes: int = AHEAD_BYTES,
    ) -> None:
        """`initializer(*initargs)` is called by each worker before its first task; if it raises the executor is broken.

        Raises as `quintet.connect` does, and what pickling the initializer raises.
        """
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be a callable")
        pickled = None if initializer is None else tasks.dumps((initializer, initargs))
        own = lab is None
        self.lab = connect() if lab is None else lab
        """The connection it uses."""
        try:
            if self.lab.is_embedded:
                _ensure_workers(self.lab)
            self._pool = Pool(self.lab, own, ahead_tasks, ahead_bytes, pickled)
            self._pool.start()
        except BaseException:
            if own:
                self.lab.close()
            raise
        self.pool = self._pool.name
        """Names this executor's tasks and results."""
        weakref.finalize(self, _drop, self._pool).atexit = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        """Puts a task, or keeps it until others are done. Raises RuntimeError after shutdown, BrokenExecutor, its cause the error,
        after the space was lost or the initializer failed, what pickling raises, and as `Space.out`; what a kept task's `Space.out` raises, its future raises.
        """
        return self._pool.submit((fn, args, kwargs))

    def map(
        self, fn: Callable[..., Any], *iterables: Iterable[Any], timeout: float | None = None, chunksize: int = 1, **arguments: Any
    ) -> Iterator[Any]:
        """The results of the calls in their order, each raised or returned at its place. `chunksize` calls travel as one task: for calls
        that take less than a millisecond, some hundred are ten times as fast. A call that raises is the last one done of its chunk.

        The arguments are collected at once, and an array that many of the calls have is sent once for all; `timeout`, and what else there is, as in the standard library.
        """
        if chunksize < 1:
            raise ValueError("chunksize must be >= 1.")
        with self._pool.share() as sharing:
            together = _Together(self._pool, sharing)
            if chunksize == 1:
                return together.map(fn, *iterables, timeout=timeout, **arguments)
            chunks = _chunks(zip(*iterables), chunksize)
            return _flat(together.map(tasks.Chunk(fn), chunks, timeout=timeout, **arguments))

    def workers(self) -> int:
        """How many workers have announced themselves and live."""
        return presence.count(self.lab)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Takes no more tasks. `wait` for those under way; `cancel_futures` takes back those no worker has yet. Without waiting, those
        under way are done all the same, also if the program ends meanwhile.
        """
        futures = self._pool.end()
        if cancel_futures:
            for future in futures:
                future.cancel()
        if wait:
            self._pool.join()


class _Together(_Executor):
    """Submits tasks that may name the same large arrays."""

    def __init__(self, pool: Pool, sharing: Sharing) -> None:
        self._pool, self._sharing = pool, sharing

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        return self._pool.submit((fn, args, kwargs), self._sharing)


def _chunks(calls: Iterator[tuple[Any, ...]], size: int) -> Iterator[list[tuple[Any, ...]]]:
    while chunk := list(itertools.islice(calls, size)):
        yield chunk


def _flat(chunks: Iterator[tuple[list[Any], bytes | None]]) -> Iterator[Any]:
    """The results of chunks, one by one. Closed early, or at a failure, it takes back the chunks that no worker has."""
    try:
        for values, failure in chunks:
            # As the standard library does: no result is kept once it was given.
            values.reverse()
            while values:
                yield values.pop()
            if failure is not None:
                raise tasks.exception_of(failure)
    finally:
        chunks.close()  # type: ignore[attr-defined]


def _drop(pool: Pool) -> None:
    """The executor was dropped, at any point of any thread: nothing may be waited for here."""
    pool.has_ended = True


_workers: weakref.WeakSet[Lab] = weakref.WeakSet()
_workers_lock = threading.Lock()


def _ensure_workers(lab: Lab) -> None:
    """Starts the threads that do the tasks of an embedded lab, once."""
    from quintet.worker import work

    with _workers_lock:
        if lab in _workers:
            return
        for rank in range(EMBEDDED_WORKERS):
            threading.Thread(target=work, args=(lab.space, rank), name=f"quintet-worker-{rank}", daemon=True).start()
        _workers.add(lab)
