#!/usr/bin/env python3
"""Run models/lan.toml with Quintet and with ns-3, and compare what each found, quantity by quantity.

Each is a mean over so many seeds, of random streams of its own. Two means agree if they are no farther from each other than two
independent means of one truth are in 999 of 1,000 cases. Exits with 1 if a quantity does not agree, and with 69 if ns-3 is not there.
"""

import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
MODEL = HERE.parent.parent / "models" / "lan.toml"
EXIT_PEER_MISSING = 69
CASES = ("lan", "lan-ip")
# Student's t for 99.9 % of both sides, by degrees of freedom; between two the larger one holds.
STUDENT = [(10, 4.587), (20, 3.850), (30, 3.646), (40, 3.551), (60, 3.460), (100, 3.390), (math.inf, 3.291)]


def lines(command):
    """Every JSON object that a command prints."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        print(done.stderr.strip(), file=sys.stderr)
        sys.exit(done.returncode)
    return [json.loads(line) for line in done.stdout.splitlines()]


def ours(quintet, seeds):
    """The values of each quantity, a seed each."""
    values = {}
    for seed in range(1, seeds + 1):
        command = [quintet, "simulate", "run", str(MODEL), "--seeds", "1", "--first-seed", str(seed), "--json"]
        for line in lines(command):
            if line.get("mean") is not None:
                values.setdefault(line["quantity"], []).append(line["mean"])
    return values


def theirs(program, case, seeds):
    """The same of ns-3."""
    values = {}
    for line in lines([program, "--seeds", str(seeds), "--case", case]):
        for name, value in line.items():
            if "." in name:
                values.setdefault(name, []).append(value)
    return values


def student(degrees):
    """At least what Student's distribution has for so many degrees of freedom."""
    below = [t for known, t in STUDENT if known <= degrees]
    return below[-1] if below else 12.0


def compare(one, other):
    """The difference of two means, and how large it may be."""
    parts = [statistics.variance(values) / len(values) for values in (one, other)]
    square = sum(parts)
    degrees = square**2 / sum(part**2 / (len(one) - 1) for part in parts) if square > 0 else math.inf
    return statistics.fmean(one) - statistics.fmean(other), student(degrees) * math.sqrt(square)


def shown(value):
    """Four digits."""
    return f"{value:.4g}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quintet", default="quintet", help="the command [default: %(default)s]")
    parser.add_argument("--program", default=str(HERE / "build" / "ns3_lan"), help="the peer [default: %(default)s]")
    parser.add_argument("--seeds", type=int, default=20, help="of each, at least 2 [default: %(default)s]")
    options = parser.parse_args()
    if options.seeds < 2:
        parser.error("--seeds: a spread takes two runs at least")
    if not pathlib.Path(options.program).exists():
        print(f"peer missing: {options.program}: make -C benches/peers builds it", file=sys.stderr)
        return EXIT_PEER_MISSING
    peers = {case: theirs(options.program, case, options.seeds) for case in CASES}
    began = time.monotonic()
    found = ours(options.quintet, options.seeds)
    print(f"models/lan.toml, {options.seeds} seeds each; Quintet's took {time.monotonic() - began:.1f} s", file=sys.stderr)
    differ = 0
    print("| quantity | Quintet | ns-3, links alone | difference (may be) | ns-3, UDP over IPv4 | difference (may be) |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in peers[CASES[0]]:
        row = [name, shown(statistics.fmean(found[name]))]
        for case in CASES:
            other = peers[case][name]
            difference, allowed = compare(found[name], other)
            agrees = abs(difference) <= allowed
            differ += not agrees
            row += [shown(statistics.fmean(other)), f"{shown(difference)} ({shown(allowed)}){'' if agrees else ' **differs**'}"]
        print(f"| {' | '.join(row)} |")
    print(f"{differ} of {len(CASES) * len(peers[CASES[0]])} differ", file=sys.stderr)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
