"""joblib's backend "quintet": `joblib.parallel_config(backend="quintet")`.

Calls run in the workers of the space that the environment names (under `quintet run`, the job's); without one, in worker processes of this
program's own, which stay for the calls that follow.
"""

from __future__ import annotations

import logging
import os
from typing import Any, Callable

from joblib._parallel_backends import AutoBatchingMixin
from joblib.parallel import ParallelBackendBase

from quintet import local, presence
from quintet._native import Lab
from quintet.bulk import Sharing
from quintet.connecting import is_named
from quintet.cores import usable_cores
from quintet.errors import TimedOut
from quintet.executor import AHEAD_TASKS, Executor
from quintet.pool import Future
from quintet.worker_threads import EMBEDDED_WORKERS

BEGUN_WITHIN_S = 2.0
"""How long the first worker of a space has to announce itself."""

_logger = logging.getLogger("quintet")


class QuintetBackend(AutoBatchingMixin, ParallelBackendBase):  # type: ignore[misc]
    """A backend of joblib over an `Executor`. `lab` is the connection to use; without one, that of the space which the environment names; without
    such a space, workers of the program's own.

    Calls that take little go in batches, as many as take a fifth of a second (joblib's `batch_size="auto"`).
    """

    default_n_jobs = -1
    supports_retrieve_callback = True
    supports_inner_max_num_threads = False

    def __init__(
        self,
        nesting_level: int | None = None,
        lab: Lab | None = None,
        initializer: Callable[..., Any] | None = None,
        initargs: tuple[Any, ...] = (),
        **arguments: Any,
    ) -> None:
        unknown = arguments.keys() - {"inner_max_num_threads"}
        if unknown:
            raise TypeError(f"the backend quintet takes no {', '.join(sorted(unknown))}")
        super().__init__(nesting_level=nesting_level, **arguments)
        self._lab = lab
        self._initializer, self._initargs = initializer, initargs
        self._local: local.LocalWorkers | None = None
        self._executor: Executor | None = None
        self._futures: set[Future[Any]] = set()
        self._sharing: Sharing | None = None

    def configure(
        self,
        n_jobs: int = 1,
        parallel: Any = None,
        initializer: Callable[..., Any] | None = None,
        initargs: tuple[Any, ...] = (),
        **_arguments: Any,
    ) -> int:
        """Connects, if it has not, and says how many tasks can run at a time: no more do, unless `n_jobs` is -1. Raises as
        `quintet.connect`.
        """
        self.parallel = parallel
        if initializer is not None:
            self._initializer, self._initargs = initializer, initargs
        jobs = self.effective_n_jobs(n_jobs)
        self._begin(jobs)._pool.limit(AHEAD_TASKS if n_jobs in (-1, None) else jobs)
        return jobs

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        """`n_jobs`, or for -1 the number of workers: one a usable core where they are the program's own, else those of the space that live, or
        are said to be there and were not found dead: at the start of a job some have yet to announce themselves. -2 is one fewer, and so on.

        Of a single worker it is 2, as joblib computes in the program itself what is one job. Without any it is 1, which is said.
        """
        if n_jobs == 0:
            raise ValueError("n_jobs == 0 in Parallel has no meaning")
        if n_jobs is not None and n_jobs > 0:
            return n_jobs
        lab = self._space_lab()
        workers = usable_cores() if lab is None else _workers(lab)
        jobs = workers if n_jobs is None else max(workers + 1 + n_jobs, 1)
        if workers == 0:
            _logger.warning("there is no worker at %s: joblib computes in this process", lab.address if lab is not None else "this process")
        return 2 if jobs == workers == 1 else max(jobs, 1)

    def start_call(self) -> None:
        """The tasks from now on send a large array that they have in common once."""
        self._sharing = self._begin(1)._pool.share_on(compares=True)

    def stop_call(self) -> None:
        """No further task comes of this call."""
        sharing, self._sharing = self._sharing, None
        if sharing is not None:
            sharing.end()

    def submit(self, func: Callable[[], Any], callback: Callable[[Future[Any]], Any] | None = None) -> Future[Any]:
        """Puts a batch of calls as a task; `callback` gets its future when it is done. Raises as `Executor.submit`."""
        future = self._begin(1)._pool.submit((func, (), {}), self._sharing)
        self._futures.add(future)
        future.add_done_callback(self._futures.discard)
        if callback is not None:
            future.add_done_callback(callback)
        return future

    def retrieve_result_callback(self, out: Future[Any]) -> Any:
        """The results of a batch, or the exception that a call raised."""
        return out.result()

    def terminate(self) -> None:
        """Ends the executor. The connection stays if it was given, and workers of the program's own for the next call."""
        self.stop_call()
        self.reset_batch_stats()
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=False, cancel_futures=True)
        workers, self._local = self._local, None
        if workers is not None:
            local.give_back(workers)

    def abort_everything(self, ensure_ready: bool = True) -> None:
        """Takes back what no worker has begun; the results of the rest are dropped. Workers of the program's own that nobody else uses end, with
        what they compute.
        """
        for future in list(self._futures):
            future.cancel()
        if self._local is not None:
            local.stop(self._local)
        self.terminate()
        if ensure_ready:
            self.configure(n_jobs=self.parallel.n_jobs, parallel=self.parallel)

    def _space_lab(self) -> Lab | None:
        """A connection with the space whose workers do the calls; None where they are the program's own."""
        if self._lab is not None:
            return self._lab
        return self._begin(1).lab if is_named() else None

    def _begin(self, jobs: int) -> Executor:
        """The executor; where workers are the program's own, so many are there at least."""
        if self._executor is None:
            lab = self._lab
            if lab is None and not is_named():
                self._local = local.share(jobs)
                lab = self._local.lab
            self._executor = Executor(lab=lab, initializer=self._initializer, initargs=self._initargs)
            if self._local is not None:
                self._local.pools.add(self._executor._pool)
        elif self._local is not None:
            self._local.grow(jobs)
        return self._executor


def _workers(lab: Lab) -> int:
    """Those of a space, which may just have begun."""
    living = presence.count(lab)
    announced = _announced(lab)
    if announced is not None:
        return max(living, announced)
    try:
        return presence.wait(lab, 1, BEGUN_WITHIN_S)
    except TimedOut:
        return 0


def _announced(lab: Lab) -> int | None:
    """Workers that whoever started this program says there are, or that an embedded lab has."""
    text = os.environ.get("QUINTET_WORKERS", "")
    if text.isdecimal():
        return int(text) - presence.found_dead(lab)
    return EMBEDDED_WORKERS if lab.is_embedded else None
