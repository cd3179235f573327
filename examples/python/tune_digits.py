"""Tunes a classifier of handwritten digits, once serially and once by the workers of a space, and compares the results.

    quintet run -n 4 --kill-one examples/python/tune_digits.py    # workers in processes, one of which is killed
    python examples/python/tune_digits.py                         # without a cluster: worker processes of its own, one a core

The last line of the output is a JSON object; the exit status is 1 if the two results differ.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

import joblib
import numpy
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

import quintet

GRID = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": [0.0001, 0.0005, 0.001, 0.005]}
FOLDS = 5
WORKERS_WITHIN_S = 60.0


def search(features: numpy.ndarray, labels: numpy.ndarray) -> tuple[GridSearchCV, float]:
    """The best parameters for images of shape (n, 64) and labels of shape (n,), and the seconds that the search took."""
    began = time.perf_counter()
    found = GridSearchCV(SVC(), GRID, cv=FOLDS, refit=False).fit(features, labels)
    return found, time.perf_counter() - began


def scores(found: GridSearchCV) -> dict[str, Any]:
    """The table of results without the times."""
    return {name: column for name, column in found.cv_results_.items() if "time" not in name}


def differences(one: GridSearchCV, other: GridSearchCV) -> list[str]:
    """Names of what is not exactly equal."""
    found = [] if one.best_params_ == other.best_params_ else ["best_params_"]
    first, second = scores(one), scores(other)
    if first.keys() != second.keys():
        return [*found, "columns"]
    return found + [name for name in first if not numpy.array_equal(first[name], second[name])]


def wait_for_workers() -> None:
    """Until all of QUINTET_WORKERS have announced themselves. Raises TimedOut after a minute."""
    if not os.environ.get("QUINTET_SPACE"):
        print("no cluster (QUINTET_SPACE is not set): the workers are processes of this program's own")
        return
    with quintet.connect() as lab:
        there = lab.wait_for_workers(int(os.environ.get("QUINTET_WORKERS", "0")), WORKERS_WITHIN_S)
    print(f"{there} workers are there")


def main() -> int:
    """Runs both searches. Returns the exit status."""
    features, labels = load_digits(return_X_y=True)
    wait_for_workers()
    serial, serial_s = search(features, labels)
    with joblib.parallel_config(backend="quintet"):
        parallel, quintet_s = search(features, labels)
    fits = len(serial.cv_results_["params"]) * FOLDS
    different = differences(serial, parallel)
    print(f"best parameters: {serial.best_params_}, mean accuracy {serial.best_score_:.4f}")
    print(f"{fits} fits: {serial_s:.2f} s serially, {quintet_s:.2f} s by the workers ({serial_s / quintet_s:.2f} times as fast)")
    if different:
        print(f"the results differ in {', '.join(different)}", file=sys.stderr)
    summary = {"equal": not different, "serial_s": round(serial_s, 3), "quintet_s": round(quintet_s, 3), "fits": fits}
    print(json.dumps(summary))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
