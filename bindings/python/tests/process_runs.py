"""Runs of processes alone, for tests."""

from __future__ import annotations

from quintet import simulate


def once(*functions, end: str | None = None, seed: int = 0, **keys) -> simulate.Result:
    """One run of a model of these processes alone."""
    model = simulate.Model("test", end=end, **keys)
    for function in functions:
        model.process(function)
    return model.run(seed)


def log_of(*functions, **keys) -> list:
    """What processes noted, each with the time, rounded to nanoseconds."""
    log = []

    def noting(function):
        def process(run):
            yield from function(run, lambda what: log.append((round(run.now, 9), what)))

        return process

    once(*map(noting, functions), **keys)
    return log


def customer(run, service: float):
    came = run.now
    with (yield run.resource("server").request()):
        yield run.timeout(run.exponential(service))
    run.measure("stay").record(run.now - came)
