"""The driver of the Python front end. What it is told and says is in docs/conformance.md."""

from __future__ import annotations

import sys
from typing import Any

import fields

import quintet
from quintet.watching import Event, Watch


class Cannot(Exception):
    """This front end cannot say that."""


class Clients:
    """All clients of this process."""

    def __init__(self) -> None:
        self.labs: dict[str, quintet.Lab] = {}
        self.embedded: quintet.Lab | None = None
        self.leases: dict[str, quintet.Lease] = {}
        self.begun: dict[str, Any] = {}
        self.watches: dict[str, tuple[tuple[Any, ...], Watch]] = {}
        self.groups: dict[str, quintet.Group] = {}
        self.used: dict[str, quintet.Space] = {}

    def does(self, step: str, client: str, verb: str, *words: str) -> str:
        if verb == "open":
            return self.open(client, *words)
        if verb == "close":
            self.used.pop(client, None)
            self.labs.pop(client).close()
            return "done"
        if verb == "reset":
            for lab in self.labs.values():
                lab.close()
            self.__init__()
            return "done"
        if verb == "peek":
            return self.peek(client, words[0])
        if verb == "collect":
            return self.said(words[0], self.begun.pop(words[0]).result())
        if verb == "cancel":
            self.begun[words[0]].cancel()
            return "done"
        if verb == "acknowledge":
            results = map(fields.read, words[2:])
            self.leases[words[0]].acknowledge(*results, expires_in=fields.limit(words[1]))
            return "done"
        if verb == "release":
            self.leases[words[0]].release()
            return "done"
        if verb in ("create_kept_space", "grant_space", "revoke_space"):
            return self.kept(client, verb, *read_template(*words[1:]))
        if verb.endswith("_space"):
            return self.named(client, verb, *read_template(*words[1:]))
        space = self.used.get(client) or self.labs[client].space
        if verb == "group":
            self.groups[step] = space.group(None)
            return "done"
        if verb in ("commit", "abort"):
            getattr(self.groups[words[0]], verb)()
            return "done"
        if verb.startswith("group_"):
            return self.in_group(verb.removeprefix("group_"), words[0], fields.limit(words[1]), fields.read(words[2]))
        if verb == "begin":
            self.begun[step] = self.begin(space, *words)
            return "waits"
        if verb.startswith("watch"):
            return self.watch(step, space, verb, *words)
        if verb == "next":
            return self.next(space, words[0], fields.limit(words[1]))
        tuples = [fields.read(word) for word in words[1:]]
        if verb in ("collect_into", "copy_collect_into"):
            return say(getattr(space, verb)(self.other(client, *tuples[:-1]), *tuples[-1]))
        return self.said(step, self.call(space, verb, fields.limit(words[0]), tuples))

    def open(self, client: str, address: str, *limits: str) -> str:
        if limits:
            raise Cannot("limits of a space that is embedded: Python has none")
        if address == "embedded":
            self.embedded = self.embedded or quintet.connect()
            self.labs[client] = self.embedded
        else:
            self.labs[client] = quintet.connect(address)
        return "done"

    def named(self, client: str, verb: str, name: str | None = None, max_tuples: int | None = None) -> str:
        """Of a named space: its name, and how many tuples it holds where that is said; without a name that which has none."""
        lab = self.labs[client]
        self.used.pop(client, None)
        if verb == "create_space":
            self.used[client] = lab.create_space(name, max_tuples=max_tuples)
        elif verb == "remove_space":
            lab.remove_space(name)
        elif name is not None:
            self.used[client] = lab.space(name)
        return "done"

    def other(self, client: str, named: tuple[str] | None = None) -> quintet.Space:
        """By its name; without one that which has none."""
        lab = self.labs[client]
        return lab.space(*named) if named else lab.space

    def kept(self, client: str, verb: str, name: str, *words: str) -> str:
        """Of a space that machines of a cluster keep: its name; where it is created its policy; machines that may use it, or may no more."""
        lab = self.labs[client]
        if verb == "create_kept_space":
            self.used[client] = lab.create_space(name, policy=words[0], allow=words[1:] or None)
        elif verb == "grant_space":
            lab.allow_space(name, grant=words)
        else:
            lab.allow_space(name, revoke=words)
        return "done"

    def in_group(self, verb: str, of: str, timeout: float | None, wanted: tuple[Any, ...]) -> str:
        group = self.groups[of]
        if verb == "out":
            return say(group.out(*wanted, expires_in=timeout))
        waits = {} if verb in ("take_if", "read_if") else {"timeout": timeout}
        return say(getattr(group, verb)(*wanted, **waits))

    def call(self, space: quintet.Space, verb: str, timeout: float | None, tuples: list[tuple[Any, ...]]) -> Any:
        if verb == "out_for":
            return space.out(*tuples[0], expires_in=timeout)
        if verb == "out_many":
            return space.out_many(tuples, timeout=timeout)
        if verb == "status":
            return space.status()
        if verb == "declare_key":
            return space.declare_key(tuples[0][0], *tuples[1])
        if verb in ("select_if", "select_read_if", "replace_if"):
            return getattr(space, verb)(*tuples)
        if verb in ("select", "select_read", "select_lease", "replace"):
            return getattr(space, verb)(*tuples, timeout=timeout)
        if verb == "take_up_to":
            return space.take_up_to(tuples[0][0], *tuples[1])
        template = tuples[0] if tuples else ()
        if verb == "list":
            return list(space.list(*template))
        if verb == "collect_all":
            return space.collect(*template)
        if verb in ("take_if", "read_if", "count", "copy_collect"):
            return getattr(space, verb)(*template)
        return getattr(space, verb)(*template, timeout=timeout)

    def begin(self, space: quintet.Space, verb: str, *words: str) -> Any:
        if verb == "acknowledge":
            results = map(fields.read, words[2:])
            return self.leases[words[0]].begin_acknowledge(*results, expires_in=fields.limit(words[1]))
        begin, tuples = space.begin(fields.limit(words[0])), [fields.read(word) for word in words[1:]]
        if verb in ("select", "select_read", "select_lease", "replace"):
            return getattr(begin, verb)(*tuples)
        return begin.out_many(tuples) if verb == "out_many" else getattr(begin, verb)(*tuples[0])

    def watch(self, step: str, space: quintet.Space, verb: str, *words: str) -> str:
        since = self.watches[words[0]][1].number if verb == "watch_behind" else None
        template = read_template(*words[2 if verb == "watch_behind" else 1 :])
        self.watches[step] = template, space.watch(*template, since=since, existing=verb == "watch_start")
        return "done"

    def next(self, space: quintet.Space, of: str, timeout: float | None) -> str:
        template, watch = self.watches[of]
        if timeout is not None:
            # How long it waits is said of a watch when it is made.
            watch = space.watch(*template, since=watch.number, timeout=timeout)
        try:
            return say(next(watch))
        except quintet.TimedOut:
            return "nothing"

    def peek(self, client: str, step: str) -> str:
        self.labs[client].space.status()  # Takes in what has come.
        return "done" if self.begun[step].done() else "waits"

    def said(self, step: str, result: Any) -> str:
        if (lease := lease_of(result)) is not None:
            self.leases[step] = lease
        return say(result)


def lease_of(result: Any) -> quintet.Lease | None:
    """The lease that an operation gave, if it gave one: a select gives in front of it which template matches."""
    given = result[1] if isinstance(result, tuple) and len(result) == 2 else result
    return given if isinstance(given, quintet.Lease) else None


def say(result: Any) -> str:
    """What an operation gave, as it is answered. `None` is "nothing" where a tuple was asked for: see `main`."""
    if result is None:
        return "done"
    if (lease := lease_of(result)) is not None:
        held = fields.write(lease.fields)
        return f"leased {lease.attempt} {held}" if lease is result else f"selected {result[0]} {held} {lease.attempt}"
    if isinstance(result, Event):
        return f"event {result.change} {fields.write(result.fields)}"
    if isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], tuple):
        return f"selected {result[0]} {fields.write(result[1])}"
    if isinstance(result, tuple):
        return f"tuple {fields.write(result)}"
    if isinstance(result, list):
        write = fields.write if all(isinstance(row, tuple) for row in result) else fields.write_row
        return " ".join(["rows", *map(write, result)])
    if isinstance(result, int):
        return f"count {result}"
    return fields.write_status(result)


def read_template(*words: str) -> tuple[Any, ...]:
    """The template of a watch; empty where it has none."""
    return fields.read(words[0]) if words else ()


def main() -> None:
    clients = Clients()
    print("ready", flush=True)
    for line in sys.stdin:
        step, client, *words = line.rstrip("\n").split(" ")
        try:
            said = clients.does(step, client, *words)
            if said == "done" and words[0].endswith("_if"):
                said = "nothing"
        except Cannot as reason:
            said = f"cannot {reason}"
        except quintet.Error as error:
            said = f"error {error.code.name}"
        print(step, said, flush=True)


if __name__ == "__main__":
    main()
