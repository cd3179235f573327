//! One run of a model, from its seed to its result.

use crate::build::Names;
use crate::model::Model;
use crate::plan::Plan;
use crate::problem::ModelError;
use crate::recorder::Recorder;
use crate::result::{Ended, ProcessorResult, RunResult};
use quintet_simulate::{Mark, MessageType, OVERFULL, Picos, ProcessorId, Simulation};
use std::sync::atomic::{AtomicBool, Ordering};

/// The mark at the beginning of an activation.
pub(crate) const STARTED: u32 = 0;
/// The mark at its end.
pub(crate) const ENDED: u32 = 1;
/// The marks from here on tell of requests: two for each message.
pub(crate) const REQUESTS: u32 = 2;

/// The mark where a module goes on with the reply to a message.
pub(crate) fn answered(message: MessageType) -> u32 {
    REQUESTS.saturating_add(message.0.saturating_mul(2))
}

/// The mark where it goes on without.
pub(crate) fn missed(message: MessageType) -> u32 {
    answered(message).saturating_add(1)
}

/// Events after which marks are taken: they are kept until then.
const BURST: u64 = 4_096;

/// Looks on while a run goes on, and may end it.
pub(crate) trait Observer {
    /// Events between two looks.
    const BURST: u64 = BURST;

    /// A module made a mark since the last look.
    fn mark(&mut self, _mark: &Mark) {}

    /// The run stands at its beginning.
    fn begin(&mut self, _run: &mut Simulation) {}

    /// Lets the next event happen. False if the run goes no further.
    fn step(&mut self, run: &mut Simulation) -> bool {
        run.step()
    }

    /// The warm-up is over: nothing counts that was before.
    fn warm(&mut self, _run: &Simulation) {}

    /// So far it has come. False ends the run, which has no result then.
    fn look(&mut self, run: &Simulation) -> bool;
}

/// Lets it run.
pub(crate) struct Unwatched;

impl Observer for Unwatched {
    fn look(&mut self, _run: &Simulation) -> bool {
        true
    }
}

impl Observer for &AtomicBool {
    fn look(&mut self, _run: &Simulation) -> bool {
        !self.load(Ordering::Relaxed)
    }
}

impl Model {
    /// Runs it once.
    ///
    /// # Errors
    /// Everything that is wrong with the model.
    pub fn run(&self, seed: u64) -> Result<RunResult, ModelError> {
        let result = self.plan()?.run(seed, &mut Unwatched);
        Ok(result.expect("nobody ends it"))
    }
}

impl Plan {
    /// None if the observer ended it.
    pub(crate) fn run(&self, seed: u64, observer: &mut impl Observer) -> Option<RunResult> {
        let (mut run, names) = self.build(seed, &[]);
        self.run_built(seed, &mut run, &names, observer)
    }

    /// The same of a simulation that was built and has not begun.
    pub(crate) fn run_built(
        &self,
        seed: u64,
        run: &mut Simulation,
        names: &Names,
        observer: &mut impl Observer,
    ) -> Option<RunResult> {
        let mut recorder = Recorder::new(self);
        let mut ended = Ended::AtEnd;
        observer.begin(run);
        // Without a warm-up nothing is forgotten, not even what happens at time zero.
        if self.warm_up > Picos::ZERO {
            ended = self.proceed(run, &mut recorder, observer, self.warm_up)?;
            run.reset_statistics();
            observer.warm(run);
        }
        if ended == Ended::AtEnd {
            ended = self.proceed(run, &mut recorder, observer, self.end.unwrap_or(Picos::NEVER))?;
        }
        Some(self.sum_up(seed, run, names, recorder, ended))
    }

    /// Runs until `end`, or until something else ends it. None if the observer did.
    fn proceed<O: Observer>(
        &self,
        run: &mut Simulation,
        recorder: &mut Recorder<'_>,
        observer: &mut O,
        end: Picos,
    ) -> Option<Ended> {
        loop {
            let burst_ends = run.events().saturating_add(O::BURST).min(self.event_limit);
            let mut pending = true;
            while pending && run.events() < burst_ends {
                pending = run.next_at().is_some_and(|at| at <= end) && observer.step(run);
            }
            let mut overfull = None;
            for mark in run.take_marks() {
                if mark.number >= OVERFULL {
                    overfull = overfull.or(Some(mark));
                    continue;
                }
                observer.mark(&mark);
                recorder.record(mark);
            }
            if !observer.look(run) {
                return None;
            }
            if let Some(mark) = overfull {
                return Some(self.overfull(mark));
            }
            if let Some(stall) = run.stall() {
                return Some(Ended::Stalled(stall));
            }
            if run.events() >= self.event_limit {
                return Some(Ended::EventLimit);
            }
            if !pending {
                return Some(self.rest(run, end));
            }
        }
    }

    /// A module has told by a mark that it keeps no more messages.
    fn overfull(&self, mark: Mark) -> Ended {
        let module = self.modules.get(usize::from(mark.node.0).saturating_sub(1));
        let message = self.messages.get((mark.number - OVERFULL) as usize);
        let name = |name: Option<&String>| name.cloned().unwrap_or_default();
        Ended::Overfull { module: name(module.map(|module| &module.name)), message: name(message) }
    }

    /// Nothing is pending before `end`.
    fn rest(&self, run: &mut Simulation, end: Picos) -> Ended {
        if run.next_at().is_none() && self.end.is_none() {
            return Ended::NothingLeft;
        }
        run.run_to(end);
        Ended::AtEnd
    }

    fn sum_up(
        &self,
        seed: u64,
        run: &Simulation,
        names: &Names,
        recorder: Recorder<'_>,
        ended: Ended,
    ) -> RunResult {
        let measured = run.clock() - run.counting_since();
        let processor = |(name, cores): (&String, &Vec<ProcessorId>)| {
            let mut all = ProcessorResult { utilisation: 0.0, lost: 0 };
            for id in cores {
                let found = run.processor_statistics(*id);
                all.utilisation += found.utilisation;
                all.lost += found.lost;
            }
            #[expect(clippy::cast_precision_loss, reason = "there are few cores")]
            let count = cores.len() as f64;
            (name.clone(), ProcessorResult { utilisation: all.utilisation / count, ..all })
        };
        let (modules, measures) = recorder.finish(run);
        let mut result = RunResult {
            seed,
            simulated: run.clock(),
            measured,
            events: run.events(),
            ended,
            digest: run.digest(),
            processors: names.processors.iter().map(processor).collect(),
            devices: names
                .devices
                .iter()
                .map(|(name, id)| (name.clone(), run.device_statistics(*id)))
                .collect(),
            pools: names
                .pools
                .iter()
                .map(|(name, id)| (name.clone(), run.device_statistics(*id).into()))
                .collect(),
            ports: names
                .ports
                .iter()
                .filter_map(|(name, (id, index))| {
                    Some((name.clone(), run.port_statistics(*id, *index)?.into()))
                })
                .collect(),
            modules,
            measures,
        };
        self.put_together(&mut result);
        result
    }
}
