"""How many cores this process may use: those that its affinity names, and no more than its control groups grant it time of."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
"""Where the control groups are mounted."""

OWN = Path("/proc/self/cgroup")
"""Which of them this process is in: "hierarchy:controllers:path" a line."""


def usable_cores() -> int:
    """At least 1. Of a share of a core, as containers have it (2.5 for one), the next larger number."""
    granted = [math.ceil(share) for share in _shares()]
    return max(1, min([len(os.sched_getaffinity(0)), *granted]))


def _shares() -> Iterator[float]:
    """What each control group around this process grants, in cores; those without a limit, and those of elsewhere, grant nothing."""
    for folder, is_unified in _folders():
        share = _unified(folder) if is_unified else _divided(folder)
        if share is not None:
            yield share


def _folders() -> Iterator[tuple[Path, bool]]:
    """Those groups from the innermost outwards; whether they are of version 2."""
    try:
        lines = OWN.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        is_unified = controllers == ""
        if not is_unified and "cpu" not in controllers.split(","):
            continue
        mount = ROOT if is_unified else ROOT / controllers
        inner = mount / path.lstrip("/")
        for folder in (inner, *inner.parents):
            if folder == ROOT.parent:
                break
            yield folder, is_unified


def _unified(folder: Path) -> float | None:
    """Of version 2: "max 100000", or "250000 100000" for two and a half."""
    words = _words(folder / "cpu.max")
    return int(words[0]) / int(words[1]) if len(words) == 2 and words[0] != "max" else None


def _divided(folder: Path) -> float | None:
    """Of version 1; a quota of -1 is none."""
    quota, period = _words(folder / "cpu.cfs_quota_us"), _words(folder / "cpu.cfs_period_us")
    return int(quota[0]) / int(period[0]) if quota and period and int(quota[0]) > 0 else None


def _words(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except OSError:
        return []
