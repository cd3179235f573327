#!/usr/bin/env python3
"""Makes the module Observed of a trace: `observed.py TRACE.jsonl > Observed.tla`. Its first line is what the run is of, each further one a step."""

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
    return "{" + ", ".join(map(str, items)) + "}"


def topology(first):
    """Of a run without faults: the nodes and managers of `Pulses`."""
    switches = first["switches"]
    places = [(node, switch["manager"]) for switch in switches for node in switch["nodes"]]
    cases = " [] ".join(f"n = {node} -> {manager}" for node, manager in places)
    nodes = set_of(node for node, _ in places)
    return f"""Nodes == {nodes}
Managers == {set_of(switch["manager"] for switch in switches)}
Switches == [n \\in {nodes} |-> CASE {cases}]
Wires == {set_of(set_of(wire) for wire in first["wires"])}"""


def members(first, steps):
    """Of a run in which nodes end and come back: the nodes and variables of `Newcomers`, who sends, what befalls whom, and how many views there are."""
    copies = " [] ".join(f"x = {variable} -> {set_of(nodes)}" for variable, nodes in first["copies"])
    variables = set_of(variable for variable, _ in first["copies"])
    senders = [step["node"] for step in steps if step["step"] == "put"]
    fates = [step for step in steps if step["step"] in ("ends", "returns")]
    fates = ", ".join(f'<<"{fate["step"]}", {set_of([fate["node"]])}>>' for fate in fates)
    views = 1 + sum(step["step"] == "decide" for step in steps)
    return f"""ObservedNodes == {set_of(first["nodes"])}
ObservedVariables == {variables}
ObservedCopies == [x \\in {variables} |-> CASE {copies}]
ObservedSenders == {value(senders)}
ObservedFates == <<{fates}>>
ObservedViews == {views}"""


def module(lines):
    first, *steps = map(json.loads, lines)
    of = topology(first) if "switches" in first else members(first, steps)
    steps = ",\n".join(map(value, steps))
    return f"""---- MODULE Observed ----
EXTENDS Integers, Sequences
{of}
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
