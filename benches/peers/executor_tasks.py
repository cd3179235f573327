#!/usr/bin/env python3
"""Peers: executors of Python, two workers each: ProcessPoolExecutor, loky, Dask, Ray; and Quintet's, by the same code.

    executor_tasks.py [--with processes|loky|dask|ray|quintet] [--rounds N] [--case NAME]

Each does many calls of one function in the way in which its documentation says to (`Executor.map`, `Client.map`, `ray.get` of a list of
references), with its own defaults: nobody is told how many calls go together. `submit-0` has a future for each call.

| case | figure |
| --- | --- |
| tasks-0, tasks-100us, tasks-1ms, tasks-10ms | calls a second that keep a processor busy for so long |
| submit-0 | the same of calls that do nothing, submitted one by one |
| smallest-90 | the shortest call, in ns, with which all takes no more than 10 % longer than the same calls in two processes that nobody hands anything |
| array-8m-same, array-8m-distinct | ns a call whose argument is an array of 8 MB: the same one for all, one each; loky by joblib, which maps it into memory |
"""

import json
import multiprocessing
import os
import sys
import time

from options import EXIT_PEER_MISSING, parser_of

MISSING = "peer missing: install with: python3 -m venv, access to PyPI and make -C benches/peers"

WORKERS = 2
# Calls of a round: about half a second of work for both workers; short ones enough for what a call costs to show.
DURATIONS_S = {"tasks-0": 0.0, "tasks-100us": 1e-4, "tasks-1ms": 1e-3, "tasks-10ms": 1e-2}
ROUND_S = 0.5
ARRAYS = 24
ARRAY_NUMBERS = 1_000_000
EFFICIENT = 0.9
SHORTEST_S = 2e-6
LONGEST_S = 0.1


class Processes:
    """concurrent.futures.ProcessPoolExecutor."""

    def __init__(self, *where):
        self.executor = self.make(*where)

    def make(self):
        from concurrent.futures import ProcessPoolExecutor

        return ProcessPoolExecutor(WORKERS)

    def map(self, function, arguments):
        return list(self.executor.map(function, arguments))

    def submit_all(self, function, arguments):
        return [future.result() for future in [self.executor.submit(function, argument) for argument in arguments]]

    def map_arrays(self, function, arrays):
        return self.map(function, arrays)

    def close(self):
        self.executor.shutdown()


class Loky(Processes):
    """loky's reusable executor; arrays by joblib over it."""

    def make(self):
        import loky

        return loky.get_reusable_executor(WORKERS)

    def map_arrays(self, function, arrays):
        import joblib

        with joblib.parallel_config(backend="loky", n_jobs=WORKERS):
            return joblib.Parallel()(joblib.delayed(function)(array) for array in arrays)


class Quintet(Processes):
    """quintet.Executor with processes of its own."""

    def make(self):
        import quintet

        return quintet.Executor(WORKERS)


class Dask(Processes):
    """dask.distributed with a local cluster of processes."""

    def make(self):
        from distributed import Client, LocalCluster

        cluster = LocalCluster(n_workers=WORKERS, threads_per_worker=1, processes=True, dashboard_address=None)
        return Client(cluster)

    def map(self, function, arguments):
        return self.executor.gather(self.executor.map(function, arguments, pure=False))

    def submit_all(self, function, arguments):
        return self.executor.gather([self.executor.submit(function, argument, pure=False) for argument in arguments])

    def close(self):
        cluster = self.executor.cluster
        self.executor.close()
        cluster.close()


class Ray(Processes):
    """ray.remote with two workers; an array that all have is put once, as its documentation says to."""

    def make(self):
        import ray

        ray.init(num_cpus=WORKERS, include_dashboard=False, log_to_driver=False, logging_level="error")
        return ray

    def map(self, function, arguments):
        remote = self.executor.remote(function)
        return self.executor.get([remote.remote(argument) for argument in arguments])

    def submit_all(self, function, arguments):
        return self.map(function, arguments)

    def map_arrays(self, function, arrays):
        references = {id(array): self.executor.put(array) for array in {id(array): array for array in arrays}.values()}
        remote = self.executor.remote(function)
        return self.executor.get([remote.remote(references[id(array)]) for array in arrays])

    def close(self):
        self.executor.shutdown()


EXECUTORS = {"processes": Processes, "loky": Loky, "quintet": Quintet, "dask": Dask, "ray": Ray}


def timed(call, *arguments):
    """Seconds that the call takes, and what it returns."""
    began = time.perf_counter()
    returned = call(*arguments)
    return time.perf_counter() - began, returned


def rate(executor, how, duration_s, of_nothing=5000):
    """Calls a second; of those that do nothing so many are measured."""
    from executor_work import spin

    calls = of_nothing if duration_s == 0 else max(int(ROUND_S * WORKERS / duration_s), 20)
    taken, returned = timed(how, spin, [duration_s] * calls)
    if returned != [duration_s] * calls:
        raise RuntimeError("a result is wrong")
    return calls / taken


def spin_alone(duration_s, calls):
    """What a process does of those calls by itself."""
    from executor_work import spin

    for _ in range(calls):
        spin(duration_s)


def ideal_rate(duration_s):
    """Calls a second of so many processes that nobody hands anything, beside whatever else this machine does now."""
    calls = max(int(ROUND_S / duration_s), 10)
    processes = [multiprocessing.get_context("fork").Process(target=spin_alone, args=(duration_s, calls)) for _ in range(WORKERS)]
    began = time.perf_counter()
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return WORKERS * calls / (time.perf_counter() - began)


def smallest_ns(executor):
    """The shortest call with which the workers are busy enough, to a fifth."""
    shortest, longest = SHORTEST_S, LONGEST_S
    while longest / shortest > 1.2:
        middle = (shortest * longest) ** 0.5
        efficiencies = sorted(rate(executor, executor.map, middle) / ideal_rate(middle) for _ in range(3))
        if efficiencies[1] >= EFFICIENT:
            longest = middle
        else:
            shortest = middle
    return longest * 1e9


def array_ns(executor, is_same):
    """Nanoseconds a call with an array of 8 MB."""
    import numpy
    from executor_work import total

    arrays = [numpy.full(ARRAY_NUMBERS, 1.0)] * ARRAYS if is_same else [numpy.full(ARRAY_NUMBERS, float(n)) for n in range(ARRAYS)]
    taken, returned = timed(executor.map_arrays, total, arrays)
    if returned != [total(array) for array in arrays]:
        raise RuntimeError("a result is wrong")
    return taken / ARRAYS * 1e9


CASES = {
    **{name: ("tasks/s", lambda executor, n, s=s: rate(executor, executor.map, s, n)) for name, s in DURATIONS_S.items()},
    "submit-0": ("tasks/s", lambda executor, n: rate(executor, executor.submit_all, 0.0, n)),
    "smallest-90": ("ns", lambda executor, _: smallest_ns(executor)),
    "array-8m-same": ("ns", lambda executor, _: array_ns(executor, True)),
    "array-8m-distinct": ("ns", lambda executor, _: array_ns(executor, False)),
}


def main():
    # An iteration is a call of nothing.
    parser = parser_of("Measure an executor of Python.", warmup=200, iterations=5000)
    parser.add_argument("--with", dest="peer", choices=sorted(EXECUTORS), default="processes")
    options = parser.parse_args()
    if options.cpus is not None:
        os.sched_setaffinity(0, set(options.cpus))
    cases = [case for case in CASES if options.case in (None, case)]
    if not cases:
        return 0
    try:
        executor = EXECUTORS[options.peer]()
    except ImportError:
        print(MISSING, file=sys.stderr)
        return EXIT_PEER_MISSING
    from executor_work import spin

    executor.map(spin, [0.0] * options.warmup)
    for _ in range(options.rounds):
        for case in cases:
            unit, measure = CASES[case]
            value = measure(executor, options.iterations)
            for statistic in ("mean", "p50"):
                line = {"peer": options.peer, "case": case, "unit": unit, "statistic": statistic, "value": round(value, 3)}
                print(json.dumps(line), flush=True)
    executor.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
