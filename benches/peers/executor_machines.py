#!/usr/bin/env python3
"""Peers: executors of Python with two workers on two machines, one on each: Dask, Ray; and Quintet's, by the same code.

    executor_machines.py [--with quintet|dask|ray] [--rounds N] [--case NAME]

The machines are those of a testbed that the command `quintet` makes (`quintet testbed`: two network namespaces of this machine, with a network
between them): that of the variable QUINTET, else the one in PATH. On the first are the program that submits (executor_driver.py), a worker,
and what the product needs once: Dask's scheduler, Ray's head, Quintet's job; on the second is the other worker. All is started anew for each
measurement, before the clock runs, and removed with the testbed. Quintet's machines are a cluster, with TLS between them; those of the others
speak in the clear, as they do unless told otherwise.

The cases are tasks-0, tasks-100us, tasks-1ms, tasks-10ms and smallest-90 of executor_tasks.py.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from options import EXIT_BROKEN, EXIT_PEER_MISSING, parser_of

MISSING = "peer missing: install with: python3 -m venv, access to PyPI and make -C benches/peers"
NO_COMMAND = "peer missing: install with: cargo install --path crates/quintet-cli, or name the command in the variable QUINTET"
NO_MACHINES = "peer missing: install with: apt-get install iproute2, and start this as root: machines are network namespaces"
HERE = Path(__file__).resolve().parent
MACHINES = ("m0", "m1")
CASES = ("tasks-0", "tasks-100us", "tasks-1ms", "tasks-10ms", "smallest-90")
# How long anything that is started may take to be there, and a measurement may.
START_S = 120
LIMIT_S = 600


class Missing(Exception):
    """Something that is not installed; how to have it."""


class Machines:
    """Two machines of a testbed; without them, and whatever runs on them, once it is left."""

    def __init__(self, command):
        self.command = command
        self.name = f"bench-{os.getpid()}"
        # Modules of this folder are there for whoever is started. A machine's own folder has a path too long for Ray's sockets.
        self.folder = tempfile.TemporaryDirectory(prefix="bench-")
        beside = {"PYTHONPATH": str(HERE), "PYTHONUNBUFFERED": "1", "RAY_TMPDIR": self.folder.name}
        self.environment = {**os.environ, **beside, "RAY_USAGE_STATS_ENABLED": "0"}
        self.started = []

    def __enter__(self):
        made = json.loads(self.testbed("up", "--json", *MACHINES))
        if made["mode"] != "namespaces":
            self.testbed("down")
            raise Missing(NO_MACHINES)
        self.addresses = [machine["address"] for machine in made["machines"]]
        return self

    def __exit__(self, *_):
        self.testbed("down")
        for process in self.started:
            process.wait()
        self.folder.cleanup()

    def testbed(self, what, *words):
        """What a command of `quintet testbed` says."""
        return said([self.command, "testbed", what, "--name", self.name, *words], self.environment)

    def words(self, machine, *words):
        return [self.command, "testbed", "exec", "--name", self.name, machine, "--", *words]

    def does(self, machine, *words, limit_s=START_S):
        """What a command says that goes well on a machine."""
        return said(self.words(machine, *words), self.environment, limit_s)

    def start(self, machine, *words):
        """Start what goes on until the machines are removed."""
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.started.append(subprocess.Popen(self.words(machine, *words), env=self.environment, **quiet))


def said(command, environment, limit_s=START_S):
    """What a command prints.

    Raises RuntimeError, with what it said, if it fails or takes too long.
    """
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, check=False, env=environment)
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(f"{' '.join(command)} has not ended within {limit_s} s") from error
    if result.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {result.returncode}: {result.stderr.strip()}{result.stdout.strip()}")
    return result.stdout


def driver(*words):
    """The command of the program that measures."""
    return [sys.executable, str(HERE / "executor_driver.py"), *words]


def with_quintet(machines, words):
    """A cluster of both machines, and a job on them whose master measures."""
    here, there = MACHINES
    quintet = machines.command
    machines.does(here, quintet, "init", "lab", "--machine", here)
    machines.does(here, quintet, "up", "--listen", f"{here}:7400")
    token = json.loads(machines.does(here, quintet, "token", "create", "--json", "--allow", "join,run,code"))["token"]
    machines.does(there, quintet, "join", f"lab@{here}:7400", token, "--name", there, "--listen", f"{there}:7400")
    job = [quintet, "run", "--hosts", ",".join(MACHINES), "-n", str(len(MACHINES)), "--python", sys.executable]
    return machines.does(here, *job, *driver("--with", "quintet", *words)[1:], limit_s=LIMIT_S)


def with_dask(machines, words):
    """A scheduler, and a worker on each machine."""
    here = MACHINES[0]
    address = f"tcp://{here}:8786"
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    machines.start(here, *dask, "--host", here, "--port", "8786", "--no-dashboard")
    worker = [sys.executable, "-m", "distributed.cli.dask_worker"]
    for machine in MACHINES:
        machines.start(machine, *worker, address, "--host", machine, "--nthreads", "1", "--no-dashboard")
    return machines.does(here, *driver("--with", "dask", "--address", address, *words), limit_s=LIMIT_S)


def with_ray(machines, words):
    """A head, and a node beside it."""
    here, there = machines.addresses
    ray = [str(Path(sys.executable).parent / "ray"), "start", "--num-cpus", "1", "--disable-usage-stats"]
    head = ["--head", "--node-ip-address", here, "--port", "6379", "--include-dashboard", "false"]
    machines.does(MACHINES[0], *ray, *head)
    machines.does(MACHINES[1], *ray, "--address", f"{here}:6379", "--node-ip-address", there)
    return machines.does(MACHINES[0], *driver("--with", "ray", "--address", f"{here}:6379", *words), limit_s=LIMIT_S)


# The product's module, and what has it measured.
PRODUCTS = {"quintet": ("quintet", with_quintet), "dask": ("distributed", with_dask), "ray": ("ray", with_ray)}


def measure(product, words):
    """Print the figures of one measurement."""
    from importlib.util import find_spec

    module, run = PRODUCTS[product]
    command = os.environ.get("QUINTET") or shutil.which("quintet")
    if find_spec(module) is None:
        raise Missing(MISSING)
    if command is None or shutil.which(command) is None:
        raise Missing(NO_COMMAND)
    with Machines(shutil.which(command)) as machines:
        lines = run(machines, words).splitlines()
    for line in lines:
        if line.startswith('{"peer"'):
            print(line, flush=True)


def main():
    # An iteration is a call of nothing.
    parser = parser_of("Measure an executor of Python on two machines.", rounds=3, warmup=200, iterations=5000)
    parser.add_argument("--with", dest="product", choices=sorted(PRODUCTS), default="quintet")
    options = parser.parse_args()
    if options.cpus is not None:
        os.sched_setaffinity(0, set(options.cpus))
    cases = [case for case in CASES if options.case in (None, case)]
    # Ended from outside it takes the machines away as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        for case in cases:
            words = ["--case", case, "--rounds", str(options.rounds)]
            measure(options.product, [*words, "--warmup", str(options.warmup), "--iterations", str(options.iterations)])
    except Missing as missing:
        print(missing, file=sys.stderr)
        return EXIT_PEER_MISSING
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return EXIT_BROKEN
    return 0


if __name__ == "__main__":
    sys.exit(main())
