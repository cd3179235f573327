"""A model: what it consists of, and running it."""

from __future__ import annotations

import copy
import itertools
import operator
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any, Union

import numpy as np
from numpy.typing import ArrayLike

from quintet import _native
from quintet.errors import BadValue, Code, Problem
from quintet.simulate.document import document, plain
from quintet.simulate.exploring import Exploration, Promise, explored, violations
from quintet.simulate.parts import Draw, Quantity, Table
from quintet.simulate.processes import Function, Source, programs, run
from quintet.simulate.results import Result, result
from quintet.simulate.studies import Study, Sweep

Setting = Union[Quantity, bool, Sequence[Quantity]]
Seeds = Union[int, Iterable[int]]

_AT_ONCE = 64
"""Runs that `explore` makes together. What it finds does not depend on it."""


class Model:
    """A model: processors, devices, networks, pools, modules, and what to measure.

    It is described by methods that each return the model, or comes from a file. What is wrong with it is said when it is
    checked or run, all at once: BadValue, whose `problems` have the key. A model can be pickled.
    """

    def __init__(
        self,
        name: str,
        *,
        end: Quantity | None = None,
        warm_up: Quantity | None = None,
        event_limit: Quantity | None = None,
    ) -> None:
        """A model without anything in it.

        `end`: the simulated time at which a run ends, "1000 s"; without one it ends when nothing is left to do. `warm_up`:
        what happens before is not measured. `event_limit`: events after which a run ends in any case, by default 50 million.
        """
        self._tables: dict[str, dict[str, Any]] = {
            "model": {"name": name, "end": end, "warm_up": warm_up, "event_limit": event_limit},
            "parameters": {}, "processor": {}, "device": {}, "network": {}, "pool": {}, "module": {}, "measure": {}, "check": {},
        }  # fmt: skip
        self._text: str | None = None
        self._file: str | None = None
        self._settings: dict[str, str] = {}
        self._values: dict[str, float] = {}
        self._sources: tuple[Source, ...] = ()
        self._promises: tuple[Promise, ...] = ()
        self._checked: _native.SimulatedModel | None = None

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Model:
        """The model of a model file.

        Raises BadFile for a file that cannot be read or is not TOML, BadValue for a model that cannot run. Its `problems`
        are all that is wrong: file, line, key, text.
        """
        return cls.from_text(_native.read_model(path), os.fspath(path))

    @classmethod
    def from_text(cls, text: str, file: str = "text") -> Model:
        """The model that `text` describes as a model file would; `file` is its name in errors.

        Raises BadFile and BadValue as `from_file`.
        """
        model = cls("")
        model._text, model._file = text, file
        model._tables["model"]["name"] = model._ready().name
        return model

    @property
    def name(self) -> str:
        """Its name."""
        return self._tables["model"]["name"]

    def parameter(self, name: str, value: Quantity) -> Model:
        """Adds a parameter: a number, or an expression of others."""
        return self._add("parameters", name, value)

    def processor(self, name: str, *, instructions: Mapping[str, Draw] | None = None, **keys: Setting) -> Model:
        """Adds a processor, with the cycles or the time of its instructions, by name.

        `keys` are those of `[processor.NAME]`: cores, cycle, rate, time_slice, input_controller, output_controller, io_setup,
        interrupt, queue_limit, preempt; count makes it a group of so many, NAME-1 to NAME-COUNT.
        """
        return self._add("processor", name, {**keys, "instructions": instructions})

    def device(self, name: str, kind: str, stations: Sequence[str], **keys: Setting) -> Model:
        """Adds a transfer device to which the processors `stations` are connected.

        `kind`: "bus", "csma-cd", "ethernet", "slotted", "token-ring", "switch" or "link". `keys` are those of
        `[device.NAME]` of that kind.
        """
        return self._add("device", name, {"kind": kind, "stations": stations, **keys})

    def network(
        self,
        name: str,
        *,
        links: Mapping[str, Mapping[str, Any]],
        switches: Mapping[str, Mapping[str, Setting]] | None = None,
        **keys: Setting,
    ) -> Model:
        """Adds a network: switches, by name, and links between them and processors.

        `links`: the keys of `[network.NAME.link.NAME]` by name, `{"up": {"between": ["s", "core"], "rate": "1 Gb/s"}}`. `switches`: those
        of `[network.NAME.switch.NAME]`, `{"s": {"latency": "2 us"}, "core": {}}`. `keys` are those of `[network.NAME]`: packet, window,
        latency, rate, delay, overhead, shortest, buffer, when_full.
        """
        return self._add("network", name, {**keys, "switch": switches, "link": links})

    def pool(self, name: str, **keys: Setting) -> Model:
        """Adds a pool of servers that are no processors. `keys` are those of `[pool.NAME]`: servers, rate, overhead."""
        return self._add("pool", name, keys)

    def module(
        self,
        name: str,
        *,
        on: str,
        count: Quantity | None = None,
        start: Draw | None = None,
        every: Draw | None = None,
        limit: Quantity | None = None,
        waits_for: Mapping[str, Quantity] | None = None,
        after: Sequence[str] | None = None,
        after_any: Sequence[str] | None = None,
        do: Sequence[Mapping[str, Any]] = (),
        then: Sequence[str] | None = None,
        then_one_of: Mapping[str, Quantity] | None = None,
        priority: Quantity | None = None,
        state: Mapping[str, Quantity] | None = None,
    ) -> Model:
        """Adds a modelled program on the processor `on`. At least one condition is needed.

        `count`: a group of so many, NAME-1 to NAME-COUNT; on a group of processors there is one on each without it.
        `start`, `every`, `limit`: when it first runs by itself, the time between, how often at most. `waits_for`: how many
        of which messages one activation needs. `after`, `after_any`: modules of which all, or one, must be done. `do`:
        what `execute`, `send` and `use` make, in order, or dicts with the other actions of a model file ("ask", "reply", "if").
        `then`: its successors. `then_one_of`: the weights of those of which one is chosen. `priority`: the largest on a
        processor goes first. `state`: its variables, with their first values.
        """
        return self._add("module", name, {
            "on": on, "count": count, "start": start, "every": every, "limit": limit, "waits_for": waits_for, "after": after,
            "after_any": after_any, "do": do, "then": then, "then_one_of": then_one_of,
            "priority": priority, "state": state,
        })  # fmt: skip

    def measure(
        self,
        name: str,
        *,
        time: Mapping[str, str] | None = None,
        throughput: Mapping[str, Quantity] | None = None,
        interval: Mapping[str, str] | None = None,
        request: Mapping[str, str] | None = None,
    ) -> Model:
        """Adds a measure, one of the four.

        `time={"from": "MODULE.start", "to": "MODULE.end"}`: the time from the k-th event to the k-th.
        `throughput={"of": "MODULE", "bytes": "8 B"}`: bytes a second, or without `bytes` activations a second.
        `interval={"of": "MODULE"}`: the time between two ends.
        `request={"of": "MODULE", "ask": "MESSAGE"}`: from each `ask`, by that message or by any, to the reply.
        """
        return self._add("measure", name, {
            "time": time, "throughput": throughput, "interval": interval, "request": request,
        })  # fmt: skip

    def promise(self, name: str, holds: str | Callable[[Result], Any]) -> Model:
        """States something about the end of every run: `Result.violations` has what a run breaks, and `explore` looks for one that does.

        `holds`: a statement as in `[check]` of a model file, "module.serve.waiting.longest <= 1 s" or "ended by itself", or a function of the
        `Result`, which gives False or raises AssertionError if it does not hold. A function may be added to a model that was read, and
        sees what processes recorded.
        """
        if callable(holds):
            self._promises = (*self._promises, Promise(name, holds))
            return self
        return self._add("check", name, holds)

    def process(
        self,
        function: Function,
        *arguments: Any,
        start: Draw | None = None,
        every: Draw | None = None,
        count: int | None = None,
        module: str | None = None,
    ) -> Model:
        """Adds processes: generators that `function(run, *arguments)` makes, `run` being the `Run`. Also to a model that was read.

        `start`: when the first begins, by default at once. `every`: the time from one to the next; without it `count` of them
        begin together. `count`: how many in all, by default one, or with `every` any number. `module`: processes are in the
        place of this module, which does nothing itself then; `Run.program` gives what they do there.

        A model with processes may have no modules. It is run on the thread that asks for it. Raises BadValue for what is no
        function, or a count below 1.
        """
        name = getattr(function, "__name__", type(function).__name__)
        taken = {source.name for source in self._sources}
        name = next(free for number in itertools.count(1) if (free := f"{name}_{number}" if number > 1 else name) not in taken)
        self._sources = (*self._sources, Source(name, function, arguments, start, every, count, module))
        self._checked = None
        return self

    def with_parameters(self, **values: float) -> Model:
        """A copy with other numbers for these parameters.

        A name that is no parameter raises BadValue when the copy is checked or run.
        """
        changed = self._copy()
        changed._values.update({name: float(value) for name, value in values.items()})
        return changed

    def with_settings(self, **settings: Quantity) -> Model:
        """A copy with other values for these keys of `[model]`: end, warm_up, event_limit.

        Raises BadValue for a value that is neither a number nor a text; for others when it is checked or run.
        """
        changed = self._copy()
        texts = {key: plain(f"model.{key}", value) for key, value in settings.items()}
        if self._text is None:
            changed._tables["model"].update(texts)
        else:
            changed._settings.update(texts)
        return changed

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its parameters. Raises BadValue for a model that cannot run."""
        return tuple(self._ready().parameter_names)

    def check(self) -> None:
        """Raises BadValue, with all problems, if it cannot run."""
        self._ready()

    def warnings(self) -> tuple[Problem, ...]:
        """What is strange about it, though it can run: a device that carries nothing, an instruction nobody executes.

        Raises BadValue for a model that cannot run.
        """
        return tuple(Problem(*place) for place in self._ready().warnings())

    def run(self, seed: int = 0) -> Result:
        """Runs it once. `seed`: from 0 to 2^64 - 1. Other threads go on meanwhile, and ctrl-C ends the wait.

        Raises BadValue for a model that cannot run, or another seed.
        """
        return self.replicate([seed]).runs[0]

    def replicate(self, seeds: Seeds = 10) -> Study:
        """Runs it once for each seed, on all processors of the machine: `seeds` of them, from 0 on, or these. With processes the
        runs are made one after the other on this thread, and ctrl-C ends the one under way.

        Other threads go on meanwhile. Ctrl-C raises KeyboardInterrupt at once, and no run is begun any more; those under
        way come to their end unseen.

        Raises BadValue for a model that cannot run, no seeds, the same seed twice, or seeds that are not from 0 to
        2^64 - 1.
        """
        return Study(tuple(self._run_each([self._ready()], _seeds(seeds))))

    def sweep(self, parameter: str, values: ArrayLike, seeds: Seeds = 10) -> Sweep:
        """A study for each value of a parameter, each with the same seeds: see `replicate`.

        `values`: numbers, shape (values,).

        Raises BadValue for a name that is no parameter, for no values, for a model that cannot run with one of them, and
        as `replicate`.
        """
        at = np.array(values, dtype=np.float64)
        if at.ndim != 1 or at.size == 0:
            raise BadValue(Code.BadValue, f"values of shape {at.shape}, expected a list of at least one number")
        numbers, base = _seeds(seeds), self._ready()
        models = [base.with_parameter(parameter, float(value)) for value in at]
        results = self._run_each(models, numbers)
        parts = (results[first : first + len(numbers)] for first in range(0, len(results), len(numbers)))
        return Sweep(parameter, at, tuple(Study(tuple(part)) for part in parts))

    def explore(self, seeds: Seeds = 1000) -> Exploration:
        """Runs it with one seed after the other until a run breaks what the model promises, or one of its processes raises.

        Of the first such run the shortest end is looked for with which the same seed breaks that already. Seeds as in `replicate`, and ctrl-C
        raises KeyboardInterrupt.

        Raises BadValue as `replicate`, and for a model without processes that promises nothing.
        """
        numbers, model = _seeds(seeds), self._ready()
        if not (self._sources or self._promises or model.has_checks):
            raise BadValue(Code.BadValue, f"the model {self.name} promises nothing, so that no run breaks anything: see Model.promise")
        return explored(self, numbers, at_once=1 if self._sources else _AT_ONCE)

    def _run_each(self, models: Sequence[_native.SimulatedModel], seeds: list[int]) -> list[Result]:
        """Every model with every seed, on all processors, or with processes one after the other on this thread."""
        if self._sources:
            rows = (run(model, seed, self._sources) for model in models for seed in seeds)
        else:
            rows = map(result, _native.run_all(models, seeds))
        return [violations(found, self._promises) for found in rows]

    def _add(self, kind: str, name: str, value: Any) -> Model:
        if self._text is not None:
            raise BadValue(Code.BadValue, f"{kind} {name}: a model that was read as text is added to in its text")
        self._tables[kind][name] = copy.deepcopy(value)
        self._checked = None
        return self

    def _copy(self) -> Model:
        copied = copy.deepcopy(self)
        copied._checked = None
        return copied

    def _ready(self) -> _native.SimulatedModel:
        """The checked model. Raises BadValue or BadFile."""
        if self._checked is None:
            text = document(self._tables) if self._text is None else self._text
            settings, values = list(self._settings.items()), list(self._values.items())
            self._checked = _native.SimulatedModel(text, self._file, settings, values, programs(self._sources))
        return self._checked

    def __getstate__(self) -> Table:
        return {**self.__dict__, "_checked": None}

    def __repr__(self) -> str:
        return f"<quintet.simulate.Model {self.name}>"


def _seeds(seeds: Seeds) -> list[int]:
    numbers = list(range(seeds)) if isinstance(seeds, Integral) else [operator.index(seed) for seed in seeds]
    if not numbers:
        raise BadValue(Code.BadValue, f"the seeds are {seeds!r}, expected at least one")
    for seed in numbers:
        if not 0 <= seed < 1 << 64:
            raise BadValue(Code.BadValue, f"the seed {seed}, expected one from 0 to 2^64 - 1")
    for seed, times in Counter(numbers).items():
        if times > 1:
            raise BadValue(Code.BadValue, f"the seed {seed} {times} times; runs of the same seed are the same run")
    return numbers
