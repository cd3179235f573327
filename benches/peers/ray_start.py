#!/usr/bin/env python3
"""Peer: Ray, whose driver has a cluster of two nodes start processes, each with an actor, and ends with them.

The cluster is up beforehand, as Quintet's is: two nodes on this machine (`ray.cluster_utils.Cluster`). The driver is timed as a whole
command, from before it is started until it has ended: it joins the cluster, makes so many actors, which Ray starts a process each for, calls
each once, so that it is known to be there, and leaves. Actors ask for no processor, so that more of them than processors are allowed, and are
spread over the nodes.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

EXIT_USAGE = 64
EXIT_PEER_MISSING = 69
EXIT_BROKEN = 70
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


class Parser(argparse.ArgumentParser):
    """Ends with the status that every peer uses for a wrong option."""

    def error(self, message):
        print(message, file=sys.stderr)
        sys.exit(EXIT_USAGE)


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return number


def processors(text):
    return [int(one) for one in text.split(",")]


def parse_options():
    """The options every peer takes; README.md describes them."""
    parser = Parser(description="Time the start of processes by Ray.", allow_abbrev=False)
    parser.add_argument("--rounds", type=positive, default=3)
    parser.add_argument("--warmup", type=int, default=1)
    parser.add_argument("--iterations", type=positive, default=1)
    parser.add_argument("--cpus", type=processors, default=None)
    parser.add_argument("--case", default=None)
    return parser.parse_args()


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
    options = parse_options()
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
