"""Looks keys up in a table that one process has: workers call the master's handler, and sum up what it replies.

    quintet run -n 4 --worker program examples/python/key_lookup.py    # workers are processes
    python examples/python/key_lookup.py                               # workers are threads of this process

The sum is compared with that of the table.
"""

from __future__ import annotations

import os
import sys
import threading

import quintet

KEYS = 1000
THREADS = 4
WITHIN_S = 60.0
TABLE = "squares"
SIZE = 8


def sum_up(lab: quintet.Lab, worker: int, workers: int) -> None:
    """Looks every so many-th key up, and puts the sum of the values."""
    table = lab.messaging.to(TABLE)
    table.wait_for_handler(WITHIN_S)
    keys = range(worker, KEYS, workers)
    # All are under way at once; the replies come in the order in which they are asked for.
    replies = [table.begin_call(key.to_bytes(SIZE, "little"), WITHIN_S) for key in keys]
    lab.space.out("sum", worker, sum(int.from_bytes(reply.result(), "little") for reply in replies))


def look_up(call: quintet.Call) -> bytes:
    """The value of a key. What this raises is told to the caller."""
    key = int.from_bytes(call.payload, "little")
    if key >= KEYS:
        raise KeyError(f"no such key: {key}")
    return (key * key).to_bytes(SIZE, "little")


def main() -> int:
    """A worker of a job, or the master, or both in one process. Returns the exit status: 1 if the sum is wrong."""
    lab = quintet.connect()
    if rank := os.environ.get("QUINTET_RANK"):
        sum_up(lab, int(rank), int(os.environ["QUINTET_WORKERS"]))
        return 0
    workers = int(os.environ.get("QUINTET_WORKERS", THREADS))
    with lab, lab.messaging.handle(TABLE, waiting=KEYS) as handler:
        threading.Thread(target=handler.serve, args=(look_up,), daemon=True).start()
        if lab.is_embedded:
            for worker in range(workers):
                threading.Thread(target=sum_up, args=(lab, worker, workers)).start()
        found = sum(lab.space.take("sum", worker, int, timeout=WITHIN_S)[2] for worker in range(workers))
        try:
            lab.messaging.to(TABLE).call(KEYS.to_bytes(SIZE, "little"), WITHIN_S)
        except quintet.TaskFailed as refused:
            print(f"key {KEYS}: {refused}")
    expected = sum(key * key for key in range(KEYS))
    print(f"{workers} workers looked {KEYS} keys up: {found}, expected {expected}")
    return 0 if found == expected else 1


if __name__ == "__main__":
    sys.exit(main())
