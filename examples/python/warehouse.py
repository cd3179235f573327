"""Clerks ship orders from a stock: each order with its pieces, all of it at one instant or not at all.

    python examples/python/warehouse.py    # threads are the clerks, everything is in this process

A clerk waits for an order or for the end of the day, whichever is older (`select_read`), and does the order in a group: the order, the stock before
it and the stock after it are never seen half way, also not by the auditor, who reads the stock meanwhile. The day is ended by one message that
replaces what the office is (`replace`). At the end the pieces are counted.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import quintet

CLERKS = 4
ORDERS = 200
PIECES = 400
ITEMS = ("bolt", "nut")


def serve(space: quintet.Space) -> int:
    """Does orders until the office is closed; how many."""
    done = 0
    while space.select_read(("order", int, str, int), ("office", "closed"))[0] == 0:
        done += ship(space)
    return done


def ship(space: quintet.Space) -> bool:
    """Does the oldest order, if no other clerk was faster."""
    with space.group() as group:
        order = group.take_if("order", int, str, int)
        if order is None:
            return False
        _, number, item, wanted = order
        _, _, stock = group.take("stock", item, int)
        group.out("shipped" if wanted <= stock else "refused", number, item, wanted)
        group.out("stock", item, stock - wanted if wanted <= stock else stock)
    return True


def audit(space: quintet.Space) -> int:
    """Reads the whole stock again and again until the office is closed. A group that was not refused has seen both items at one instant."""
    audits = 0
    while space.read_if("office", "closed") is None:
        try:
            with space.group() as group:
                for item in ITEMS:
                    group.read("stock", item, int)
            audits += 1
        except quintet.Conflict:
            pass  # A clerk was faster: once more.
    return audits


def main() -> int:
    """Returns the exit status: 1 if a piece was lost, or made."""
    with quintet.connect() as lab, ThreadPoolExecutor(CLERKS + 1) as threads:
        space = lab.space
        space.out_many([("stock", item, PIECES) for item in ITEMS])
        space.out("office", "open")
        clerks = [threads.submit(serve, space) for _ in range(CLERKS)]
        auditor = threads.submit(audit, space)
        for number in range(ORDERS):
            space.out("order", number, ITEMS[number % 2], 1 + number % 9)
        # Younger than all orders, so that those go first.
        space.replace(("office", "open"), ("office", "closed"))
        done = sum(clerk.result() for clerk in clerks)
        audits = auditor.result()
        left = sum(space.take("stock", item, int)[2] for item in ITEMS)
        refused = space.count("refused", int, str, int)
        shipped = sum(space.take("shipped", int, str, int)[3] for _ in range(done - refused))
    if (done, left + shipped) != (ORDERS, PIECES * len(ITEMS)):
        print(f"warehouse: WRONG, {done} orders, {left} pieces left, {shipped} shipped")
        return 1
    print(f"warehouse: ok, {done} orders, {refused} of them refused, {audits} audits")
    return 0


if __name__ == "__main__":
    sys.exit(main())
