"""The process of a worker that a program has started for itself (`local`). It knows what `python -m quintet.worker` does, and ends with that program."""

from __future__ import annotations

import sys
from typing import Any

from quintet import local, worker
from quintet._native import end_with_parent


def main(told: dict[str, Any]) -> int:
    """Works until the program has ended or ends it. Returns the exit status.

    `told`: its parent's process number, the folder that goes with the parent, and the path for modules, which was heeded before.
    """
    end_with_parent(told["parent"], told["folder"])
    # As where a program is given by -c: argv says nothing of the parent's.
    sys.argv = [""]
    local.begin(told["folder"])
    return worker.main(sweeps=False)
