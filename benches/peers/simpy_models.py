#!/usr/bin/python3
"""Peer: SimPy, a process-based discrete-event simulator in Python: a queue, twice, and an Ethernet of 20 stations.

A round is one run; the figure is customers (frames) a second of real time. Each model has the same elements, parameters and
events as Quintet's, written as SimPy's own examples are: a process a source, a server, a station; stores between them.
"""

import json
import os
import random
import sys
import time

from options import EXIT_BROKEN, EXIT_PEER_MISSING, parser_of

MISSING = "peer missing: install with: python3 -m pip, access to PyPI and make -C benches/peers"
PEER = "simpy"

# The queue: from one customer to the next, and the service of one, in microseconds.
BETWEEN_US = 10.0
SERVICE_US = 8.0

# The Ethernet, in microseconds: 10 Mb/s, frames of 1,000 bytes, half of the rate offered.
STATIONS = 20
FRAME_US = 800.0
GAP_US = STATIONS * FRAME_US / 0.5
COLLISION_WINDOW_US = 9.6
JAM_US = 3.2
SLOT_US = 51.2
RETRY_LIMIT = 16
CONTENTION_UNITS = 1024
CONTENTION_UNIT_US = 0.1

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "python"))
try:
    import simpy
except ImportError:
    print(MISSING, file=sys.stderr)
    sys.exit(EXIT_PEER_MISSING)


def source(env, store, count, mean_us, draw):
    """Puts `count` customers into a store, each with the time at which it comes."""
    for _ in range(count):
        yield env.timeout(draw.expovariate(1 / mean_us))
        yield store.put(env.now)


class Server:
    """Serves customers one after another, and sums up how long they waited."""

    def __init__(self, env, store, draw):
        self.served = 0
        self.waited_us = 0.0
        env.process(self.run(env, store, draw))

    def run(self, env, store, draw):
        while True:
            came = yield store.get()
            self.waited_us += env.now - came
            yield env.timeout(draw.expovariate(1 / SERVICE_US))
            self.served += 1


def simulate_queue(customers):
    """An M/M/1 queue; how many customers were served."""
    env, draw = simpy.Environment(), random.Random(1)
    store = simpy.Store(env)
    env.process(source(env, store, customers, BETWEEN_US, draw))
    server = Server(env, store, draw)
    env.run()
    return server.served


class Counter:
    """A resource of one place; each customer is a process."""

    def __init__(self, env, draw):
        self.env, self.draw = env, draw
        self.served = 0
        self.stayed_us = 0.0

    def customer(self, server):
        came = self.env.now
        with server.request() as turn:
            yield turn
            yield self.env.timeout(self.draw.expovariate(1 / SERVICE_US))
        self.stayed_us += self.env.now - came
        self.served += 1

    def source(self, count):
        server = simpy.Resource(self.env)
        for _ in range(count):
            yield self.env.timeout(self.draw.expovariate(1 / BETWEEN_US))
            self.env.process(self.customer(server))


def simulate_resource(customers):
    """An M/M/1 queue, each customer a process that requests the server; how many were served."""
    env = simpy.Environment()
    counter = Counter(env, random.Random(1))
    env.process(counter.source(customers))
    env.run()
    return counter.served


FREE, CARRYING, JAMMED = range(3)


class Cable:
    """The medium: free, carrying since a time, or jammed since a time and until `jam_ends`."""

    def __init__(self, env):
        self.env = env
        self.state = FREE
        self.since = 0.0
        self.jam_ends = 0.0
        self.sender = None

    def jam(self):
        """A second station sends: all go on until the jam is over, the latest counts."""
        self.state = JAMMED
        self.jam_ends = self.env.now + JAM_US
        self.env.timeout(JAM_US).callbacks.append(self.release)

    def release(self, _):
        if self.state == JAMMED and self.env.now >= self.jam_ends:
            self.state = FREE


class EthernetStation:
    """Sends what its store holds, one frame after another, to the next station."""

    def __init__(self, env, cable, store, inbox, draw):
        self.env, self.cable, self.store, self.inbox, self.draw = env, cable, store, inbox, draw
        self.given_up = 0
        self.process = env.process(self.run())

    def run(self):
        while True:
            came = yield self.store.get()
            if (yield from self.send()):
                yield self.inbox.put(came)
            else:
                self.given_up += 1

    def send(self):
        """Tries until the frame is carried; False if it is given up."""
        env, cable, collisions = self.env, self.cable, 0
        while True:
            if cable.state == FREE:
                cable.state, cable.since, cable.sender = CARRYING, env.now, self.process
                try:
                    yield env.timeout(FRAME_US)
                    cable.state = FREE
                    return True
                except simpy.Interrupt:
                    pass
            elif env.now - cable.since >= COLLISION_WINDOW_US:
                yield env.timeout(CONTENTION_UNIT_US * self.draw.randrange(CONTENTION_UNITS))
                continue
            else:
                if cable.state == CARRYING:
                    cable.sender.interrupt()
                cable.jam()
            collisions += 1
            if collisions == RETRY_LIMIT:
                yield env.timeout(JAM_US)
                return False
            yield env.timeout(JAM_US + SLOT_US * self.draw.randrange(1 << min(collisions, 10)))


class Receiver:
    """Counts frames, and sums up how long they were under way."""

    def __init__(self, env, inbox):
        self.received = 0
        self.under_way_us = 0.0
        env.process(self.run(env, inbox))

    def run(self, env, inbox):
        while True:
            came = yield inbox.get()
            self.under_way_us += env.now - came
            self.received += 1


def simulate_ethernet(frames):
    """20 stations; how many frames were received or given up."""
    env, draw = simpy.Environment(), random.Random(1)
    cable = Cable(env)
    inboxes = [simpy.Store(env) for _ in range(STATIONS)]
    receivers = [Receiver(env, inbox) for inbox in inboxes]
    stations = []
    for number in range(STATIONS):
        store = simpy.Store(env)
        share = (frames + number) // STATIONS
        env.process(source(env, store, share, GAP_US, draw))
        stations.append(EthernetStation(env, cable, store, inboxes[(number + 1) % STATIONS], draw))
    env.run()
    return sum(receiver.received for receiver in receivers) + sum(station.given_up for station in stations)


CASES = {
    "mm1": (simulate_queue, "customers/s"),
    "resource": (simulate_resource, "customers/s"),
    "csma-20": (simulate_ethernet, "frames/s"),
}


def measure(case, options):
    """Print the figure of one round.

    Raises RuntimeError if not all came to their end.
    """
    simulate, unit = CASES[case]
    simulate(options.warmup)
    start = time.perf_counter()
    done = simulate(options.iterations)
    rate = options.iterations / (time.perf_counter() - start)
    if done != options.iterations:
        raise RuntimeError(f"{done} of {options.iterations} came to their end")
    for statistic in ("mean", "p50"):
        line = {"peer": PEER, "case": case, "unit": unit, "statistic": statistic, "value": round(rate, 3)}
        print(json.dumps(line), flush=True)


def main():
    # Of the processors the first counts.
    options = parser_of("Simulate a queue and an Ethernet with SimPy.", iterations=50_000).parse_args()
    if options.cpus is not None:
        os.sched_setaffinity(0, {options.cpus[0]})
    try:
        for _ in range(options.rounds):
            for case in CASES:
                if options.case in (None, case):
                    measure(case, options)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return EXIT_BROKEN
    return 0


if __name__ == "__main__":
    sys.exit(main())
