"""Multiplies two symmetric matrices with workers that take rows and columns from the space: the Linda-LAN paper's benchmark of computing.

    quintet run -n 5 --worker program examples/python/jmatrix.py [DIMENSION]    # workers are processes
    python examples/python/jmatrix.py [DIMENSION [WORKERS]]                     # workers are threads of this process

Its tuples and results are those of examples/clinda/jmatrix.cl, whose numbers have 32 bits. The product is compared with NumPy's.
"""

from __future__ import annotations

import os
import sys
from threading import Thread

import numpy
from numpy import int32

import quintet

LINE = quintet.array(int32, 1)
"""A row or a column."""


def work(space: quintet.Space) -> None:
    """Multiplies rows by columns as long as there are tasks."""
    space.read("dimension", int32)
    while task := space.take_if("task", int32, int32):
        _, row, column = task
        _, _, rows = space.read("row", row, LINE)
        _, _, columns = space.read("column", column, LINE)
        space.out("result", row, column, rows @ columns)


def multiply(space: quintet.Space, values: numpy.ndarray) -> numpy.ndarray:
    """The product of two matrices that have these rows, and these columns: they are symmetric."""
    dimension = len(values)
    for index, line in enumerate(values):
        space.out("row", int32(index), line)
        space.out("column", int32(index), line)
    for row, column in numpy.ndindex(values.shape):
        space.out("task", int32(row), int32(column))
    space.out("dimension", int32(dimension))  # The workers wait for this.
    product = numpy.empty_like(values)
    for _ in range(values.size):
        _, row, column, value = space.take("result", int32, int32, int32)
        print(f"result({row},{column}) = {value}")
        product[row, column] = value
    return product


def main() -> int:
    """A worker of a job, or the master, or both in one process. Returns the exit status: 1 if NumPy finds another product."""
    dimension = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    threads = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    with quintet.connect() as lab:
        if "QUINTET_RANK" in os.environ:
            work(lab.space)
            return 0
        if "QUINTET_WORKERS" not in os.environ:
            for _ in range(threads):
                Thread(target=work, args=(lab.space,)).start()
        indices = numpy.arange(dimension, dtype=int32)
        values = indices[:, None] + indices + int32(2)
        right = bool((multiply(lab.space, values) == values @ values).all())
    print(f"main job: {'ok' if right else 'FAILED'}, {dimension} x {dimension}, compared with NumPy's product")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
