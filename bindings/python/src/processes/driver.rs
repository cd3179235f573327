//! A run with processes: what the simulation calls for, and what it is told.

use super::program::{Mailbox, receive};
use super::random::{Stream, named};
use super::resuming::Resumption;
use super::row::{ProcessesRow, row};
use super::run::Run;
use super::source::{Described, Source};
use super::world::{Outgoing, Pending, World};
use crate::simulate::{Row, SimulatedModel, raise};
use pyo3::prelude::*;
use quintet_model::{Driver, Place};
use quintet_simulate::Simulation;

/// What drives a run that has processes.
pub(super) struct Resumer<'py> {
    pub(super) run: Bound<'py, Run>,
    sources: Vec<Source>,
    /// What ended the run.
    failure: Option<PyErr>,
    /// At the end: what processes did.
    row: Option<ProcessesRow>,
}

/// Runs a model once, with processes.
///
/// Raises BadValue for a model that cannot run, TaskFailed with its cause if a process failed, and whatever else a process or a signal's
/// handler raised.
#[pyfunction]
pub(crate) fn run_driven(
    py: Python<'_>,
    model: PyRef<'_, SimulatedModel>,
    seed: u64,
    timings: &str,
    sources: Vec<Described>,
) -> PyResult<(Row, ProcessesRow)> {
    let has_file = model.has_file;
    let wrong = |error| raise(error, has_file);
    let timings = model.model.timings(timings).map_err(wrong)?;
    let taken = model.model.measure_names().map(str::to_owned).collect();
    let world = World::new(seed, model.model.parameter_values(), taken);
    let stream = PyClassInitializer::from(Stream { random: named(seed, "") });
    let run = Bound::new(py, stream.add_subclass(Run { world }))?;
    let timing = |name: &str| timings.get(name).cloned().flatten();
    let sources: PyResult<Vec<_>> = sources
        .iter()
        .zip(0..)
        .map(|(described, number)| Source::new(&run, (described, number), timing(&described.0)))
        .collect();
    let mut resumer = Some(Resumer { run: run.clone(), sources: sources?, failure: None, row: None });
    let driven = model.model.run_driven(seed, |places| {
        let resumer = resumer.take().expect("a run has one driver");
        resumer.place(places);
        resumer
    });
    let empty = World::new(seed, Default::default(), Vec::new());
    // Generators that have not ended are closed when nothing of the run is borrowed: they may release what they hold.
    let world = std::mem::replace(&mut run.borrow_mut().world, empty);
    let World { processes, measures, .. } = world;
    drop(processes);
    let (result, driver) = driven.map_err(wrong)?;
    if let Some(failure) = driver.failure {
        return Err(failure);
    }
    let mut result = result.expect("only a failure ends a run before its end");
    result.measures.extend(measures.into_iter().map(|measured| measured.into_result()));
    let row = driver.row.expect("a run that ended has one");
    Ok((Row::of(&model.model, result).map_err(wrong)?, row))
}

impl<'py> Resumer<'py> {
    pub(super) fn py(&self) -> Python<'py> {
        self.run.py()
    }

    fn place(&self, places: Vec<Place>) {
        let world = &mut self.run.borrow_mut().world;
        let seed = world.seed;
        let mailbox = |place: Place| {
            let random = named(seed, &format!("program {}", place.name));
            Mailbox::new(place, random)
        };
        world.mailboxes = places.into_iter().map(mailbox).collect();
    }

    /// Has the simulation call for what was scheduled, in that order.
    fn hand_over(&self, simulation: &mut Simulation) {
        let mut outgoing = std::mem::take(&mut self.run.borrow_mut().world.outgoing);
        for item in outgoing.drain(..) {
            match item {
                Outgoing::Call(at, number) => simulation.call_at(at, number),
                Outgoing::Order(order) => simulation.command(order.0, order.1, order.2),
            }
        }
        // Its room is kept.
        self.run.borrow_mut().world.outgoing = outgoing;
    }

    /// Does something of the run at this time. Whether the run goes on.
    fn act(&mut self, simulation: &mut Simulation, what: impl FnOnce(&mut Self) -> PyResult<()>) -> bool {
        self.run.borrow_mut().world.now = simulation.clock();
        let done = what(self);
        self.hand_over(simulation);
        self.failure = done.err();
        self.failure.is_none()
    }

    fn come(&mut self, number: u64) -> PyResult<()> {
        let place = u32::try_from(number).expect("numbers are those of slots");
        let pending = self.run.borrow_mut().world.pending.take(place);
        match pending {
            None => Ok(()),
            Some(Pending::Wake(place, wait)) => {
                if self.is_in(place, wait) {
                    self.resume(place, Resumption::Next)
                } else {
                    Ok(())
                }
            }
            Some(Pending::Fire(event)) => self.fire(event.into_bound(self.py())),
            Some(Pending::Begin(source)) => self.begin(source),
            Some(Pending::Interrupt(place, number, exception)) => self.interrupt(place, number, exception),
        }
    }

    /// Whether a process is in the wait of this number.
    pub(super) fn is_in(&self, place: u32, wait: u64) -> bool {
        let world = &mut self.run.borrow_mut().world;
        world.processes.get_mut(place).is_some_and(|working| working.wait == wait)
    }

    /// A source begins a process, which runs at once.
    fn begin(&mut self, number: u32) -> PyResult<()> {
        let py = self.py();
        let source = &mut self.sources[number as usize];
        if let Some(gap) = source.gap() {
            self.run.borrow_mut().world.schedule(gap, Pending::Begin(number));
        }
        let generator = source.make(py)?.unbind();
        let place = self.run.borrow_mut().world.work(generator);
        self.resume(place, Resumption::Next)
    }
}

impl Driver for Resumer<'_> {
    fn begin(&mut self, run: &mut Simulation) {
        for (source, number) in self.sources.iter_mut().zip(0..) {
            let (at, count) = source.first();
            let world = &mut self.run.borrow_mut().world;
            (0..count).for_each(|_| world.schedule(at, Pending::Begin(number)));
        }
        self.hand_over(run);
    }

    fn call(&mut self, number: u64, run: &mut Simulation) -> bool {
        self.act(run, |resumer| resumer.come(number))
    }

    fn received(&mut self, place: usize, run: &mut Simulation) -> bool {
        let address = self.run.borrow().world.mailboxes[place].place.address;
        let received = run.take_received(address);
        self.act(run, |resumer| received.map_or(Ok(()), |received| receive(&resumer.run, place, received)))
    }

    fn warm(&mut self, run: &Simulation) {
        self.run.borrow_mut().world.forget(run.clock());
    }

    fn ended(&mut self, run: &Simulation) {
        self.row = Some(row(&self.run, run.clock(), run.next_at().is_none()));
    }

    fn look(&mut self) -> bool {
        // Other threads have their turn, whatever the events were.
        self.py().detach(|| ());
        self.failure = self.py().check_signals().err();
        self.failure.is_none()
    }
}
