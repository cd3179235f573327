#!/usr/bin/python3
"""Peer: mpirun of Open MPI, which starts programs on this machine and ends when they have ended.

The programs are `true`, so that what is timed is the starting and ending of so many processes. The whole command is timed,
from before it is started until it has ended. More processes than processors are allowed (--oversubscribe).
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import time

from options import EXIT_BROKEN, EXIT_PEER_MISSING, parser_of

MISSING = "peer missing: install with: apt-get install openmpi-bin"
PEER = "openmpi"
LIMIT_S = 30
CASES = {"start-2": 2, "start-16": 16}


def start(program, processes):
    """How long one command takes, in nanoseconds.

    Raises RuntimeError if it fails, or takes too long.
    """
    command = [program, "--oversubscribe", "-n", str(processes), "true"]
    if os.geteuid() == 0:
        command.insert(1, "--allow-run-as-root")
    began = time.perf_counter_ns()
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(f"mpirun -n {processes} has not ended within {LIMIT_S} s") from error
    if result.returncode != 0:
        raise RuntimeError(f"mpirun -n {processes}: {result.stderr.strip()}")
    return time.perf_counter_ns() - began


def measure(program, case, options):
    """Print the figures of one round."""
    for _ in range(options.warmup):
        start(program, CASES[case])
    took = [start(program, CASES[case]) for _ in range(options.iterations)]
    for statistic, value in (("mean", statistics.fmean(took)), ("p50", statistics.median(took))):
        line = {"peer": PEER, "case": case, "unit": "ns", "statistic": statistic, "value": value}
        print(json.dumps(line), flush=True)


def main():
    options = parser_of("Time mpirun.", warmup=0, iterations=1).parse_args()
    if options.cpus is not None:
        os.sched_setaffinity(0, set(options.cpus))
    program = shutil.which("mpirun")
    if program is None:
        print(MISSING, file=sys.stderr)
        return EXIT_PEER_MISSING
    try:
        for _ in range(options.rounds):
            for case in CASES:
                if options.case in (None, case):
                    measure(program, case, options)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return EXIT_BROKEN
    return 0


if __name__ == "__main__":
    sys.exit(main())
