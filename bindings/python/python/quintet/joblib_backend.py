"""joblib's backend "quintet": `joblib.parallel_config(backend="quintet")`.

Calls run in the workers of the environment's space; without one, in two threads of this process.
"""

from __future__ import annotations

import os
from typing import Any, Callable

from joblib._parallel_backends import AutoBatchingMixin
from joblib.parallel import ParallelBackendBase

from quintet import presence
from quintet._native import Lab
from quintet.bulk import Sharing
from quintet.executor import AHEAD_TASKS, EMBEDDED_WORKERS, Executor
from quintet.pool import Future


class QuintetBackend(AutoBatchingMixin, ParallelBackendBase):  # type: ignore[misc]
    """A backend of joblib over an `Executor`. `lab` is the connection to use, default `quintet.connect()`.

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
        self._executor: Executor | None = None
        self._futures: set[Future] = set()
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
        self._get_executor()._pool.limit(AHEAD_TASKS if n_jobs in (-1, None) else jobs)
        return jobs

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        """`n_jobs`, or for -1 the number of workers that live, or are said to be there and were not found dead: at the start of a
        job some have yet to announce themselves. -2 is one fewer, and so on.
        """
        if n_jobs == 0:
            raise ValueError("n_jobs == 0 in Parallel has no meaning")
        if n_jobs is not None and n_jobs > 0:
            return n_jobs
        executor = self._get_executor()
        workers = max(executor.workers(), _announced(executor.lab), 1)
        return workers if n_jobs is None else max(workers + 1 + n_jobs, 1)

    def start_call(self) -> None:
        """The tasks from now on send a large array that they have in common once."""
        self._sharing = self._get_executor()._pool.share_on()

    def stop_call(self) -> None:
        """No further task comes of this call."""
        sharing, self._sharing = self._sharing, None
        if sharing is not None:
            sharing.end()

    def submit(self, func: Callable[[], Any], callback: Callable[[Future], Any] | None = None) -> Future:
        """Puts a batch of calls as a task; `callback` gets its future when it is done. Raises as `Executor.submit`."""
        future = self._get_executor()._pool.submit((func, (), {}), self._sharing)
        self._futures.add(future)
        future.add_done_callback(self._futures.discard)
        if callback is not None:
            future.add_done_callback(callback)
        return future

    def retrieve_result_callback(self, out: Future) -> Any:
        """The results of a batch, or the exception that a call raised."""
        return out.result()

    def terminate(self) -> None:
        """Ends the executor. The connection stays if it was given."""
        self.stop_call()
        self.reset_batch_stats()
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=False, cancel_futures=True)

    def abort_everything(self, ensure_ready: bool = True) -> None:
        """Takes back what no worker has begun; the results of the rest are dropped."""
        for future in list(self._futures):
            future.cancel()
        self.terminate()
        if ensure_ready:
            self.configure(n_jobs=self.parallel.n_jobs, parallel=self.parallel)

    def _get_executor(self) -> Executor:
        if self._executor is None:
            self._executor = Executor(self._lab, initializer=self._initializer, initargs=self._initargs)
        return self._executor


def _announced(lab: Lab) -> int:
    """Workers that whoever started this program says there are, or that an embedded lab has."""
    text = os.environ.get("QUINTET_WORKERS", "")
    if text.isdecimal():
        return int(text) - presence.found_dead(lab)
    return EMBEDDED_WORKERS if lab.is_embedded else 0
