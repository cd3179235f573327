"""Processes beside the elements of a model, in the places of modules."""

from __future__ import annotations

import sys

import pytest

import quintet
from quintet import simulate


def mixed() -> simulate.Model:
    """A client, which processes stand for, asks a server over a link of 1 ms."""
    model = simulate.Model("mixed")
    model.processor("cpu", cycle="1 us", instructions={"think": "2 ms"})
    model.processor("server", instructions={"serve": "10 ms"})
    model.device("net", "link", ["cpu", "server"], delay="1 ms")
    question = simulate.send("question", "serve", "100 B", through="net")
    model.module("client", on="cpu", waits_for={"answer": 1}, do=[simulate.execute("think"), question])
    answer = simulate.send("answer", "client", "200 B", through="net")
    model.module("serve", on="server", waits_for={"question": 1}, do=[simulate.execute("serve"), answer])
    return model


def test_a_process_stands_in_the_place_of_a_module():
    log = []

    def client(run):
        program = run.program("client")
        for _ in range(2):
            yield program.execute("think")
            yield program.execute(cycles=500)
            log.append(round(run.now, 6))
            yield program.send("question")
            message = yield program.receive("answer")
            log.append((round(run.now, 6), message.name, message.bytes, round(message.came, 6)))

    result = mixed().process(client, module="client").run()
    expected = [0.0025, (0.0145, "answer", 200, 0.0145), 0.017, (0.029, "answer", 200, 0.029)]
    assert log == expected
    assert result["module.serve.activations"] == 2
    assert result["processor.cpu.utilisation"] == pytest.approx(0.005 / 0.029)
    assert result.modules["client"].activations == 0, "the module itself does nothing"


def test_a_process_shares_a_processor_with_modules_and_may_be_added_to_a_file():
    model = simulate.Model.from_text(
        """
        [model]
        name = "file"
        end = "1 s"
        [processor.cpu]
        instructions = { work = "10 ms" }
        [module.busy]
        on = "cpu"
        every = "20 ms"
        do = [{ execute = "work" }]
        [module.own]
        on = "cpu"
        start = "0 s"
        """
    )

    def own(run):
        yield run.program("own").execute("work", times=3)
        run.measure("end").record(run.now)

    result = model.process(own, start="5 ms", module="own").run()
    assert result["measure.end"] == pytest.approx(0.040), "after the module's 10 ms"
    assert model.parameters == ()


def test_a_message_that_nobody_receives_is_kept_and_lengths_can_be_given():
    def client(run):
        program = run.program("client")
        yield program.send("question", bytes=1)
        yield program.send("question", to="serve")
        yield 1
        for _ in range(2):
            message = yield program.receive()
            run.measure("came").record(message.came)

    result = mixed().process(client, module="client").run()
    assert result.measures["came"].times.count == 2


def test_what_a_module_cannot_do_is_said():
    def client(run):
        program = run.program("client")
        wrong = {
            "sends no questoin; did you mean question?": lambda: program.send("questoin"),
            "sends no question to client": lambda: program.send("question", to="client"),
            "waits for no answr; did you mean answer?": lambda: program.receive("answr"),
            "has no instruction thinq; did you mean think?": lambda: program.execute("thinq"),
            "takes an instruction, or cycles": lambda: program.execute(),
        }
        for text, call in wrong.items():
            with pytest.raises(quintet.BadValue, match=text.replace("?", r"\?")):
                call()
        with pytest.raises(ValueError, match="in the place of a module sreve"):
            run.program("sreve")
        yield 0

    mixed().process(client, module="client").run()
    with pytest.raises(quintet.BadValue, match="did you mean client"):
        mixed().process(client, module="cleint").run()


def test_a_measure_of_the_model_keeps_its_name():
    def client(run):
        with pytest.raises(quintet.BadValue, match="one of the model"):
            run.measure("rate")
        yield 0

    model = mixed().measure("rate", throughput={"of": "serve"}).process(client, module="client")
    assert model.run()["measure.rate"] == 0


def test_a_receive_that_is_cancelled_leaves_the_queue():
    noted = []

    def client(run):
        program = run.program("client")
        kept = sys.getrefcount(plain := run.event())
        receiving = program.receive("answer")
        noted.append(sys.getrefcount(receiving) - kept)
        receiving.cancel()
        noted.append(sys.getrefcount(receiving) - kept)
        yield program.send("question")
        noted.append((yield program.receive()).name)
        plain.cancel()

    mixed().process(client, module="client").run()
    assert noted == [1, 0, "answer"]
