"""Isochrons in an event loop: messages, a variable that is written and one that is read, all at one instant, and what all of it changes, in one order for all.

    quintet run -n 3 --worker program examples/python/balance.py    # each member is a process
    python examples/python/balance.py                               # members are tasks of one loop

Each member adds to a balance, tells the next one so and writes its number at the same instant. All see the same in the same order: who wrote last is no question.
"""

from __future__ import annotations

import asyncio
import os
import sys

import quintet

MEMBERS = 3
WITHIN_S = 60.0
BALANCE, LAST = quintet.Variable(0, int), quintet.Variable(1, int)


async def member(lab: quintet.aio.Lab, me: int, of: int) -> list[tuple[int, str, int]]:
    """Takes part. Returns what it has seen of both variables: who has written, which one, and what."""
    seen: list[tuple[int, str, int]] = []
    async with lab.isochrons(variables=[BALANCE, LAST], handlers=["paid", "done"], member=(me, of)) as iso:
        await iso.update(lambda balance: balance + 10 * (me + 1), BALANCE)
        with iso.isochron() as i:  # all parts in one pulse; begun at the end of the block
            i.send((me + 1) % of, "paid", f"{10 * (me + 1)}".encode())
            i.write(LAST, me)
            y = i.read(BALANCE)
        print(f"member {me}: the balance was {await y} as it wrote its number")
        async with iso.isochron() as i:  # the same, waited for
            i.send_all("done")
        done = 0
        async for event in iso.events():  # what isochrons change here, in the one order
            if event.handler == "paid":
                print(f"member {me}: {event.sender} has paid {event.value.decode()}")
            if event.variable is not None:
                seen.append((event.sender, "balance" if event.variable == BALANCE else "last", event.value))
            done += event.handler == "done"
            if done == of:
                break
    return seen


async def main() -> int:
    """Members of a job, or of this loop. Returns the exit status: 1 if they have not seen the same."""
    async with quintet.aio.connect() as lab:
        if rank := os.environ.get("QUINTET_RANK"):
            seen = await member(lab, int(rank), int(os.environ["QUINTET_WORKERS"]))
            await lab.space.out("seen", repr(seen))
            return 0
        if workers := os.environ.get("QUINTET_WORKERS"):
            all_seen = [(await lab.space.take("seen", str, timeout=WITHIN_S))[1] for _ in range(int(workers))]
        else:
            tasks = [member(lab, me, MEMBERS) for me in range(MEMBERS)]
            all_seen = [repr(seen) for seen in await asyncio.gather(*tasks)]
    print(f"all have seen: {all_seen[0]}")
    total = sum(10 * (me + 1) for me in range(len(all_seen)))
    return 0 if len(set(all_seen)) == 1 and f"'balance', {total}" in all_seen[0] else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
