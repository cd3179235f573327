"""The main job: scikit-learn's grid search over handwritten digits, its fits done by workers on three machines.

One worker is killed while it holds a task, and one machine is cut off, with the tasks that its workers hold. The table of scores has to equal
that of the serial run. The machines are network namespaces of this one, joined by a network that can be cut, with TLS between them; where
namespaces are not allowed they are three agents on the loopback, and instead of being cut off one of them is killed.

    main_job.py QUINTET PYTHON

The last line says whether all went as it must, and what was lost and done again.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

MACHINES = ["a", "b", "c"]
LOST = "c"
WORKERS = 6
SCRIPT = Path(__file__).resolve().parent.parent / "examples" / "python" / "tune_digits.py"
PORT = 7400
LIMIT_S = 300
# How much later than the worker the machine is lost.
LATER_S = 0.5

# A machine that is cut off is noticed within two seconds, and what it held is free after three.
SETTINGS = {
    "space.lease_ms": 3000,
    "link.keep_alive_ms": 500,
    "link.silence_limit_ms": 2000,
    "link.resume_window_ms": 2000,
}

REDONE = re.compile(r"task (\d+) was held by worker (\d+) (when it was killed|and lost); redone by worker (\d+)")


class Failed(Exception):
    """Something did not go as it must."""


class Bed:
    """Three machines of a testbed, with an agent on each."""

    def __init__(self, quintet: str) -> None:
        self.quintet = quintet
        self.name = f"main-job-{os.getpid()}"
        up = self.says("up", "--name", self.name, "--json", *MACHINES)
        if up.returncode != 0:
            print(f"no network namespaces here ({up.stderr.strip()}): three agents on the loopback")
            up = self.says("up", "--name", self.name, "--json", "--loopback", *MACHINES)
        if up.returncode != 0:
            raise Failed(f"the testbed is not up: {up.stderr.strip()}")
        made = json.loads(up.stdout)
        self.are_namespaces = made["mode"] == "namespaces"
        self.addresses = {machine["name"]: machine["address"] for machine in made["machines"]}

    def says(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Runs `quintet testbed`."""
        return subprocess.run([self.quintet, "testbed", *words], capture_output=True, text=True, timeout=LIMIT_S)

    def command(self, machine: str, *words: str) -> list[str]:
        """A command on a machine."""
        return [self.quintet, "testbed", "exec", "--name", self.name, machine, "--", *words]

    def on(self, machine: str, *words: str) -> str:
        """What a command on a machine prints."""
        done = subprocess.run(self.command(machine, *words), capture_output=True, text=True, timeout=LIMIT_S)
        if done.returncode != 0:
            raise Failed(f"{machine}: {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def make_cluster(self) -> None:
        """Founds the cluster on the first machine, and has the others join."""
        place = {machine: f"{address}:{PORT}" for machine, address in self.addresses.items()}
        first = MACHINES[0]
        self.on(first, self.quintet, "init", "lab", "--machine", first)
        self.on(first, self.quintet, "up", "lab", "--listen", place[first])
        for machine in MACHINES[1:]:
            token = json.loads(self.on(first, self.quintet, "token", "create", "--json"))["token"]
            self.on(machine, self.quintet, "join", f"lab@{place[first]}", token, "--name", machine, "--listen", place[machine])
        print(self.on(first, self.quintet, "status"), end="")

    def lose(self, machine: str) -> str:
        """Cuts a machine off, or ends all its processes. What was done, in words."""
        word = "cut" if self.are_namespaces else "kill"
        lost = self.says(word, "--name", self.name, machine)
        if lost.returncode != 0:
            raise Failed(f"{word} {machine}: {lost.stderr.strip()}")
        return f"machine {machine} {'cut off' if self.are_namespaces else 'killed'}"


def run_job(bed: Bed, python: str) -> tuple[str, list[re.Match[str]]]:
    """Runs the search, and loses a machine as soon as a worker was killed. What was lost, and what was done again."""
    settings = [word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}")]
    words = ["run", "--hosts", ",".join(MACHINES), "-n", str(WORKERS), "--kill-one", *settings, "--python", python]
    command = bed.command(MACHINES[0], bed.quintet, *words, str(SCRIPT))
    job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    timer = threading.Timer(LIMIT_S, job.kill)
    timer.start()
    lost, redone = "", []
    try:
        assert job.stdout is not None
        for line in job.stdout:
            print(line, end="", flush=True)
            redone.extend(REDONE.finditer(line))
            if not lost and re.search(r"worker \d+ ended with signal 9", line):
                # By then it is known of its workers, too, what they hold.
                time.sleep(LATER_S)
                lost = bed.lose(LOST)
                print(lost, flush=True)
        status = job.wait()
    finally:
        timer.cancel()
        if job.poll() is None:
            job.kill()
    if status != 0:
        raise Failed(f"exit status {status}")
    return lost, redone


def judge(lost: str, redone: list[re.Match[str]]) -> str:
    """What was lost and done again, in words. Raises Failed if less was than must be."""
    of_the_killed = [found for found in redone if found[3] == "when it was killed"]
    # Workers are placed one after the other.
    elsewhere = {str(rank) for rank in range(WORKERS) if MACHINES[rank % len(MACHINES)] == LOST}
    of_the_machine = [found for found in redone if found[2] in elsewhere and found[3] == "and lost"]
    if not lost or not of_the_killed:
        raise Failed("no task of a killed worker was done again")
    if not of_the_machine:
        raise Failed(f"no task of the workers on machine {LOST} was done again")
    killed = of_the_killed[0]
    tasks = ", ".join(found[1] for found in of_the_machine)
    return (
        f"worker {killed[2]} killed, its task {killed[1]} done again by worker {killed[4]}; {lost}, "
        f"its tasks {tasks} done again elsewhere; the scores equal those of the serial run"
    )


def main() -> int:
    """Returns the exit status."""
    quintet, python = (str(Path(word).absolute()) for word in sys.argv[1:3])
    bed = None
    try:
        bed = Bed(quintet)
        bed.make_cluster()
        print("main job: ok:", judge(*run_job(bed, python)))
        status = 0
    except (Failed, subprocess.TimeoutExpired) as problem:
        print("main job: FAILED:", problem)
        status = 1
    finally:
        if bed is not None:
            bed.says("down", "--name", bed.name)
    return status


if __name__ == "__main__":
    sys.exit(main())
