"""Multiplies two matrices of .npy files by blocks that lie in a space, and checks the product with NumPy's.

    python examples/python/matrix_product.py [a.npy b.npy product.npy]

Without files it makes two of 600 x 400 and 400 x 500.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from pathlib import Path

import numpy

import quintet

BLOCK = 128
"""Rows and columns of a block; those at the edges are smaller."""
THREADS = 2
BLOCK_FORMAL = quintet.array("f8", 2)


def blocks(size: int) -> list[slice]:
    """The parts of a dimension of this size."""
    return [slice(start, min(start + BLOCK, size)) for start in range(0, size, BLOCK)]


def multiply(space: quintet.Space) -> None:
    """Makes blocks of the product until it is told that there are no more (a row of -1)."""
    while True:
        with space.lease("task", int, int, int) as task:
            _, row, column, inner = task
            if row < 0:
                return
            product = sum(
                space.read("a", row, k, BLOCK_FORMAL)[3] @ space.read("b", k, column, BLOCK_FORMAL)[3] for k in range(inner)
            )
            task.acknowledge(("product", row, column, product))


def product(space: quintet.Space, a: numpy.ndarray, b: numpy.ndarray) -> numpy.ndarray:
    """The product, of shape (n, p), of float64 matrices of shapes (n, m) and (m, p)."""
    rows, inner, columns = blocks(a.shape[0]), blocks(a.shape[1]), blocks(b.shape[1])
    space.out_many(("a", i, k, a[r, s]) for i, r in enumerate(rows) for k, s in enumerate(inner))
    space.out_many(("b", k, j, b[s, c]) for k, s in enumerate(inner) for j, c in enumerate(columns))
    space.out_many(("task", i, j, len(inner)) for i in range(len(rows)) for j in range(len(columns)))
    space.out_many([("task", -1, -1, 0)] * THREADS)
    threads = [threading.Thread(target=multiply, args=(space,)) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    result = numpy.empty((a.shape[0], b.shape[1]))
    for _ in range(len(rows) * len(columns)):
        _, i, j, block = space.take("product", int, int, BLOCK_FORMAL)
        result[rows[i], columns[j]] = block
    for thread in threads:
        thread.join()
    return result


def make_files(directory: Path) -> list[Path]:
    """Two matrices to multiply, and where the product goes."""
    random = numpy.random.default_rng(1)
    paths = [directory / "a.npy", directory / "b.npy", directory / "product.npy"]
    numpy.save(paths[0], random.random((600, 400)))
    numpy.save(paths[1], random.random((400, 500)))
    return paths


def main() -> int:
    """Multiplies. Returns the exit status: 1 if NumPy finds another product, 2 for wrong arguments."""
    with tempfile.TemporaryDirectory() as directory:
        paths = [Path(path) for path in sys.argv[1:]] or make_files(Path(directory))
        if len(paths) != 3:
            print(__doc__, file=sys.stderr)
            return 2
        a, b = (numpy.load(path).astype(float) for path in paths[:2])
        with quintet.connect() as lab:
            numpy.save(paths[2], product(lab.space, a, b))
        found, expected = numpy.load(paths[2]), a @ b
    error = float(numpy.abs(found - expected).max())
    print(f"{a.shape} x {b.shape} = {found.shape}; largest difference from NumPy's product {error:.1e}")
    return 0 if numpy.allclose(found, expected) else 1


if __name__ == "__main__":
    sys.exit(main())
