"""`python -m quintet`: the command `quintet`, of this package's version.

It is looked for beside this Python, then in the folders of PATH. The first of the same version is run in this process' place; if there are only
others, the first of those is, which is said.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator

from quintet import __version__

NOT_FOUND = 127
"""The exit status where there is no command, as a shell has it."""


def _commands() -> Iterator[str]:
    """Those there are."""
    beside = os.path.dirname(sys.executable)
    for folder in dict.fromkeys([beside, *os.environ.get("PATH", os.defpath).split(os.pathsep)]):
        # Not from the working folder: a relative place may be anybody's.
        found = shutil.which("quintet", path=folder) if os.path.isabs(folder) else None
        if found is not None:
            yield found


def _version(command: str) -> str:
    """What it says its version is; nothing if it says none."""
    try:
        said = subprocess.run([command, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return said.stdout.strip().removeprefix("quintet ") if said.returncode == 0 else ""


def main() -> int:
    """Becomes the command. Returns an exit status if there is none."""
    others: dict[str, str] = {}
    for command in _commands():
        version = _version(command)
        if version == __version__:
            os.execv(command, ["quintet", *sys.argv[1:]])
        others[command] = version
    for command, version in others.items():
        said = version or "of no version that it says"
        print(f"quintet: {command} is {said}, and this package is {__version__}: install both from one release", file=sys.stderr, flush=True)
        if version:
            os.execv(command, ["quintet", *sys.argv[1:]])
    print(
        f"quintet: the command is neither beside {sys.executable} nor on PATH; build it with: cargo install --path crates/quintet-cli",
        file=sys.stderr,
    )
    return NOT_FOUND


if __name__ == "__main__":
    sys.exit(main())
