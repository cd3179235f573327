"""Puts ever larger blocks into the space and takes them out again: the Linda-LAN paper's benchmark of input and output.

    python examples/python/jblock.py [BLOCKS [STEP]]                           # blocks; bytes of the first, and by which each is larger
    QUINTET_SPACE=shm:./space python examples/python/jblock.py 10000 32        # in a space that another process serves

Its tuples are those of examples/clinda/jblock.cl: characters of C, which are numbers of 8 bits.
"""

from __future__ import annotations

import os
import sys
import time

import numpy

import quintet

BLOCK = quintet.array("i1", 1)


def main() -> int:
    """Prints when each block was begun. Returns the exit status: 1 if one came otherwise than it was put."""
    blocks = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    step = int(sys.argv[2]) if len(sys.argv) > 2 else 32
    if "QUINTET_RANK" in os.environ:
        return 0  # The master does it all: workers have nothing to do.
    largest = numpy.full(blocks * step, ord("x"), dtype="i1")
    sizes = range(step, blocks * step + 1, step)
    times, right = [], True
    with quintet.connect() as lab:
        start = time.perf_counter()
        for size in sizes:
            times.append(time.perf_counter() - start)
            lab.space.out("block", largest[:size])
            _, taken = lab.space.take("block", BLOCK)
            right &= numpy.array_equal(taken, largest[:size])
        total = time.perf_counter() - start
    for seconds, size in zip(times, sizes):
        print(f"{seconds:12.6f} s  size - {size}")
    print(f"main job: {'ok' if right else 'FAILED'}, {blocks} blocks in {total:.6f} s, compared with what was put")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
