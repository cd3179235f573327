"""What models promise is looked for, and the first run that breaks it is found, with its shortest end."""

from __future__ import annotations

import math

import pytest

import quintet
from quintet import simulate


def jobs(longest: str = "14 ms") -> simulate.Model:
    """Every 10 ms a job, for 50 ms; some seeds have two long ones behind each other early, and the end hides none."""
    model = simulate.Model("jobs", end="50 ms")
    model.processor("cpu", instructions={"work": simulate.uniform("1 ms", longest)})
    return model.module("job", on="cpu", every="10 ms", do=[simulate.execute("work")])


def late(found: simulate.Result) -> bool:
    return found.modules["job"].waiting.largest <= 5e-3


def test_a_statement_and_a_function_find_the_same_run():
    stated = jobs().promise("soon", "module.job.waiting.longest <= 5 ms").explore(1000)
    finding = stated.finding
    assert [violation.check for violation in finding.violations] == ["soon"]
    assert finding.violations[0].statement == "module.job.waiting.longest <= 5 ms"
    assert finding.failure is None and stated.runs == finding.seed + 1 > 1
    model = jobs().promise("soon", late)
    by_function = model.explore(1000)
    assert (by_function.runs, by_function.finding.seed) == (stated.runs, finding.seed)
    assert by_function.finding.violations == (simulate.Violation("soon", "late", "False"),)
    assert by_function.finding.shortest_end == finding.shortest_end

    end = float(finding.shortest_end.removesuffix(" s"))
    assert 0 < end < finding.simulated == 0.05
    again = model.with_settings(end=finding.shortest_end).run(finding.seed)
    assert [violation.check for violation in again.violations] == ["soon"]
    assert not model.with_settings(end=f"{end - 2e-5} s").run(finding.seed).violations


def test_what_nothing_breaks_is_not_found():
    found = jobs("5 ms").promise("soon", late).promise("ends", "ended by itself").explore(range(7, 77))
    assert found == simulate.Exploration(70, None)


def test_every_run_says_what_it_breaks():
    study = jobs("9 ms").promise("busy", "processor.cpu.utilisation >= 1").promise("never", lambda _: False).replicate(3)
    names = [[violation.check for violation in run.violations] for run in study.runs]
    assert names == [["busy", "never"]] * 3
    assert study.runs[0].violations[1].statement == "<lambda>"


def test_a_model_that_was_read_is_promised_by_functions_and_its_own_statements():
    text = """[model]
name = "read"
end = "1 s"
[processor.cpu.instructions]
tick = "10 ms"
[module.one]
on = "cpu"
every = "100 ms"
do = [{ execute = "tick" }]
[check]
idle = "processor.cpu.utilisation < 0.05"
"""
    model = simulate.Model.from_text(text)
    assert model.explore(1).finding.violations[0].check == "idle"
    with pytest.raises(quintet.BadValue, match="added to in its text"):
        model.promise("more", "ended by itself")

    def asserted(found):
        assert found.modules["one"].activations == 7, "not seven"

    broken = model.promise("seven", asserted).run().violations[1]
    assert (broken.check, broken.statement, broken.found.splitlines()[0]) == ("seven", "asserted", "not seven")


def test_who_promises_nothing_is_told_so_and_what_is_no_statement_is_refused():
    with pytest.raises(quintet.BadValue, match="jobs promises nothing"):
        jobs().explore(1)
    with pytest.raises(quintet.BadValue, match="waitin"):
        jobs().promise("soon", "module.job.waitin <= 5 ms").explore(1)
    with pytest.raises(quintet.BadValue, match="at least one"):
        jobs().promise("soon", late).explore([])


def test_a_process_that_raises_is_found():
    def fragile(run):
        yield run.exponential(1.0)
        assert run.random() < 0.99, f"broke at {run.now}"

    model = simulate.Model("fragile", end="100 s").process(fragile)
    found = model.explore(500)
    finding = found.finding
    assert found.runs == finding.seed + 1 > 1 and not finding.violations and finding.shortest_end is None
    assert isinstance(finding.failure.__cause__, AssertionError) and math.isnan(finding.simulated)
    with pytest.raises(quintet.TaskFailed, match="broke at"):
        model.run(finding.seed)
    assert all(not model.run(seed).violations for seed in range(finding.seed))


def test_what_processes_record_may_be_promised():
    def customer(run):
        with (yield run.resource("server").request()):
            yield run.exponential(0.010)
        run.measure("stay").record(run.now)

    model = simulate.Model("queue", end="1 s").process(customer, every=simulate.exponential("12 ms"))
    model.promise("short queue", lambda found: found.resources["server"].waiting.largest < 0.08)
    finding = model.explore(200).finding
    assert finding.violations[0].check == "short queue"
    assert float(finding.shortest_end.removesuffix(" s")) < 1
