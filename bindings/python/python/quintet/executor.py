"""An executor whose tasks are done by the workers of a space."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor as _Executor
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from quintet import html, presence, tasks, worker_threads
from quintet._native import Lab
from quintet.connecting import connect, embedded, is_named
from quintet.cores import usable_cores
from quintet.local import LocalWorkers
from quintet.mapping import Mapping
from quintet.pool import Future, Pool
from quintet.worker_threads import EMBEDDED_WORKERS

if TYPE_CHECKING:
    from typing_extensions import ParamSpec

    P = ParamSpec("P")

T = TypeVar("T")

AHEAD_TASKS = 4096
"""Tasks that an executor puts ahead of their results, at most."""

AHEAD_BYTES = 128 << 20
"""Bytes of their payloads, at most; one task is always put."""


class Executor(_Executor):
    """Runs calls in workers. A worker that dies is started again, and its task is done again by one that lives: what ends a
    `ProcessPoolExecutor` with BrokenProcessPool costs an attempt here. A task whose workers died five times fails with TaskFailed.

        with quintet.Executor(4) as executor:     # four worker processes of its own
            print(list(executor.map(pow, range(9), range(9))))

    Who the workers are:

    | executor | workers |
    | --- | --- |
    | `Executor(4)`, `Executor()` | that many processes of its own, or one a usable core; they end with it, and with the program, however that dies |
    | the same under `quintet run`, or where a space is named (QUINTET_SPACE, quintet.toml) | those of that space: nothing is started |
    | `Executor(lab=lab)` | those of that space; of an embedded lab, two threads of this process |
    | `Executor(4, threads=True)` | that many threads of this process |

    Processes of its own never import the program's main module, so that a script needs no `if __name__ == "__main__":`, and a notebook or
    `python -c` does as well: functions and classes of the main module travel with the task.

    A future's callbacks (`add_done_callback`) run one after the other in the thread that collects the results. A callback
    may submit a task, and must not wait for another future: no result comes while it waits.

    At most `ahead_tasks` tasks, of `ahead_bytes` bytes when pickled, lie in the space or with workers; those beyond wait here, in
    their order, so that a job of any length leaves the space room for its results, and others.

    A task may submit tasks to an executor of its own. If it waits for them it keeps its worker meanwhile: once every worker does so,
    nothing goes on. That is said as a warning, as it is when there is no worker at all (logger "quintet", after two seconds).

    Arrays of 64 KiB and more travel apart from the pickle and are copied once on their way to a worker, which sees what cannot be
    written. Tasks of one `map` send an array that they have in common once; it is not to be changed meanwhile, unless `map` has a `buffersize`.

    As with the standard library's executors, tasks under way are done also if the executor was dropped or the program ends: the end
    waits for them. ctrl-C ends that wait; in a `with` block it cancels all tasks, and ends the workers that are the executor's own.
    """

    def __init__(
        self,
        max_workers: int | Lab | None = None,
        *,
        lab: Lab | None = None,
        threads: bool = False,
        initializer: Callable[..., Any] | None = None,
        initargs: tuple[Any, ...] = (),
        ahead_tasks: int = AHEAD_TASKS,
        ahead_bytes: int = AHEAD_BYTES,
    ) -> None:
        """`max_workers` is how many processes, or threads, it starts; in a space that others serve it bounds how many of its tasks are there
        at a time. `initializer(*initargs)` is called by each worker before its first task; if it raises the executor is broken.

        `Executor(lab)` is `Executor(lab=lab)`.

        Raises ValueError, as `quintet.connect` does, and what pickling the initializer raises; RuntimeError where no process can be started.
        """
        if isinstance(max_workers, Lab):
            if lab is not None:
                raise TypeError("one lab is enough")
            max_workers, lab = None, max_workers
        if max_workers is not None and max_workers <= 0:
            raise ValueError("max_workers must be greater than 0")
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be a callable")
        pickled = None if initializer is None else tasks.dumps((initializer, initargs))
        self._own: LocalWorkers | None = None
        self._started = 0
        """How many workers, processes or threads, it has started; 0: those are who they are."""
        self.lab, close = self._place(max_workers, lab, threads)
        """The connection it uses."""
        if max_workers is not None and self._own is None and not self.lab.is_embedded:
            ahead_tasks = min(ahead_tasks, max_workers)
        try:
            self._pool = Pool(self.lab, close, ahead_tasks, ahead_bytes, pickled)
            if self._own is not None:
                self._own.pools.add(self._pool)
            self._pool.start()
        except BaseException:
            if close is not None:
                close()
            raise
        self.pool = self._pool.name
        """Names this executor's tasks and results."""
        weakref.finalize(self, _drop, self._pool).atexit = False

    def _place(self, max_workers: int | None, lab: Lab | None, threads: bool) -> tuple[Lab, Callable[[], None] | None]:
        """The lab whose workers do the tasks, and what is to be called in the end. Starts them if they are its own."""
        if lab is not None:
            if lab.is_embedded:
                worker_threads.ensure(lab.space, max_workers or EMBEDDED_WORKERS)
            return lab, None
        if threads:
            own, self._started = embedded(), max_workers or usable_cores()
            try:
                worker_threads.ensure(own.space, self._started)
            except BaseException:
                own.close()
                raise
            return own, own.close
        if is_named():
            named = connect()
            return named, named.close
        self._started = max_workers or usable_cores()
        self._own = LocalWorkers(self._started)
        return self._own.lab, self._own.end

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Puts a task, or keeps it until others are done. Raises RuntimeError after shutdown, BrokenExecutor, its cause the error,
        after the space was lost or the initializer failed, what pickling raises, and as `Space.out`; what a kept task's `Space.out` raises, its future raises.
        """
        return self._pool.submit((fn, args, kwargs))

    def map(
        self,
        fn: Callable[..., T],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int | None = None,
        buffersize: int | None = None,
    ) -> Iterator[T]:
        """The results of the calls in their order, each raised or returned at its place.

        Calls that take little go many at a time: how many follows from how long they take, so that tasks of any length keep the workers
        busy. `chunksize` calls travel as one task if it is given, 1 for each by itself. A call that raises is the last one done of its chunk;
        if a worker dies, its chunk is done again.

        The arguments are collected at once, unless `buffersize` says how many calls are under way, or their results not taken, at most: then
        they may come without end. An array that many of the calls have is sent once for all. `timeout` as in the standard library.

        Raises ValueError; as `submit`.
        """
        if chunksize is not None and chunksize < 1:
            raise ValueError("chunksize must be >= 1.")
        if buffersize is not None and buffersize < 1:
            raise ValueError("buffersize must be None or > 0")
        workers = self._started or max(self.workers(), 1)
        return Mapping(self._pool, fn, zip(*iterables), chunksize, workers, buffersize).results(timeout)

    def workers(self) -> int:
        """How many workers have announced themselves and live."""
        return presence.count(self.lab)

    def tasks_under_way(self) -> int:
        """How many of its tasks are submitted and not done: those of a `map` are chunks of calls."""
        return self._pool.under_way()

    def __repr__(self) -> str:
        place = self.lab.address or "embedded"
        return f"<quintet.Executor {place}, {self.tasks_under_way()} tasks under way>"

    def _repr_html_(self) -> str:
        """What notebooks show."""
        return html.of_executor(self)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        if kind is None or not issubclass(kind, KeyboardInterrupt):
            self.shutdown()
        elif self._own is None:
            self.shutdown(wait=False, cancel_futures=True)
        else:
            self._pool.abandon()
            self._pool.join()

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


def _drop(pool: Pool) -> None:
    """The executor was dropped, at any point of any thread: nothing may be waited for here."""
    pool.has_ended = True
