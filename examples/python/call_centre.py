"""A call centre: clerks answer calls, and callers who wait too long hang up.

    python examples/python/call_centre.py [seeds]

Processes that are generators, beside the formula where there is one: without impatience it is the queue M/M/c.
"""

from __future__ import annotations

import math
import sys

from quintet import simulate

SEEDS = 10
CLERKS = 3
EVERY_S = 1.2
TALK_S = 3.0
CONFIDENCE = 0.99


def caller(run: simulate.Run, patience_s: float):
    """One call, from its beginning until it is answered and over, or given up."""
    clerks = run.resource("clerks", capacity=CLERKS)
    came = run.now
    with clerks.request() as turn:
        answered = yield turn | run.timeout(patience_s)
        run.measure("lost").record(turn not in answered)
        if turn in answered:
            run.measure("waiting").record(run.now - came)
            yield run.exponential(TALK_S)


def centre(patience_s: float) -> simulate.Model:
    """Calls come at random; each caller waits so long at most."""
    model = simulate.Model("call centre", end="3300 s", warm_up="300 s")
    return model.process(caller, patience_s, every=simulate.exponential(f"{EVERY_S} s"))


def erlang_waiting_s() -> float:
    """How long calls wait in the mean where nobody hangs up (Erlang's C formula)."""
    offered = TALK_S / EVERY_S
    all_busy = offered**CLERKS / math.factorial(CLERKS) * CLERKS / (CLERKS - offered)
    some_free = sum(offered**busy / math.factorial(busy) for busy in range(CLERKS))
    return all_busy / (some_free + all_busy) * TALK_S / (CLERKS - offered)


def main() -> int:
    """Prints a line for each patience. Returns the exit status: 1 if the formula is outside its interval."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS
    print("patience  waiting            lost")
    for patience_s in (1.0, 5.0, 1e6):
        study = centre(patience_s).replicate(seeds)
        waiting = study["measure.waiting"].interval(CONFIDENCE)
        label = "for ever" if patience_s == 1e6 else f"{patience_s:6.0f} s"
        print(f"{label}  {waiting.mean:5.2f} +- {waiting.half_width:4.2f} s  {study['measure.lost'].mean:6.1%}")
    exact = erlang_waiting_s()
    print(f"formula   {exact:5.2f} s")
    return 0 if waiting.contains(exact) else 1


if __name__ == "__main__":
    sys.exit(main())
