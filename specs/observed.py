#!/usr/bin/env python3
"""Makes the module Observed of a trace: `observed.py TRACE.jsonl > Observed.tla`. Its first line is the topology, each further one a step."""

import json
import sys


def value(of):
    """A value of JSON as TLA+ writes it."""
    if isinstance(of, dict):
        return "[" + ", ".join(f"{name} |-> {value(item)}" for name, item in of.items()) + "]"
    if isinstance(of, list):
        return "<<" + ", ".join(map(value, of)) + ">>"
    return json.dumps(of)


def set_of(items):
    return "{" + ", ".join(items) + "}"


def module(lines):
    topology, *steps = map(json.loads, lines)
    switches = topology["switches"]
    places = [(node, switch["manager"]) for switch in switches for node in switch["nodes"]]
    cases = " [] ".join(f"n = {node} -> {manager}" for node, manager in places)
    nodes = set_of(str(node) for node, _ in places)
    steps = ",\n".join(map(value, steps))
    return f"""---- MODULE Observed ----
EXTENDS Integers, Sequences
Nodes == {nodes}
Managers == {set_of(str(switch["manager"]) for switch in switches)}
Switches == [n \\in {nodes} |-> CASE {cases}]
Wires == {set_of(set_of(map(str, wire)) for wire in topology["wires"])}
Steps == <<
{steps}
>>
====
"""


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: observed.py TRACE.jsonl > Observed.tla")
    with open(sys.argv[1], encoding="utf-8") as trace:
        print(module(trace), end="")
