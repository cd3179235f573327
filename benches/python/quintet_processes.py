"""Measures processes of the Python package, for `quintet bench simulate`.

    python benches/python/quintet_processes.py [--rounds N] [--case mm1|resource]

The models are those of benches/peers/simpy_models.py, word for word but for what the other package calls otherwise; random values are
drawn from the run's own streams.
"""

from __future__ import annotations

import argparse
import json
import sys
import time

EXIT_MISSING = 69
MISSING = "the package is missing: .venv/bin/maturin develop --release --manifest-path bindings/python/Cargo.toml"

try:
    from quintet import simulate
except ImportError:
    print(MISSING, file=sys.stderr)
    sys.exit(EXIT_MISSING)

# From one customer to the next, and the service of one, in seconds.
BETWEEN_S = 10e-6
SERVICE_S = 8e-6
CUSTOMERS = 50_000
WARM_UP = 1_000


def source(run: simulate.Run, count: int):
    """Puts `count` customers into a store, each with the time at which it comes."""
    store = run.store("queue")
    for _ in range(count):
        yield run.timeout(run.exponential(BETWEEN_S))
        yield store.put(run.now)


class Server:
    """Serves customers one after another, and sums up how long they waited."""

    def __init__(self) -> None:
        self.served = 0
        self.waited_s = 0.0

    def run(self, run: simulate.Run):
        store = run.store("queue")
        while True:
            came = yield store.get()
            self.waited_s += run.now - came
            yield run.timeout(run.exponential(SERVICE_S))
            self.served += 1


def simulate_queue(customers: int) -> int:
    """An M/M/1 queue, a store between its two processes; how many customers were served."""
    server = Server()
    simulate.Model("queue").process(source, customers).process(server.run).run()
    return server.served


class Counter:
    """A resource of one place; each customer is a process."""

    def __init__(self) -> None:
        self.served = 0
        self.stayed_s = 0.0

    def customer(self, run: simulate.Run, server: simulate.Resource):
        came = run.now
        with server.request() as turn:
            yield turn
            yield run.timeout(run.exponential(SERVICE_S))
        self.stayed_s += run.now - came
        self.served += 1

    def source(self, run: simulate.Run, count: int):
        server = run.resource("server")
        for _ in range(count):
            yield run.timeout(run.exponential(BETWEEN_S))
            run.process(self.customer(run, server))


def simulate_resource(customers: int) -> int:
    """An M/M/1 queue, each customer a process that requests the server; how many were served."""
    counter = Counter()
    simulate.Model("queue").process(counter.source, customers).run()
    return counter.served


CASES = {"mm1": simulate_queue, "resource": simulate_resource}


def measure(case: str) -> None:
    """Prints the figure of one round: customers a second.

    Raises RuntimeError if not all were served.
    """
    CASES[case](WARM_UP)
    start = time.perf_counter()
    served = CASES[case](CUSTOMERS)
    rate = CUSTOMERS / (time.perf_counter() - start)
    if served != CUSTOMERS:
        raise RuntimeError(f"{served} of {CUSTOMERS} were served")
    for statistic in ("mean", "p50"):
        line = {"peer": "quintet", "case": case, "unit": "customers/s", "statistic": statistic, "value": round(rate, 3)}
        print(json.dumps(line), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Simulate queues with processes.", allow_abbrev=False)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--case", choices=sorted(CASES))
    options = parser.parse_args()
    for _ in range(options.rounds):
        for case in [options.case] if options.case else CASES:
            measure(case)


if __name__ == "__main__":
    main()
