"""The main job: scikit-learn's grid search over handwritten digits, its fits done by workers on three machines.

One worker is killed while it holds a task, and one machine is cut off, with the tasks that its workers hold. The table of scores has to equal
that of the serial run. The machines are network namespaces of this one, joined by a network that can be cut, with TLS between them; where
namespaces are not allowed they are three agents on the loopback, and instead of being cut off one of them is killed.

    main_job.py QUINTET PYTHON

The last line says whether all went as it must, and what was lost and done again.
"""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from pathlib import Path

from bed import LIMIT_S, MACHINES, Bed, Failed

LOST = "c"
WORKERS = 6
SCRIPT = Path(__file__).resolve().parent.parent / "examples" / "python" / "tune_digits.py"
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
# Cut off between taking a task and saying so: nobody knows which worker it was.
UNSAID = re.compile(r"task (\d+) was taken by a worker that was lost before it could say so.*; redone by worker \d+")
# What the killed worker held has come back long before: its connection has ended.
NOTICED = re.compile(rf"quintet: {LOST} is (silent|lost)")


def run_job(bed: Bed, python: str) -> tuple[str, list[re.Match[str]], list[str]]:
    """Runs the search, and loses a machine as soon as a worker was killed. What was lost, what was done again, and what of the machine without a word."""
    settings = [word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}")]
    words = ["run", "--hosts", ",".join(MACHINES), "-n", str(WORKERS), "--kill-one", *settings, "--python", python]
    command = bed.command(MACHINES[0], bed.quintet, *words, str(SCRIPT))
    job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    timer = threading.Timer(LIMIT_S, job.kill)
    timer.start()
    lost, redone, unsaid, is_noticed = "", [], [], False
    try:
        assert job.stdout is not None
        for line in job.stdout:
            print(line, end="", flush=True)
            redone.extend(REDONE.finditer(line))
            is_noticed = is_noticed or NOTICED.search(line) is not None
            unsaid.extend(found[1] for found in UNSAID.finditer(line) if is_noticed)
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
    return lost, redone, unsaid


def judge(lost: str, redone: list[re.Match[str]], unsaid: list[str]) -> str:
    """What was lost and done again, in words. Raises Failed if less was than must be."""
    of_the_killed = [found for found in redone if found[3] == "when it was killed"]
    # Workers are placed one after the other.
    elsewhere = {str(rank) for rank in range(WORKERS) if MACHINES[rank % len(MACHINES)] == LOST}
    of_the_machine = [found[1] for found in redone if found[2] in elsewhere and found[3] == "and lost"] + unsaid
    if not lost or not of_the_killed:
        raise Failed("no task of a killed worker was done again")
    if not of_the_machine:
        raise Failed(f"no task of the workers on machine {LOST} was done again")
    killed = of_the_killed[0]
    tasks = ", ".join(of_the_machine)
    return (
        f"worker {killed[2]} killed, its task {killed[1]} done again by worker {killed[4]}; {lost}, "
        f"its tasks {tasks} done again elsewhere; the scores equal those of the serial run"
    )


def main() -> int:
    """Returns the exit status."""
    quintet, python = (str(Path(word).absolute()) for word in sys.argv[1:3])
    try:
        with Bed(quintet, "main-job") as bed:
            bed.make_cluster()
            print("main job: ok:", judge(*run_job(bed, python)))
    except (Failed, subprocess.TimeoutExpired) as problem:
        print("main job: FAILED:", problem)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
