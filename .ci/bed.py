"""Three machines for the jobs of these scripts: network namespaces of this one, joined by a network that can be cut, with TLS between them; where namespaces are
not allowed they are three agents on the loopback.
"""

from __future__ import annotations

import json
import os
import subprocess

MACHINES = ["a", "b", "c"]
PORT = 7400
LIMIT_S = 300


class Failed(Exception):
    """Something did not go as it must."""


class Bed:
    """Three machines of a testbed, with an agent on each."""

    def __init__(self, quintet: str, name: str) -> None:
        self.quintet = quintet
        self.name = f"{name}-{os.getpid()}"
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

    def __enter__(self) -> Bed:
        return self

    def __exit__(self, *_why: object) -> None:
        """Ends the machines and all that runs on them."""
        self.says("down", "--name", self.name)
