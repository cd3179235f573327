"""The Linda-LAN paper's programs, jmatrix and jblock, in C-Linda, C, Python and Rust: each on this machine, over shared memory and over TCP, and on three, all with the same results; and jmatrix with
workers of three languages for one master.

    papers_programs.py TARGET PYTHON

TARGET is cargo's folder, with the command, the examples in Rust, and the C library as its tests have installed it. The last line says whether all went as it must.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from bed import LIMIT_S, MACHINES, Bed, Failed

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
PROGRAMS = ["jmatrix", "jblock"]
LANGUAGES = ["C-Linda", "C", "Python", "Rust"]
DIMENSION, WORKERS = 20, 4
BLOCKS, STEP = 60, 512
ARGUMENTS = {"jmatrix": [str(DIMENSION), str(WORKERS)], "jblock": [str(BLOCKS), str(STEP)]}
RESULT = re.compile(r"result\(\d+,\d+\) = \d+|size - \d+")


class Programs:
    """What is run, and how."""

    def __init__(self, target: Path, python: str, folder: Path) -> None:
        self.quintet = str(target / "debug" / "quintet")
        self.python = python
        self.folder = folder
        self.rust = target / "debug" / "examples"
        library = target / "c" / "tests" / "prefix"
        for name in PROGRAMS:
            source, program = EXAMPLES / "clinda" / f"{name}.cl", folder / f"{name}-clinda"
            compiling = [self.quintet, "clc", str(source), "-o", str(program)]
            must(compiling, {"PKG_CONFIG_PATH": str(library / "lib" / "pkgconfig")})
            source, program = EXAMPLES / "c" / f"{name}.c", folder / f"{name}-c"
            linked = [str(library / "lib" / "libquintet.so"), f"-Wl,-rpath,{library / 'lib'}", "-pthread"]
            must([os.environ.get("CC", "cc"), f"-I{library / 'include'}", str(source), *linked, "-o", str(program)])

    def alone(self, name: str, language: str) -> list[str]:
        """A program without a job."""
        program = {
            "C-Linda": [self.folder / f"{name}-clinda"],
            "C": [self.folder / f"{name}-c"],
            "Python": [self.python, EXAMPLES / "python" / f"{name}.py"],
            "Rust": [self.rust / name],
        }[language]
        return [*map(str, program), *ARGUMENTS[name]]

    def job(self, name: str, language: str, *options: str) -> list[str]:
        """A program as master and workers of a job."""
        program = self.alone(name, language)
        if language == "Python":
            options = (*options, "--worker", "program", "--python", program.pop(0))
        return [self.quintet, "run", "-n", str(WORKERS), *options, *program]

    def mixed(self) -> list[str]:
        """A master in Rust, and workers in C, Python and Rust by their ranks."""
        words = {language: " ".join(self.alone("jmatrix", language)) for language in LANGUAGES}
        workers = self.folder / "workers"
        workers.write_text(f"#!/bin/sh\ncase $QUINTET_RANK in 0) exec {words['C']};; 1) exec {words['Python']};; *) exec {words['Rust']};; esac\n")
        workers.chmod(0o755)
        options = ["--worker", "python", "--python", str(workers)]
        return [self.quintet, "run", "-n", "3", *options, *self.alone("jmatrix", "Rust")]


def must(command: list[str], variables: dict[str, str] | None = None) -> str:
    """What a command says that goes well."""
    # What comes from two outputs is kept apart, so that no line is written into the middle of another one.
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, env={**os.environ, **(variables or {})})
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}: exit status {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def expected() -> dict[str, list[str]]:
    """The results, computed directly."""
    numbers = range(DIMENSION)
    product = [
        f"result({row},{column}) = {sum((row + k + 2) * (column + k + 2) for k in numbers)}" for row in numbers for column in numbers
    ]
    return {"jmatrix": sorted(product), "jblock": [f"size - {number * STEP}" for number in range(1, BLOCKS + 1)]}


def check(what: str, name: str, said: str) -> None:
    """Raises Failed unless a program has told the results."""
    found = RESULT.findall(said)
    # Products come as they are ready, blocks one after the other.
    if (sorted(found) if name == "jmatrix" else found) != expected()[name]:
        raise Failed(f"{name}, {what}: other results: {said}")
    print(f"{name}, {what}: {len(found)} results")


def run_all(programs: Programs, bed: Bed) -> None:
    """Runs everything. Raises Failed if a result is another one."""
    first, last = MACHINES[0], MACHINES[-1]
    three = ["--hosts", ",".join(MACHINES)]
    for language in LANGUAGES:
        for name in PROGRAMS:
            check(f"{language}, one machine", name, must(programs.job(name, language)))
            check(f"{language}, one machine over TCP", name, must(programs.job(name, language, "--link", "tcp")))
        job = bed.command(first, *programs.job("jmatrix", language, *three))
        check(f"{language}, three machines", "jmatrix", must(job))
        # It has no workers: its space is the cluster's, on another machine.
        far = bed.command(last, "env", "QUINTET_SPACE=quintet://lab", *programs.alone("jblock", language))
        check(f"{language}, a space on another machine", "jblock", must(far))
    check("a master in Rust, workers in C, Python and Rust", "jmatrix", must(programs.mixed()))


def main() -> int:
    """Returns the exit status."""
    target, python = Path(sys.argv[1]).resolve(), str(Path(sys.argv[2]).absolute())
    try:
        with tempfile.TemporaryDirectory() as folder:
            programs = Programs(target, python, Path(folder))
            with Bed(programs.quintet, "papers-programs") as bed:
                bed.make_cluster()
                run_all(programs, bed)
    except (Failed, subprocess.TimeoutExpired) as problem:
        print("paper's programs: FAILED:", problem)
        return 1
    print("paper's programs: ok: the same results in", ", ".join(LANGUAGES))
    return 0


if __name__ == "__main__":
    sys.exit(main())
