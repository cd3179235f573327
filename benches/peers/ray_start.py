#!/usr/bin/env python3
"""Peer: Ray, whose driver has a cluster of two nodes start processes, each with an actor, and ends with them.

The cluster is up beforehand, as Quintet's is: two nodes on this machine (`ray.cluster_utils.Cluster`). The driver is timed as a whole
command, from before it is started until it has ended: it joins the cluster, makes so many actors, which Ray starts a process each for, calls
each once, so that it is known to be there, and leaves. Actors ask for no processor, so that more of them than processors are allowed, and are
spread over the nodes.
"""

import json
import os
import statistics
import subprocess
import sys
import time

from options import EXIT_BROKEN, EXIT_PEER_MISSING, parser_of

MISSING = "peer missing: install with: python3 -m venv, access to PyPI and make -C benches/peers"
PEER = "ray"
LIMIT_S = 120
NODES = 2
CASES = {"start-2": 2, "start-16": 16, "start-64": 64}

DRIVER = """
import sys
import ray

ray.init(address=sys.argv[1], log_to_driver=False, logging_level="error")


@ray.remote(num_cpus=0, scheduling_strategy="SPREAD")
class Process:
    def is_there(self):
        return True


processes = [Process.remote() for _ in range(int(sys.argv[2]))]
if not all(ray.get([process.is_there.remote() for process in processes])):
    sys.exit("an actor is not there")
"""


def start(address, processes):
    """How long one driver takes, in nanoseconds.

    Raises RuntimeError if it fails, or takes too long.
    """
    command = [sys.executable, "-c", DRIVER, address, str(processes)]
    began = time.perf_counter_ns()
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(f"ray has not started and ended {processes} actors within {LIMIT_S} s") from error
    if result.returncode != 0:
        raise RuntimeError(f"ray, {processes} actors: {result.stderr.strip()}")
    return time.perf_counter_ns() - began


def measure(address, case, options):
    """Print the figures of one round."""
    for _ in range(options.warmup):
        start(address, CASES[case])
    took = [start(address, CASES[case]) for _ in range(options.iterations)]
    for statistic, value in (("mean", statistics.fmean(took)), ("p50", statistics.median(took))):
        line = {"peer": PEER, "case": case, "unit": "ns", "statistic": statistic, "value": value}
        print(json.dumps(line), flush=True)


def main():
    options = parser_of("Time the start of processes by Ray.", rounds=3, warmup=1, iterations=1).parse_args()
    if options.cpus is not None:
        os.sched_setaffinity(0, set(options.cpus))
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        from ray.cluster_utils import Cluster
    except ImportError:
        print(MISSING, file=sys.stderr)
        return EXIT_PEER_MISSING
    cluster = Cluster()
    try:
        for _ in range(NODES):
            cluster.add_node(num_cpus=1, include_dashboard=False)
        cluster.wait_for_nodes()
        for _ in range(options.rounds):
            for case in CASES:
                if options.case in (None, case):
                    measure(cluster.address, case, options)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return EXIT_BROKEN
    finally:
        cluster.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
