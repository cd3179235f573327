"""Models are described, read, checked and run; the numbers are those that are known exactly."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import textwrap
import threading
from pathlib import Path

import numpy as np
import pytest
from conftest import LONG_S

import quintet
from quintet import simulate

MODELS = Path(__file__).parents[3] / "models"


def queue(load: float = 0.6, end: str = "40 s") -> simulate.Model:
    """M/M/1: service 10 ms in the mean."""
    model = simulate.Model("M/M/1", end=end, warm_up="4 s")
    model.parameter("load", load)
    service = simulate.exponential("10000 cycles")
    model.processor("world").processor("server", cycle="1 us", instructions={"serve": service})
    model.device("door", "link", ["world", "server"])
    gap = simulate.exponential("10 ms / load")
    model.module("arrive", on="world", start=gap, every=gap, do=[simulate.send("customer", "serve", through="door")])
    model.module("serve", on="server", waits_for={"customer": 1}, do=[simulate.execute("serve")])
    model.measure("stay", time={"from": "arrive.start", "to": "serve.end"})
    return model.measure("served", throughput={"of": "serve"})


def problems(build) -> dict[str, str]:
    """What is wrong, by its key."""
    with pytest.raises(quintet.BadValue) as raised:
        build()
    assert raised.value.problems
    return {problem.key: problem.text for problem in raised.value.problems}


def test_an_mm1_waits_as_the_formula_says():
    study = queue().replicate(seeds=20)
    waiting = study["module.serve.waiting"]
    assert waiting.values.shape == (20,) and waiting.values.dtype == np.float64
    assert waiting.interval(0.95).contains(0.6 / (1 - 0.6) * 0.010)
    assert not waiting.interval(0.95).contains(0.6 / (1 - 0.6) * 0.011), "narrow enough to notice a tenth"
    assert study["processor.server.utilisation"].interval(0.95).contains(0.6)
    assert study["measure.served"].interval(0.95).contains(60)
    assert study["measure.stay"].interval(0.95).contains(0.010 / (1 - 0.6))


def test_a_described_model_is_that_of_the_file():
    text = """
        [model]
        name = "two"
        end = "10 s"
        [processor.a]
        [processor.b]
        rate = "1 MHz"
        input_controller = false
        queue_limit = 3
        instructions = { work = { uniform = { low = "10 us", high = "90 us" } } }
        [device.net]
        kind = "ethernet"
        stations = ["a", "b"]
        positions = ["0 m", "100 m"]
        [module.ask]
        on = "a"
        start = "1 ms"
        every = { empirical = { values = [["100 us", 1], ["2 ms", 3]] } }
        limit = 500
        do = [{ send = "question", to = "answer", bytes = "1500 B", through = "net", times = 2 }]
        [module.answer]
        on = "b"
        waits_for = { question = 1 }
        do = [{ execute = "work", times = 3 }]
    """
    model = simulate.Model("two", end="10 s").processor("a")
    work = {"work": simulate.uniform("10 us", "90 us")}
    model.processor("b", rate="1 MHz", input_controller=False, queue_limit=np.int64(3), instructions=work)
    model.device("net", "ethernet", ("a", "b"), positions=["0 m", "100 m"])
    ask = simulate.send("question", "answer", "1500 B", through="net", times=2)
    gap = simulate.weighted([("100 us", 1), ("2 ms", 3)])
    model.module("ask", on="a", start="1 ms", every=gap, limit=500, do=[ask])
    model.module("answer", on="b", waits_for={"question": 1}, do=[simulate.execute("work", 3)])
    described, read = model.run(seed=7), simulate.Model.from_text(text).run(seed=7)
    assert (described.digest, described.quantities) == (read.digest, read.quantities)
    device = described.devices["net"]
    assert (device.requested, device.bytes) == (1000, 1_500_000)
    assert described["device.net.waiting"] == device.waiting > 0


def test_networks_and_pools_are_described_as_in_a_file():
    text = """
        [model]
        name = "hops"
        end = "2 s"
        [processor.desk]
        count = 2
        [processor.server]
        instructions = { work = "1 ms" }
        [pool.disks]
        servers = 2
        rate = "100 MB/s"
        [network.lan]
        packet = "1500 B"
        rate = "100 Mb/s"
        switch = { core = { latency = "2 us" } }
        [network.lan.link]
        desk = { between = ["desk", "core"], buffer = "4 kB" }
        up = { between = ["core", "server"] }
        [module.ask]
        on = "desk"
        every = "10 ms"
        do = [{ send = "question", to = "answer", bytes = "6 kB", through = "lan", route = ["desk", "up"] }]
        [module.answer]
        on = "server"
        waits_for = { question = 1 }
        do = [{ use = "disks", time = "1 ms", bytes = "100 kB", key = 3, times = 2 }, { execute = "work" }]
    """
    model = simulate.Model("hops", end="2 s").processor("desk", count=2)
    model.processor("server", instructions={"work": "1 ms"}).pool("disks", servers=2, rate="100 MB/s")
    links = {"desk": {"between": ["desk", "core"], "buffer": "4 kB"}, "up": {"between": ["core", "server"]}}
    model.network("lan", switches={"core": {"latency": "2 us"}}, links=links, packet="1500 B", rate="100 Mb/s")
    ask = simulate.send("question", "answer", "6 kB", through="lan", route=["desk", "up"])
    model.module("ask", on="desk", every="10 ms", do=[ask])
    load = simulate.use("disks", "1 ms", bytes="100 kB", key=3, times=2)
    model.module("answer", on="server", waits_for={"question": 1}, do=[load, simulate.execute("work")])
    described, read = model.run(seed=7), simulate.Model.from_text(text).run(seed=7)
    assert (described.digest, described.quantities) == (read.digest, read.quantities)
    port, disks = described.ports["lan.core.up"], described.pools["disks"]
    assert (port.packets, port.bytes, port.dropped, port.lost) == (1600, 2_400_000, 0, 0)
    assert described["port.lan.core.up.utilisation"] == port.utilisation == pytest.approx(1600 * 120e-6 / 2)
    assert (disks.uses, disks.bytes) == (800, 80_000_000)
    assert described["pool.disks.waiting"] == disks.waiting > 0


def test_a_group_is_described_as_in_a_file_and_can_be_swept():
    text = """
        [model]
        name = "ring"
        end = "1 s"
        [parameters]
        stations = 3
        [processor.station]
        count = "stations"
        [device.ring]
        kind = "token-ring"
        stations = ["station"]
        synchronous_allocation = "100 us"
        [module.talk]
        on = "station"
        every = "20 ms"
        do = [{ send = "word", to = "hear.next", bytes = "1 kB", through = "ring", class = "synchronous" }]
        [module.hear]
        on = "station"
        waits_for = { word = 1 }
        [measure.words]
        throughput = { of = "hear" }
    """
    model = simulate.Model("ring", end="1 s").parameter("stations", 3).processor("station", count="stations")
    model.device("ring", "token-ring", ["station"], synchronous_allocation="100 us")
    word = simulate.send("word", "hear.next", "1 kB", through="ring", synchronous=True)
    model.module("talk", on="station", every="20 ms", do=[word]).module("hear", on="station", waits_for={"word": 1})
    model.measure("words", throughput={"of": "hear"})
    described, read = model.run(seed=7), simulate.Model.from_text(text).run(seed=7)
    assert (described.digest, described.quantities) == (read.digest, read.quantities)
    assert described.modules["hear"].activations == 3 * described.modules["hear-2"].activations == 150
    assert described["measure.words"] == pytest.approx(150) and described["measure.words-1"] == pytest.approx(50)
    sweep = model.sweep("stations", [1, 4], seeds=1)
    assert list(sweep["measure.words"].mean) == pytest.approx([50, 200])
    assert "processor.station.count" in problems(model.with_parameters(stations=0).check)


@pytest.mark.parametrize(
    "draw",
    [simulate.normal("9 ms", "1 ms"), simulate.gamma(9, "1 ms"), simulate.beta(9, 1, "0 ms", "10 ms"),
     simulate.cumulative([("8 ms", 0), ("10 ms", 1)]), {"constant": "9 ms"}],
)  # fmt: skip
def test_every_distribution_has_its_mean(draw):
    model = simulate.Model("draws", end="20 s").processor("cpu", instructions={"work": draw})
    result = model.module("work", on="cpu", every="10 ms", do=[simulate.execute("work")]).run()
    assert result.processors["cpu"].utilisation == pytest.approx(0.9, rel=0.03)


def test_a_result_has_its_numbers_by_attribute_and_by_name():
    result = queue().run(seed=1)
    serve = result.modules["serve"]
    assert result["module.serve.waiting"] == result.quantities["module.serve.waiting"] == serve.waiting.mean
    assert result["processor.server.utilisation"] == result.processors["server"].utilisation
    assert 0 == serve.waiting.least <= serve.waiting.mean <= serve.waiting.largest
    assert serve.activations > 1000 and serve.waiting.count > 1000 and serve.waiting.deviation > 0
    assert (result.seed, result.ended, result.simulated, result.measured) == (1, "end", 40.0, 36.0)
    stay = result.measures["stay"]
    assert stay.percentiles.shape == simulate.PERCENTS.shape and np.all(np.diff(stay.percentiles) >= 0)
    median = stay.percentiles[simulate.PERCENTS == 50].item()
    assert median == result["measure.stay.median"]
    assert stay.value == stay.times.mean == pytest.approx(serve.response.mean, rel=0.01)
    served = result.measures["served"]
    assert (served.times, served.percentiles, served.value) == (None, None, result["measure.served"])
    assert set(result) == set(result.quantities) and len(result) == len(result.quantities)
    with pytest.raises(KeyError, match="did you mean module.serve.waiting"):
        result["module.serve.wating"]


def test_the_same_seeds_give_the_same_arrays():
    model = queue(end="8 s")
    first, second = model.replicate(seeds=6), queue(end="8 s").replicate(seeds=range(6))
    assert first.seeds.tolist() == list(range(6)) and first.quantities.keys() == second.quantities.keys()
    for name, values in first.quantities.items():
        np.testing.assert_array_equal(values, second[name].values)
    assert [run.digest for run in first.runs] == [model.run(seed).digest for seed in range(6)]
    other = model.replicate(seeds=[2**64 - 1, 3])
    assert other.seeds.tolist() == [2**64 - 1, 3] and other.runs[1].digest == first.runs[3].digest
    assert len(set(first["module.serve.waiting"].values)) == 6


def test_a_sweep_is_a_study_for_each_value():
    sweep = queue(end="8 s").sweep("load", np.array([0.2, 0.8]), seeds=3)
    waiting = sweep["module.serve.waiting"]
    assert (waiting.values.shape, sweep.at.tolist(), sweep.seeds.tolist()) == ((2, 3), [0.2, 0.8], [0, 1, 2])
    assert waiting.mean[0] < waiting.mean[1] and waiting.interval(0.9).contains(waiting.mean).all()
    alone = queue(end="8 s").with_parameters(load=0.8).replicate(3)["module.serve.waiting"]
    np.testing.assert_array_equal(waiting.values[1], alone.values)
    assert (waiting.mean[1], waiting.deviation[1]) == (alone.mean, alone.deviation)
    assert waiting.interval(0.9).half_width[1] == alone.interval(0.9).half_width
    assert set(sweep) == set(sweep.studies[0])


def test_intervals_are_students():
    sample = simulate.Sample(np.array([9.0, 11.0, 10.0, 8.0, 12.0, np.nan]))
    assert (sample.count, sample.mean, sample.deviation) == (5, 10.0, pytest.approx(2.5**0.5))
    interval = sample.interval(0.95)
    assert interval.half_width == pytest.approx(2.776 * 0.5**0.5, rel=1e-3)
    assert (interval.low, interval.high) == (10 - interval.half_width, 10 + interval.half_width)
    for confidence in (0, 1, float("nan")):
        with pytest.raises(quintet.BadValue, match="between 0 and 1"):
            sample.interval(confidence)
    with pytest.raises(quintet.BadValue, match="1 runs"):
        simulate.Sample(np.array([1.0, np.nan])).interval()
    rows = simulate.Sample(np.array([[1.0, 3.0], [1.0, np.nan], [np.nan, np.nan]]))
    assert rows.count.tolist() == [2, 1, 0]
    np.testing.assert_array_equal(rows.mean, [2, 1, np.nan])
    np.testing.assert_array_equal(np.isnan(rows.interval().half_width), [False, True, True])


def test_a_file_is_read_and_takes_other_numbers():
    model = simulate.Model.from_file(MODELS / "mm1.toml")
    assert (model.name, model.parameters, model.warnings()) == ("M/M/1", ("load", "service_ms"), ())
    short = model.with_settings(end="8 s", warm_up="0 s").with_parameters(load=0.5)
    assert short.run(1).simulated == 8
    assert queue().with_settings(end="2 s", warm_up="1 s").run(1).measured == 1
    assert model.run(1).simulated == 200, "the model itself is as it was"
    with pytest.raises(quintet.BadValue) as raised:
        model.with_settings(end=8).check()
    assert [(problem.key, problem.line) for problem in raised.value.problems] == [("model.end", None)]
    with pytest.raises(quintet.BadValue, match="in its text"):
        model.processor("another")


def test_everything_wrong_in_a_file_has_its_line(tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text((MODELS / "mm1.toml").read_text().replace('end = "200 s"', "end = 200").replace("on =", "onn ="))
    lines = path.read_text().splitlines()
    with pytest.raises(quintet.BadValue) as raised:
        simulate.Model.from_file(path)
    found = raised.value.problems
    first = found[0]
    assert (first.file, first.key, lines[first.line - 1]) == (str(path), "model.end", "end = 200")
    assert "has no unit" in first.text and str(first) == f"{path}, line {first.line}, model.end: {first.text}"
    wrong = [problem for problem in found if problem.key == "module.serve.onn"]
    assert [lines[problem.line - 1] for problem in wrong] == ['onn = "server"']
    assert raised.value.code == quintet.Code.BadValue and raised.value.text == "\n".join(map(str, found))
    back = pickle.loads(pickle.dumps(raised.value))
    assert (type(back), back.problems) == (quintet.BadValue, found)


def test_a_file_that_is_none(tmp_path):
    path = tmp_path / "nothing.toml"
    with pytest.raises(quintet.BadFile, match="cannot be read") as raised:
        simulate.Model.from_file(path)
    assert [(problem.file, problem.line) for problem in raised.value.problems] == [(str(path), None)]
    with pytest.raises(quintet.BadFile, match="here, line 2, not TOML"):
        simulate.Model.from_text("[model]\nname = ", "here")


def test_everything_wrong_in_a_description_has_its_key():
    model = queue()
    model.processor("server", cycel="1 us", instructions={"serve": {"exponental": {"mean": "1 us"}}})
    model.measure("stay", time={"from": "arive.start", "to": "serve.end"})
    found = problems(model.check)
    assert "did you mean cycle?" in found["processor.server.cycel"]
    assert "did you mean exponential?" in found["processor.server.instructions.serve.exponental"]
    with pytest.raises(quintet.BadValue) as raised:
        model.run()
    assert {(problem.file, problem.line) for problem in raised.value.problems} == {(None, None)}
    assert "line" not in str(raised.value)
    found = problems(queue().measure("stay", time={"from": "arive.start", "to": "serve.end"}).check)
    assert found == {"measure.stay.time.from": "there is no module arive; did you mean arrive?"}
    found = problems(queue().with_parameters(laod=1).check)
    assert found == {"parameters": "there is no parameter laod; did you mean load?"}
    assert "has no unit" in problems(lambda: queue().with_settings(end=5).run())["model.end"]
    assert "parameters" in problems(lambda: queue().sweep("laod", [1]))


@pytest.mark.parametrize(
    ("build", "key"),
    [(lambda: queue().processor("p", cycle=object()), "processor.p.cycle"),
     (lambda: queue().processor("p", instructions={"work": {1: 2}}), "processor.p.instructions.work"),
     (lambda: queue().module("m", on="world", every="1 s", do=[{"execute": b""}]), "module.m.do[0].execute"),
     (lambda: queue().processor("p", cycle="\ud800"), "processor.p.cycle"),
     (lambda: simulate.Model("m", end=True), "model.end")],
)  # fmt: skip
def test_values_that_no_file_can_have(build, key):
    assert "expected" in problems(build().run)[key]


def test_a_setting_is_a_number_or_a_text():
    assert "expected a number or a text" in problems(lambda: queue().with_settings(end=True))["model.end"]


def test_names_are_any_text():
    for name in ('a "quoted" name', "back\\slash", "lines\nand\ttabs", "\x7f\x00", "été 🎲", "[a.b] = #"):
        model = simulate.Model("names", end="1 s").processor(name, instructions={name: "1 ms"})
        model.module(name, on=name, every="10 ms", do=[simulate.execute(name)])
        assert model.run().modules[name].activations == 100


def test_the_example_of_the_package_runs(capsys):
    example = simulate.__doc__.split("\n\n")[1]
    exec(textwrap.dedent(example), {})
    assert "Interval(mean=" in capsys.readouterr().out


def test_seeds_and_values_that_cannot_be():
    model = queue(end="8 s")
    for seeds in (0, -1, [], [-1], [2**64], [1, 2] * 10):
        with pytest.raises(quintet.BadValue, match="seed"):
            model.replicate(seeds)
    for values in ([], [[1, 2]], 3):
        with pytest.raises(quintet.BadValue, match="values"):
            model.sweep("load", values)


def test_models_and_results_are_pickled():
    model = queue(end="8 s")
    result = model.run(3)
    for pickled in (model, simulate.Model.from_file(MODELS / "mm1.toml").with_settings(end="8 s", warm_up="1 s")):
        assert pickle.loads(pickle.dumps(pickled)).run(3).digest == pickled.run(3).digest
    assert pickle.loads(pickle.dumps(result)).quantities == result.quantities
    study = model.replicate(2)
    back = pickle.loads(pickle.dumps(study))
    np.testing.assert_array_equal(back["module.serve.waiting"].values, study["module.serve.waiting"].values)


def test_a_change_after_a_run_counts():
    model = queue(end="8 s")
    before = model.run()
    model.processor("server", instructions={"serve": "5 ms"})
    assert model.run()["processor.server.utilisation"] < before["processor.server.utilisation"]


def runs() -> list[str]:
    """The threads of this process that run models."""
    names = []
    for task in Path("/proc/self/task").iterdir():
        try:
            names.append((task / "comm").read_text())
        except (FileNotFoundError, ProcessLookupError):
            continue
    return [name for name in names if name.startswith("quintet-run")]


def test_an_interrupt_ends_a_long_study_and_its_threads():
    main = threading.main_thread().ident

    model, over = queue(end="5 s"), threading.Event()

    # That this thread comes to send the signal shows that others go on while models run.
    def interrupt():
        while not runs() or sys._current_frames()[main].f_code.co_name != "_run_each":
            if over.wait(0):
                return
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            model.replicate(seeds=1_000_000)
    finally:
        over.set()
        thread.join(LONG_S)
    while runs():
        threading.Event().wait(0)
    assert queue(end="8 s").replicate(2)["module.serve.activations"].count == 2
