"""A queue M/M/1, simulated beside the formula: how long customers wait as its server gets busier.

    python examples/python/mm1_queue.py [seeds]
"""

from __future__ import annotations

import sys

from quintet import simulate

SEEDS = 10
SERVICE_S = 0.010
LOADS = [0.3, 0.5, 0.7, 0.8]
CONFIDENCE = 0.99


def queue() -> simulate.Model:
    """Customers come at random, and are served one at a time for random times of 10 ms in the mean."""
    model = simulate.Model("M/M/1", end="55 s", warm_up="5 s")
    model.parameter("load", 0.5)
    model.processor("world")
    model.processor("server", cycle="1 us", instructions={"serve": simulate.exponential("10 kcycles")})
    model.device("door", "link", ["world", "server"])
    gap = simulate.exponential("10 ms / load")
    customer = simulate.send("customer", to="serve", through="door")
    model.module("arrive", on="world", start=gap, every=gap, do=[customer])
    model.module("serve", on="server", waits_for={"customer": 1}, do=[simulate.execute("serve")])
    return model


def main() -> int:
    """Prints a line for each load. Returns the exit status: 1 if the formula is outside an interval."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS
    sweep = queue().sweep("load", LOADS, seeds)
    utilisation = sweep["processor.server.utilisation"].mean
    waiting = sweep["module.serve.waiting"].interval(CONFIDENCE)
    exact = sweep.at / (1 - sweep.at) * SERVICE_S
    inside = waiting.contains(exact)
    print(f"load  busy    waiting, {seeds} runs      formula")
    for row, load in enumerate(sweep.at):
        simulated = f"{waiting.mean[row] * 1e3:6.2f} +- {waiting.half_width[row] * 1e3:5.2f} ms"
        mark = "" if inside[row] else "  outside"
        print(f"{load:4.1f}  {utilisation[row]:.3f}  {simulated}  {exact[row] * 1e3:6.2f} ms{mark}")
    return 0 if inside.all() else 1


if __name__ == "__main__":
    sys.exit(main())
