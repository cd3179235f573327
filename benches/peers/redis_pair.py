#!/usr/bin/python3
"""Peer: Redis lists from Python: RPUSH puts a value, BLPOP takes it, through redis-py.

The large value is a float64 array that travels as its bytes (tobytes, frombuffer), as programs do that keep arrays in
Redis. The program starts a private redis-server that listens on a Unix socket alone and keeps nothing, and ends it by
its process id. The server has the second processor and this process the first.
"""

import argparse
import ctypes
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from options import EXIT_BROKEN, EXIT_PEER_MISSING, parser_of, positive, processors

MISSING = "peer missing: install with: apt-get install redis-server python3-redis python3-numpy"
PEER = "redis-py"
START_TRIES = 5000
FULL_COUNT_BYTES = 16 * 1024
PR_SET_PDEATHSIG = 1

try:
    import numpy
    import redis
except ImportError:
    print(MISSING, file=sys.stderr)
    sys.exit(EXIT_PEER_MISSING)


def parse_options():
    """The options every peer takes; README.md describes them."""
    parser = parser_of("Measure RPUSH and BLPOP pairs through redis-py.", cpus=sides)
    parser.add_argument("--bytes", type=positive, default=None, help="one size, in place of 64 bytes and 1 MiB")
    options = parser.parse_args()
    if options.cpus is None:
        allowed = sorted(os.sched_getaffinity(0))
        options.cpus = [allowed[0], allowed[min(1, len(allowed) - 1)]]
    return options


def sides(text):
    """Two or three processor numbers, such as 0,1."""
    numbers = processors(text)
    if len(numbers) not in (2, 3):
        raise argparse.ArgumentTypeError(f"expected two or three processor numbers such as 0,1, got {text}")
    return numbers


def start_server(directory, processor):
    """Start redis-server in `directory`; it dies with this process."""
    parent = os.getpid()
    libc = ctypes.CDLL(None, use_errno=True)

    def prepare():
        os.sched_setaffinity(0, {processor})
        if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL) != 0 or os.getppid() != parent:
            os._exit(EXIT_BROKEN)

    command = ["redis-server", "--port", "0", "--unixsocket", f"{directory}/redis.sock", "--unixsocketperm", "700"]
    command += ["--save", "", "--appendonly", "no", "--daemonize", "no", "--dir", directory, "--logfile", ""]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, preexec_fn=prepare)


def connect(server, directory):
    """Try until the server listens, for about five seconds."""
    for _ in range(START_TRIES):
        if server.poll() is not None:
            raise RuntimeError("redis-server ended while it started")
        client = redis.Redis(unix_socket_path=f"{directory}/redis.sock")
        try:
            client.ping()
            return client
        except redis.exceptions.ConnectionError:
            time.sleep(0.001)
    raise RuntimeError("redis-server did not answer on its socket")


def exchange_bytes(client, value):
    """Put a value and take it."""
    client.rpush("pair", value)
    _, taken = client.blpop("pair", 0)
    return len(taken)


def exchange_array(client, array):
    """Put an array as its bytes and take it as an array again."""
    client.rpush("pair", array.tobytes())
    _, taken = client.blpop("pair", 0)
    return numpy.frombuffer(taken, dtype=numpy.float64).nbytes


def name_case(size):
    """Name a case after its size: pair-64, pair-64k, pair-1m."""
    if size % (1 << 20) == 0:
        return f"pair-{size >> 20}m"
    if size % (1 << 10) == 0:
        return f"pair-{size >> 10}k"
    return f"pair-{size}"


def iterations_for(iterations, size):
    """Large values repeat less often, so that a round moves about as many bytes at every size."""
    return max(1, iterations // (size // FULL_COUNT_BYTES)) if size > FULL_COUNT_BYTES else iterations


def measure_round(client, options, size):
    """Durations in nanoseconds of one round of pairs of `size` bytes."""
    is_array = size > FULL_COUNT_BYTES and size % 8 == 0
    exchange = exchange_array if is_array else exchange_bytes
    value = numpy.zeros(size // 8, dtype=numpy.float64) if is_array else bytes(size)
    for _ in range(iterations_for(options.warmup, size)):
        exchange(client, value)
    durations = []
    start = time.perf_counter_ns()
    for _ in range(iterations_for(options.iterations, size)):
        if exchange(client, value) != size:
            raise RuntimeError("a value came back with another length")
        now = time.perf_counter_ns()
        durations.append(now - start)
        start = now
    return durations


def report(name, durations):
    """Print the mean and the median of one round."""
    for statistic, value in (("mean", statistics.fmean(durations)), ("p50", statistics.median(durations))):
        line = {"peer": PEER, "case": name, "unit": "ns", "statistic": statistic, "value": round(value, 3)}
        print(json.dumps(line), flush=True)


def measure(server, directory, options):
    """Measure all rounds of all selected cases."""
    client = connect(server, directory)
    # The connection stays; without its directory nothing is left behind, however this process ends.
    shutil.rmtree(directory)
    os.sched_setaffinity(0, {options.cpus[0]})
    for _ in range(options.rounds):
        for size in [options.bytes] if options.bytes else [64, 1 << 20]:
            if options.case in (None, name_case(size)):
                report(name_case(size), measure_round(client, options, size))


def main():
    options = parse_options()
    # A termination request unwinds like an error, so that the server and the directory go too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(EXIT_BROKEN))
    with tempfile.TemporaryDirectory(prefix="quintet-peer-", ignore_cleanup_errors=True) as directory:
        try:
            server = start_server(directory, options.cpus[1])
        except FileNotFoundError:
            print(MISSING, file=sys.stderr)
            return EXIT_PEER_MISSING
        try:
            measure(server, directory, options)
        finally:
            server.terminate()
            server.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
