"""Simulates models of machines, networks and programs, in this process: no lab, no privileges.

    from quintet import simulate
    model = simulate.Model("queue", end="200 s", warm_up="20 s")
    model.processor("world")
    model.processor("server", instructions={"serve": simulate.exponential("8 ms")})
    model.device("door", "link", ["world", "server"])
    customer = simulate.send("customer", to="serve", through="door")
    model.module("arrive", on="world", every=simulate.exponential("10 ms"), do=[customer])
    model.module("serve", on="server", waits_for={"customer": 1}, do=[simulate.execute("serve")])
    waiting = model.replicate(seeds=10)["module.serve.waiting"]
    print(waiting.mean, waiting.interval(0.95))

A model is described as in a model file, whose reference (`docs/models.md`) holds here word for word: a keyword is a key
of the file, and what has a dimension is a text with its unit. Results are in seconds and bytes. The same model and seed
give the same numbers on every machine.

| module | holds |
| --- | --- |
| `model` | `Model`; read this first |
| `parts` | distributions and actions |
| `processes` | processes: generators that run beside modules |
| `results` | `Result`: what one run says |
| `exploring` | `Exploration`: a run that breaks what the model promises |
| `studies` | `Study`, `Sweep`: runs over seeds and values, as NumPy arrays |
| `document` | a model as text |
"""

from quintet.errors import Problem
from quintet.simulate.exploring import Exploration, Finding
from quintet.simulate.model import Model
from quintet.simulate.parts import (
    beta,
    cumulative,
    execute,
    exponential,
    gamma,
    log_normal,
    normal,
    pareto,
    poisson,
    send,
    uniform,
    use,
    weibull,
    weighted,
)
from quintet.simulate.processes import (
    Event,
    Interrupt,
    Measure,
    Message,
    Preempted,
    Process,
    Program,
    Request,
    Resource,
    Run,
    Store,
    Stream,
)
from quintet.simulate.results import (
    PERCENTS,
    Blocked,
    DeviceResult,
    MeasureResult,
    ModuleResult,
    PoolResult,
    PortResult,
    ProcessesResult,
    ProcessorResult,
    ResourceResult,
    Result,
    StoreResult,
    Tally,
    Violation,
)
from quintet.simulate.studies import Interval, Sample, Study, Sweep

__all__ = [
    "PERCENTS",
    "Blocked", "DeviceResult", "Event", "Exploration", "Finding", "Interrupt", "Interval", "Measure", "MeasureResult", "Message", "Model", "ModuleResult",
    "PoolResult", "PortResult", "Preempted", "Problem", "Process", "ProcessesResult", "ProcessorResult", "Program", "Request",
    "Resource", "ResourceResult", "Result", "Run", "Sample", "Store", "StoreResult", "Stream", "Study", "Sweep", "Tally", "Violation",
    "beta", "cumulative", "execute", "exponential", "gamma", "log_normal", "normal", "pareto", "poisson", "send", "uniform", "use",
    "weibull", "weighted",
]  # fmt: skip
