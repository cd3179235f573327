"""A bank in several processes: each has all accounts, and does the same transfers in the same order, without a lock and without a server of its own.

    quintet run -n 3 --worker program examples/python/bank.py    # each branch is a process
    python examples/python/bank.py                               # branches are threads of this process

A transfer is an isochron: one message to every branch, executed by all at one instant. So each branch refuses the same transfers, and all books are alike in the end.
"""

from __future__ import annotations

import os
import sys
import threading

import quintet
from quintet.isochrons import Message

BRANCHES = 3
TRANSFERS = 50
WITHIN_S = 60.0


class Book:
    """The replicated state machine: what it does depends on nothing but what it is told, in order."""

    def __init__(self) -> None:
        self.accounts, self.refused = [100] * 4, 0

    def enter(self, transfer: Message) -> None:
        """One transfer."""
        source, target, amount = transfer.data
        if self.accounts[source] < amount:
            self.refused += 1
            return
        self.accounts[source] -= amount
        self.accounts[target] += amount


def branch(lab: quintet.Lab, member: int, of: int) -> None:
    """Makes transfers, and keeps the book of everybody's."""
    book = Book()
    with lab.isochrons("bank", handlers={"transfer": book.enter}, member=(member, of)) as bank:
        for number in range(TRANSFERS):
            with bank.isochron() as i:
                i.send_all("transfer", bytes([number % 4, (number + member) % 4, number * 7 % 60]))
    lab.space.out("book", *book.accounts, book.refused)  # closed: all branches have done all transfers


def main() -> int:
    """A branch of a job, or who compares the books. Returns the exit status: 1 if they differ."""
    lab = quintet.connect()
    if rank := os.environ.get("QUINTET_RANK"):
        branch(lab, int(rank), int(os.environ["QUINTET_WORKERS"]))
        return 0
    branches = int(os.environ.get("QUINTET_WORKERS", BRANCHES))
    with lab:
        if lab.is_embedded:
            for member in range(branches):
                threading.Thread(target=branch, args=(lab, member, branches)).start()
        books = [lab.space.take("book", int, int, int, int, int, timeout=WITHIN_S) for _ in range(branches)]
    _, *accounts, refused = books[0]
    print(f"{branches * TRANSFERS} transfers, {refused} of them refused; accounts {accounts}")
    return 0 if len(set(books)) == 1 and sum(accounts) == 400 else 1


if __name__ == "__main__":
    sys.exit(main())
