"""Measures pairs of out and take through the Python package, for `quintet bench space`.

    python benches/python/quintet_pair.py --address ADDRESS [--rounds N] [--case pair-64|pair-1m|pair-1m-views]

The space is served at ADDRESS by another process; this process stays on the processors of whoever starts it. It counts, times
and prints as benches/peers/redis_pair.py does, so that both are read alike. The large value is a NumPy array that is put and
comes back as an array; `pair-1m-views` puts one of `quintet.empty`, made anew for each pair and not filled, and takes it where it
lies.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable

EXIT_MISSING = 69
MISSING = "the package is missing: .venv/bin/maturin develop --release --manifest-path bindings/python/Cargo.toml"

try:
    import numpy

    import quintet
except ImportError:
    print(MISSING, file=sys.stderr)
    sys.exit(EXIT_MISSING)

MEBIBYTE = 1 << 20
FORMAL = quintet.array("f8", 1)
SMALL = bytes(64)
LARGE = numpy.zeros(MEBIBYTE // 8)
# As the peer: above 16 KiB fewer, so that a round moves about as many bytes.
LARGE_PAIRS = 20_000 * 16 * 1024 // MEBIBYTE
PAIRS = {"pair-64": 20_000, "pair-1m": LARGE_PAIRS, "pair-1m-views": LARGE_PAIRS}
WARM_UP_SHARE = 20


def exchange_bytes(space: quintet.Space) -> int:
    """Puts 64 bytes and takes them; how many came back."""
    space.out("pair", SMALL)
    return len(space.take("pair", bytes)[1])


def exchange_array(space: quintet.Space) -> int:
    """Puts an array and takes it; how many bytes came back."""
    space.out("pair", LARGE)
    return space.take("pair", FORMAL)[1].nbytes


def exchange_view(space: quintet.Space) -> int:
    """The same with an array that is copied nowhere."""
    array = quintet.empty(len(LARGE))
    array[0] = 1.0
    space.out("pair", array)
    return space.take("pair", FORMAL)[1].nbytes


CASES: dict[str, tuple[Callable[[quintet.Space], int], int]] = {
    "pair-64": (exchange_bytes, len(SMALL)),
    "pair-1m": (exchange_array, LARGE.nbytes),
    "pair-1m-views": (exchange_view, LARGE.nbytes),
}


def measure_round(space: quintet.Space, case: str) -> list[int]:
    """Nanoseconds of each pair."""
    exchange, size = CASES[case]
    for _ in range(PAIRS[case] // WARM_UP_SHARE):
        exchange(space)
    durations = []
    start = time.perf_counter_ns()
    for _ in range(PAIRS[case]):
        if exchange(space) != size:
            raise RuntimeError("a value came back with another length")
        now = time.perf_counter_ns()
        durations.append(now - start)
        start = now
    return durations


def report(case: str, durations: list[int]) -> None:
    """Prints the mean and the median of one round."""
    for statistic, value in (("mean", statistics.fmean(durations)), ("p50", statistics.median(durations))):
        line = {"peer": "quintet", "case": case, "unit": "ns", "statistic": statistic, "value": round(value, 3)}
        print(json.dumps(line), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure pairs of out and take.", allow_abbrev=False)
    parser.add_argument("--address", required=True, help="where the space is served")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--case", choices=sorted(CASES))
    options = parser.parse_args()
    cases = [options.case] if options.case else list(CASES)
    with quintet.connect(options.address) as lab:
        for _ in range(options.rounds):
            for case in cases:
                report(case, measure_round(lab.space, case))


if __name__ == "__main__":
    main()
