//! What begins processes by itself: a function that makes generators, and when.

use super::process::generator_of;
use super::random::of_source;
use super::run::Run;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyTuple};
use quintet_contract::Random;
use quintet_simulate::{Picos, Timing};

/// A function, its arguments after the run, when it is called, and how often at most.
pub(super) struct Source {
    function: Py<PyAny>,
    arguments: Py<PyTuple>,
    timing: Option<Timing>,
    left: u64,
    random: Random,
}

/// What a program gives for a source: its name, the function, the arguments, and how often at most.
pub(super) type Described = (String, Py<PyAny>, Vec<Py<PyAny>>, Option<u64>);

impl Source {
    pub(super) fn new(
        run: &Bound<'_, Run>,
        (described, number): (&Described, u32),
        timing: Option<Timing>,
    ) -> PyResult<Source> {
        let py = run.py();
        let (_, function, arguments, count) = described;
        let given = arguments.iter().map(|argument| argument.bind(py).clone());
        let all = std::iter::once(run.clone().into_any()).chain(given).collect::<Vec<_>>();
        let repeats = timing.as_ref().is_some_and(|timing| timing.every.is_some());
        Ok(Source {
            function: function.clone_ref(py),
            arguments: PyTuple::new(py, all)?.unbind(),
            timing,
            left: count.unwrap_or(if repeats { u64::MAX } else { 1 }),
            random: of_source(run.borrow().world.seed, number),
        })
    }

    /// When the first ones begin, and how many of them.
    pub(super) fn first(&mut self) -> (Picos, u64) {
        let Some(timing) = &self.timing else { return (Picos::ZERO, self.left) };
        let at = Picos::from_seconds(timing.first.sample(&mut self.random));
        (at, if timing.every.is_some() { self.left.min(1) } else { self.left })
    }

    /// How long it is from one that begins to the next; none after the last.
    pub(super) fn gap(&mut self) -> Option<Picos> {
        self.left = self.left.saturating_sub(1);
        let every = self.timing.as_ref()?.every.as_ref().filter(|_| self.left > 0)?;
        Some(Picos::from_seconds(every.sample(&mut self.random)))
    }

    /// A new generator.
    pub(super) fn make<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        generator_of(&self.function.bind(py).call1(self.arguments.bind(py))?)
    }
}
