//! What is measured while a run goes on: the marks of the modules, summed up.

use crate::model::Edge;
use crate::plan::{Plan, PlannedMeasure};
use crate::resolve::address;
use crate::result::{MeasureResult, ModuleResult};
use crate::run::{ENDED, REQUESTS, STARTED, answered};
use quintet_simulate::statistics::{Quantiles, Tally};
use quintet_simulate::{Mark, Picos, Simulation};
use std::collections::{BTreeMap, VecDeque};

/// Sums up one run.
pub(crate) struct Recorder<'a> {
    plan: &'a Plan,
    modules: Vec<ModuleResult>,
    /// How long activations of each module waited after the warm-up, in seconds, whenever they became ready.
    queued: Vec<f64>,
    last_ends: Vec<Option<Picos>>,
    measures: Vec<Progress>,
}

/// How far a measure is.
struct Progress {
    result: MeasureResult,
    /// Events of `from` whose partner has not come.
    open: VecDeque<Picos>,
    /// Events of `to` that came before their partner: those pairs are left out.
    early: u64,
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(plan: &'a Plan) -> Recorder<'a> {
        let progress = |(_, measure): &(String, PlannedMeasure)| {
            let result = match measure {
                PlannedMeasure::Time { .. } | PlannedMeasure::Interval { .. } => {
                    MeasureResult::Times { tally: Tally::new(), quantiles: Quantiles::new() }
                }
                PlannedMeasure::Request { .. } => {
                    MeasureResult::Requests { tally: Tally::new(), quantiles: Quantiles::new(), late: 0 }
                }
                PlannedMeasure::Throughput { .. } => MeasureResult::Throughput { per_second: 0.0 },
            };
            Progress { result, open: VecDeque::new(), early: 0 }
        };
        Recorder {
            plan,
            modules: plan.modules.iter().map(|_| ModuleResult::default()).collect(),
            queued: vec![0.0; plan.modules.len()],
            last_ends: vec![None; plan.modules.len()],
            measures: plan.measures.iter().map(progress).collect(),
        }
    }

    pub(crate) fn record(&mut self, mark: Mark) {
        // Modules are the nodes from 1 on.
        let index = usize::from(mark.node.0).saturating_sub(1);
        let Some(module) = self.modules.get_mut(index) else { return };
        let counts = self.plan.measures_at(mark.ready);
        let edge = match mark.number {
            STARTED => Edge::Start,
            ENDED => Edge::End,
            _ => {
                return if counts {
                    self.record_request(index, mark)
                };
            }
        };
        if edge == Edge::Start {
            let warm_up = self.plan.warm_up;
            self.queued[index] += (mark.at.max(warm_up) - mark.ready.max(warm_up)).as_seconds();
            if counts {
                module.waiting.add((mark.at - mark.ready).as_seconds());
            }
        }
        let mut interval = None;
        if edge == Edge::End && self.plan.measures_at(mark.at) {
            module.activations += 1;
            if counts {
                module.response.add((mark.at - mark.ready).as_seconds());
            }
            interval = self.last_ends[index].replace(mark.at).map(|last| mark.at - last);
            interval.into_iter().for_each(|interval| module.interval.add(interval.as_seconds()));
        }
        for ((_, measure), progress) in self.plan.measures.iter().zip(&mut self.measures) {
            match measure {
                PlannedMeasure::Time { from, to } => {
                    progress.pair((index, edge), *from, *to, mark.at, self.plan);
                }
                PlannedMeasure::Interval { of } if *of == index => {
                    interval.into_iter().for_each(|interval| progress.add(interval));
                }
                _ => {}
            }
        }
    }

    /// A module goes on after it asked, with the reply or without.
    fn record_request(&mut self, index: usize, mark: Mark) {
        for ((_, measure), progress) in self.plan.measures.iter().zip(&mut self.measures) {
            let PlannedMeasure::Request { of, message } = measure else { continue };
            let is_meant = |number| message.is_none_or(|message| number == answered(message));
            if *of != index {
                continue;
            }
            // The marks of a message: that of a reply, and the next one.
            match mark.number % 2 == REQUESTS % 2 {
                true if is_meant(mark.number) => progress.add(mark.at - mark.ready),
                false if is_meant(mark.number - 1) => progress.miss(),
                _ => {}
            }
        }
    }

    /// The results of modules and measures, by name, of a run that has ended.
    pub(crate) fn finish(
        mut self,
        run: &Simulation,
    ) -> (BTreeMap<String, ModuleResult>, BTreeMap<String, MeasureResult>) {
        let seconds = (run.clock() - run.counting_since()).as_seconds();
        let in_a_second = |amount: f64| if seconds > 0.0 { amount / seconds } else { 0.0 };
        for (index, (module, queued)) in self.modules.iter_mut().zip(&self.queued).enumerate() {
            let waiting =
                if self.plan.measures_at(run.clock()) { run.waited(address(index), STARTED) } else { 0.0 };
            module.mean_queue = in_a_second(queued + waiting);
        }
        for ((_, measure), progress) in self.plan.measures.iter().zip(&mut self.measures) {
            if let PlannedMeasure::Throughput { of, bytes } = measure {
                #[expect(clippy::cast_precision_loss, reason = "results have fewer digits")]
                let activations = self.modules[*of].activations as f64;
                let per_second = in_a_second(activations * bytes.unwrap_or(1.0));
                progress.result = MeasureResult::Throughput { per_second };
            }
        }
        let names = self.plan.modules.iter().map(|module| module.name.clone());
        let measure_names = self.plan.measures.iter().map(|(name, _)| name.clone());
        let results = self.measures.into_iter().map(|progress| progress.result);
        (names.zip(self.modules).collect(), measure_names.zip(results).collect())
    }
}

impl Progress {
    /// Pairs the k-th event of `from` with the k-th of `to`.
    fn pair(&mut self, event: (usize, Edge), from: (usize, Edge), to: (usize, Edge), at: Picos, plan: &Plan) {
        if event == from {
            match self.early.checked_sub(1) {
                Some(left) => self.early = left,
                None => self.open.push_back(at),
            }
        }
        if event == to {
            match self.open.pop_front() {
                None => self.early += 1,
                Some(began) if plan.measures_at(began) => self.add(at - began),
                Some(_) => {}
            }
        }
    }

    fn add(&mut self, time: Picos) {
        if let MeasureResult::Times { tally, quantiles } | MeasureResult::Requests { tally, quantiles, .. } =
            &mut self.result
        {
            tally.add(time.as_seconds());
            quantiles.add(time);
        }
    }

    fn miss(&mut self) {
        if let MeasureResult::Requests { late, .. } = &mut self.result {
            *late += 1;
        }
    }
}
