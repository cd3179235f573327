#!/usr/bin/env python3
"""Run every peer in a folder briefly and validate its exit status and every line it prints.

A peer that is missing must say so and exit 69; it is listed and does not fail the check. Figures are only required to be
positive numbers: nothing here depends on how fast the machine is.
"""

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

ROUNDS = 2
SHORT = ["--rounds", str(ROUNDS), "--warmup", "3", "--iterations", "40"]
TIMEOUT_S = 120
EXIT_USAGE = 64
EXIT_PEER_MISSING = 69
EXIT_BROKEN = 70
KEYS = {"peer", "case", "unit", "statistic", "value"}

# Of the peers that multicast, which say of a latency what the slowest take too.
MULTICASTS = [
    (case, unit)
    for members in (3, 4, 8)
    for case, unit in ((f"multicast-{members}", "msg/s"), (f"multicast-{members}-latency", "ns"))
]

# Program, further arguments, the peer's name, and the cases of a round with their units, in order.
EXPECTED = [
    ("limit_ping_pong", [], "limit-ping-pong", [("rtt-two-lines", "ns")]),
    ("limit_ping_pong", ["--lines", "1"], "limit-ping-pong", [("rtt-one-line", "ns")]),
    ("limit_futex", [], "limit-futex", [("rtt-across-1", "ns")]),
    ("limit_futex", ["--pairs", "4", "--placement", "within"], "limit-futex", [("rtt-within-4", "ns")]),
    ("limit_futex", ["--pairs", "3", "--placement", "across"], "limit-futex", [("rtt-across-3", "ns")]),
    ("limit_futex_ring", ["--members", "5"], "limit-futex-ring", [("ring-5", "ns")]),
    ("limit_unix", [], "limit-unix", [("rtt-64", "ns"), ("rtt-64-spin", "ns"), ("bulk-1m", "bytes/s")]),
    ("limit_unix", ["--bytes", "1048576"], "limit-unix", [("rtt-1m", "ns")]),
    ("limit_tcp", [], "limit-tcp", [("rtt-64", "ns"), ("rtt-64-spin", "ns"), ("bulk-1m", "bytes/s")]),
    ("limit_sync", [], "limit-sync", [("pair-sync", "pairs/s")]),
    ("limit_tcp", ["--bytes", "65536"], "limit-tcp", [("rtt-64k", "ns")]),
    (
        "ucx_shm",
        [],
        "ucx",
        [
            ("rtt-64", "ns"),
            ("rate-64", "msg/s"),
            ("bulk-64k", "bytes/s"),
            ("bulk-64k-cma", "bytes/s"),
            ("bulk-1m", "bytes/s"),
            ("bulk-1m-cma", "bytes/s"),
        ],
    ),
    ("ucx_shm", ["--case", "rate-64"], "ucx", [("rate-64", "msg/s")]),
    (
        "mpi_shm",
        [],
        "openmpi",
        [("rtt-64", "ns"), ("rate-64", "msg/s"), ("bulk-64k", "bytes/s"), ("bulk-1m", "bytes/s")],
    ),
    ("mpi_shm", ["--single-copy", "cma"], "openmpi", [("bulk-64k-cma", "bytes/s"), ("bulk-1m-cma", "bytes/s")]),
    ("mpi_start.py", [], "openmpi", [("start-2", "ns"), ("start-16", "ns")]),
    ("zmq_rate", [], "zeromq", [("rate-64-ipc", "msg/s"), ("rate-64-tcp", "msg/s")]),
    (
        "redis_pair",
        [],
        "redis-c",
        [
            ("pair-64", "ns"),
            ("pipelined-64-depth-16", "msg/s"),
            ("pipelined-64-depth-64", "msg/s"),
            ("handoff-64", "ns"),
            ("clients-1", "msg/s"),
            ("clients-4", "msg/s"),
            ("clients-16", "msg/s"),
            ("clients-64", "msg/s"),
            ("pair-1m", "ns"),
        ],
    ),
    (
        "redis_pair",
        ["--transport", "tcp"],
        "redis-c",
        [
            ("pair-64-tcp", "ns"),
            ("pipelined-64-depth-16-tcp", "msg/s"),
            ("pipelined-64-depth-64-tcp", "msg/s"),
            ("handoff-64-tcp", "ns"),
            ("clients-1-tcp", "msg/s"),
            ("clients-4-tcp", "msg/s"),
            ("clients-16-tcp", "msg/s"),
            ("clients-64-tcp", "msg/s"),
            ("pair-1m-tcp", "ns"),
        ],
    ),
    ("redis_pair", ["--transport", "tcp", "--case", "clients-4-tcp"], "redis-c", [("clients-4-tcp", "msg/s")]),
    ("redis_pair_tls", [], "redis-c-tls", [("pair-64-tls", "ns")]),
    ("redis_pair.py", [], "redis-py", [("pair-64", "ns"), ("pair-1m", "ns")]),
    ("redis_pair.py", ["--case", "pair-1m"], "redis-py", [("pair-1m", "ns")]),
    ("rinda_pair.rb", [], "rinda", [("pair-64", "ns"), ("pair-64-proxy", "ns")]),
    ("rinda_pair.rb", ["--case", "pair-64-proxy"], "rinda", [("pair-64-proxy", "ns")]),
    ("redis_logged", [], "redis-c-always", [("logged-1", "pairs/s"), ("logged-16", "pairs/s")]),
    (
        "redis_updates",
        [],
        "redis-c",
        [
            ("group-1", "updates/s"),
            ("group-16", "updates/s"),
            ("counter-16", "updates/s"),
            ("counter-16-incr", "updates/s"),
            ("readers-16", "reads/s"),
        ],
    ),
    (
        "redis_locks",
        [],
        "redis-locks",
        [("philosophers-5", "meals/s"), ("transfers-4", "transfers/s")],
    ),
    ("redis_locks", ["--case", "transfers-4"], "redis-locks", [("transfers-4", "transfers/s")]),
    (
        "redis_farm",
        ["--task-us", "1000"],
        "redis-c",
        [
            ("farm-1-efficiency-1000us", "1"),
            ("farm-2-efficiency-1000us", "1"),
            ("farm-1-leased-efficiency-1000us", "1"),
            ("farm-2-leased-efficiency-1000us", "1"),
        ],
    ),
    ("redis_churn", [], "redis-c", [("churn", "1")]),
    ("sqlite_logged", [], "sqlite-full", [("logged-1", "pairs/s"), ("logged-16", "pairs/s")]),
    ("etcd_pair", [], "etcd-3", [("replicated-1", "pairs/s"), ("replicated-16", "pairs/s")]),
    ("nats_pair", [], "nats-jetstream-3", [("replicated-1", "pairs/s"), ("replicated-16", "pairs/s")]),
    ("corosync_multicast", [], "corosync-cpg", MULTICASTS),
    ("corosync_multicast", ["--case", "multicast-4-latency"], "corosync-cpg", [("multicast-4-latency", "ns")]),
    ("jgroups_multicast", ["--case", "multicast-3"], "jgroups-sequencer", [("multicast-3", "msg/s")]),
    (
        "jgroups_multicast",
        ["--transport", "tcp", "--case", "multicast-4-latency"],
        "jgroups-sequencer",
        [("multicast-4-latency", "ns")],
    ),
    ("jgroups_multicast", ["--order", "toa", "--case", "multicast-3"], "jgroups-toa", [("multicast-3", "msg/s")]),
    (
        "jgroups_multicast",
        ["--order", "toa", "--transport", "tcp", "--case", "multicast-4-latency"],
        "jgroups-toa",
        [("multicast-4-latency", "ns")],
    ),
    ("nats_multicast", [], "nats-jetstream", MULTICASTS),
    ("nats_multicast", ["--case", "multicast-3"], "nats-jetstream", [("multicast-3", "msg/s")]),
    ("etcd_multicast", [], "etcd", MULTICASTS),
    ("etcd_multicast", ["--case", "multicast-8-latency"], "etcd", [("multicast-8-latency", "ns")]),
    ("simpy_models.py", [], "simpy", [("mm1", "customers/s"), ("resource", "customers/s"), ("csma-20", "frames/s")]),
    ("simpy_models.py", ["--case", "csma-20"], "simpy", [("csma-20", "frames/s")]),
    ("executor_tasks.py", ["--case", "tasks-0"], "processes", [("tasks-0", "tasks/s")]),
    ("executor_tasks.py", ["--case", "array-8m-same"], "processes", [("array-8m-same", "ns")]),
    ("executor_tasks.py", ["--with", "loky", "--case", "array-8m-same"], "loky", [("array-8m-same", "ns")]),
    ("executor_tasks.py", ["--with", "dask", "--case", "submit-0"], "dask", [("submit-0", "tasks/s")]),
    ("executor_tasks.py", ["--with", "ray", "--case", "submit-0"], "ray", [("submit-0", "tasks/s")]),
    ("executor_machines.py", ["--with", "dask", "--case", "tasks-0"], "dask", [("tasks-0", "tasks/s")]),
    ("executor_machines.py", ["--with", "ray", "--case", "tasks-0"], "ray", [("tasks-0", "tasks/s")]),
    ("ray_start.py", ["--case", "start-2"], "ray", [("start-2", "ns")]),
    ("ns3_lan", [], "ns3", [("lan", "requests/s"), ("lan-ip", "requests/s")]),
    ("ns3_lan", ["--case", "lan-ip"], "ns3", [("lan-ip", "requests/s")]),
    ("iceoryx2", [], "iceoryx2", [("rtt-64", "ns")]),
    ("nexosim", [], "nexosim", [("mm1", "customers/s")]),
]

# Programs that look for another program when they run, which an empty search path hides.
NEEDS_PATH = [
    "mpi_shm",
    "mpi_start.py",
    "redis_pair",
    "redis_logged",
    "redis_updates",
    "redis_locks",
    "redis_farm",
    "redis_churn",
    "redis_pair_tls",
    "redis_pair.py",
    "etcd_pair",
    "corosync_multicast",
    "jgroups_multicast",
    "nats_multicast",
    "etcd_multicast",
    "executor_machines.py",
]


def run(program, arguments, environment=None):
    """Run a peer to its end."""
    command = [program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, env=environment)


def is_missing(result):
    """Whether the peer said, as it must, that it is missing."""
    return result.returncode == EXIT_PEER_MISSING and result.stderr.startswith("peer missing: install with: ")


def check_line(text, peer, case, unit, statistic):
    """The fault of one line, or None."""
    try:
        line = json.loads(text)
    except ValueError:
        return f"not JSON: {text!r}"
    if not isinstance(line, dict) or set(line) != KEYS:
        return f"wrong keys: {text!r}"
    if (line["peer"], line["case"], line["unit"], line["statistic"]) != (peer, case, unit, statistic):
        return f"expected {peer} {case} {unit} {statistic}, got {text!r}"
    value = line["value"]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value <= 0:
        return f"not a positive number: {text!r}"
    return None


def statistics_of(case):
    """What a round of a case gives, in order."""
    return ("mean", "p50", "p99") if case.endswith("-latency") else ("mean", "p50")


def check_output(result, peer, cases):
    """The first fault of a whole run, or None."""
    if result.returncode != 0:
        return f"exit status {result.returncode}: {result.stderr.strip()}"
    expected = [(case, unit, statistic) for case, unit in cases * ROUNDS for statistic in statistics_of(case)]
    lines = result.stdout.splitlines()
    if len(lines) != len(expected):
        return f"expected {len(expected)} lines, got {len(lines)}: {result.stdout!r}"
    for text, (case, unit, statistic) in zip(lines, expected):
        fault = check_line(text, peer, case, unit, statistic)
        if fault:
            return fault
    return None


def check_runs(folder):
    """Run every expected measurement; return the faults and the programs found missing."""
    faults, missing = [], set()
    for name, arguments, peer, cases in EXPECTED:
        title = " ".join([name, *arguments])
        result = run(f"{folder}/{name}", SHORT + arguments)
        if is_missing(result):
            missing.add(name)
            print(f"missing  {title}: {result.stderr.strip()}")
            continue
        fault = check_output(result, peer, cases)
        print(f"{'failed ' if fault else 'ok     '}  {title}")
        if fault:
            faults.append(f"{title}: {fault}")
    return faults, missing


def check_refusals(folder, missing):
    """Every peer refuses an option it does not know, and says so when a program that it starts is not there.

    Asked for a case that it does not have, it prints nothing.
    """
    faults = []
    for name in sorted({entry[0] for entry in EXPECTED} - missing):
        result = run(f"{folder}/{name}", ["--no-such-option", "1"])
        if result.returncode != EXIT_USAGE or not result.stderr:
            faults.append(f"{name}: an unknown option ended with status {result.returncode}, not {EXIT_USAGE}")
        result = run(f"{folder}/{name}", [*SHORT, "--case", "no-such-case"])
        if result.returncode != 0 or result.stdout:
            faults.append(f"{name}: an unknown case ended with {result.returncode} and printed {result.stdout!r}")
    for name in sorted(set(NEEDS_PATH) - missing):
        result = run(f"{folder}/{name}", SHORT, environment={**os.environ, "PATH": "/nonexistent"})
        if not is_missing(result):
            faults.append(f"{name}: without its program it ended with {result.returncode}: {result.stderr.strip()}")
    return faults


def check_limit_of_joining(folder, missing):
    """A group of JGroups that does not form ends the measurement, and says how many of its members were seen.

    In place of Java there is a script that sees two, for ever.
    """
    if "jgroups_multicast" in missing:
        return []
    with tempfile.TemporaryDirectory() as programs:
        java = os.path.join(programs, "java")
        with open(java, "w", encoding="ascii") as script:
            script.write("#!/bin/sh\nprintf '\\002'\nexec sleep 600\n")
        os.chmod(java, 0o755)
        environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
        arguments = ["--join-s", "1", "--case", "multicast-3"]
        result = run(f"{folder}/jgroups_multicast", SHORT + arguments, environment)
    if result.returncode != EXIT_BROKEN or "saw 2 of 3 members after 1 s" not in result.stderr:
        return [f"jgroups_multicast: no group ended with {result.returncode}: {result.stderr.strip()}"]
    return []


def main():
    folder = os.path.abspath(sys.argv[1])
    if shutil.which(f"{folder}/limit_unix") is None:
        print(f"nothing is built in {folder}; run make first", file=sys.stderr)
        return 1
    faults, missing = check_runs(folder)
    faults += check_refusals(folder, missing)
    faults += check_limit_of_joining(folder, missing)
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{len(faults)} faults, {len(missing)} peers missing")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
