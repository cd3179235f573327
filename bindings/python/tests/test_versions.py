"""A job that a command of another version has started: its program says so, once."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from conftest import LONG_S

import quintet

PROGRAM = "import quintet\nfor _ in range(3): quintet.connect().close()"


@pytest.mark.parametrize(
    ("variables", "times"),
    [({}, 0), ({"QUINTET_VERSION": quintet.__version__}, 0), ({"QUINTET_VERSION": "9.9.9"}, 1), ({"QUINTET_VERSION": "9.9.9", "QUINTET_RANK": "0"}, 0)],
)
def test_a_command_of_another_version_is_told_of_once(variables, times):
    environment = {**os.environ, **variables}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=LONG_S)
    assert done.returncode == 0
    assert done.stderr.count("is 9.9.9, and the Python package is") == times, done.stderr
