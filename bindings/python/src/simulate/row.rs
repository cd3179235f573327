//! What a run says, as dictionaries: the keys are the names that the classes of `quintet/simulate/results.py` have. Times in
//! seconds, data in bytes; no number where there were no values.

use pyo3::prelude::*;
use quintet_model::{
    Ended, MeasureResult, Model, ModelError, ModuleResult, PoolResult, PortResult, RunResult,
};
use quintet_simulate::device::DeviceStatistics;
use quintet_simulate::statistics::{Quantiles, Tally};
use std::collections::BTreeMap;

/// The parts, in percent, at which measured times are given.
pub(crate) const PERCENTS: [f64; 10] = [1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9];

/// One run.
#[derive(IntoPyObject)]
pub(crate) struct Row {
    seed: u64,
    simulated: f64,
    measured: f64,
    events: u64,
    ended: &'static str,
    ending: String,
    digest: u64,
    quantities: BTreeMap<String, f64>,
    processors: BTreeMap<String, ProcessorRow>,
    devices: BTreeMap<String, DeviceRow>,
    ports: BTreeMap<String, PortRow>,
    pools: BTreeMap<String, PoolRow>,
    modules: BTreeMap<String, ModuleRow>,
    measures: BTreeMap<String, MeasureRow>,
    /// What of the model's statements it breaks: name, statement, what was found.
    violations: Vec<(String, String, String)>,
}

#[derive(IntoPyObject)]
struct ProcessorRow {
    utilisation: f64,
    lost: u64,
}

#[derive(IntoPyObject)]
struct DeviceRow {
    utilisation: f64,
    collision_share: f64,
    waiting: f64,
    queue: f64,
    longest_queue: u64,
    requested: u64,
    delivered: u64,
    dropped: u64,
    blocked: u64,
    blocks: u64,
    bytes: u64,
    collisions: u64,
}

#[derive(IntoPyObject)]
struct PortRow {
    utilisation: f64,
    queue: f64,
    longest_queue: u64,
    buffered: f64,
    most_buffered: u64,
    packets: u64,
    bytes: u64,
    dropped: u64,
    lost: u64,
}

#[derive(IntoPyObject)]
struct PoolRow {
    utilisation: f64,
    waiting: f64,
    queue: f64,
    longest_queue: u64,
    uses: u64,
    bytes: u64,
}

#[derive(IntoPyObject)]
struct ModuleRow {
    activations: u64,
    waiting: TallyRow,
    response: TallyRow,
    interval: TallyRow,
    queue: f64,
}

#[derive(IntoPyObject)]
struct MeasureRow {
    value: f64,
    times: Option<TallyRow>,
    percentiles: Option<Vec<f64>>,
}

#[derive(IntoPyObject)]
pub(crate) struct TallyRow {
    pub(crate) count: u64,
    pub(crate) mean: f64,
    deviation: f64,
    least: f64,
    largest: f64,
}

impl Row {
    /// What a run of a model says.
    ///
    /// # Errors
    /// Everything that is wrong with the model.
    pub(crate) fn of(model: &Model, run: RunResult) -> Result<Row, ModelError> {
        let violations = match model.has_checks() {
            true => model.violations(std::slice::from_ref(&run))?,
            false => Vec::new(),
        };
        let violations =
            violations.into_iter().map(|(_, broken)| (broken.check, broken.statement, broken.found));
        Ok(Row { violations: violations.collect(), ..Row::without_statements(run) })
    }

    fn without_statements(run: RunResult) -> Row {
        let processor = |(name, found): (&String, &quintet_model::ProcessorResult)| {
            (name.clone(), ProcessorRow { utilisation: found.utilisation, lost: found.lost })
        };
        Row {
            seed: run.seed,
            simulated: run.simulated.as_seconds(),
            measured: run.measured.as_seconds(),
            events: run.events,
            ended: ended(&run.ended),
            ending: run.ended.to_string(),
            digest: run.digest,
            quantities: run.quantities(),
            processors: run.processors.iter().map(processor).collect(),
            devices: run.devices.into_iter().map(|(name, found)| (name, device(&found))).collect(),
            ports: run.ports.into_iter().map(|(name, found)| (name, port(&found))).collect(),
            pools: run.pools.into_iter().map(|(name, found)| (name, pool(&found))).collect(),
            modules: run.modules.into_iter().map(|(name, found)| (name, module(&found))).collect(),
            measures: run.measures.into_iter().map(|(name, found)| (name, measure(&found))).collect(),
            violations: Vec::new(),
        }
    }
}

fn ended(ended: &Ended) -> &'static str {
    match ended {
        Ended::AtEnd => "end",
        Ended::NothingLeft => "nothing left",
        Ended::EventLimit => "event limit",
        Ended::Stalled(_) => "stalled",
        Ended::Overfull { .. } => "overfull",
    }
}

fn device(found: &DeviceStatistics) -> DeviceRow {
    DeviceRow {
        utilisation: found.utilisation(),
        collision_share: found.collision_share(),
        waiting: found.mean_waiting_seconds(),
        queue: found.mean_queue(),
        longest_queue: found.longest_queue,
        requested: found.requested,
        delivered: found.delivered,
        dropped: found.dropped,
        blocked: found.blocked,
        blocks: found.blocks,
        bytes: found.bytes,
        collisions: found.collisions,
    }
}

fn port(found: &PortResult) -> PortRow {
    PortRow {
        utilisation: found.utilisation,
        queue: found.mean_queue,
        longest_queue: found.longest_queue,
        buffered: found.mean_buffered,
        most_buffered: found.most_buffered,
        packets: found.packets,
        bytes: found.bytes,
        dropped: found.dropped,
        lost: found.lost,
    }
}

fn pool(found: &PoolResult) -> PoolRow {
    PoolRow {
        utilisation: found.utilisation,
        waiting: found.waiting,
        queue: found.mean_queue,
        longest_queue: found.longest_queue,
        uses: found.uses,
        bytes: found.bytes,
    }
}

fn module(found: &ModuleResult) -> ModuleRow {
    ModuleRow {
        activations: found.activations,
        waiting: (&found.waiting).into(),
        response: (&found.response).into(),
        interval: (&found.interval).into(),
        queue: found.mean_queue,
    }
}

fn measure(found: &MeasureResult) -> MeasureRow {
    match found {
        MeasureResult::Throughput { per_second } => {
            MeasureRow { value: *per_second, times: None, percentiles: None }
        }
        MeasureResult::Times { tally: times, quantiles }
        | MeasureResult::Requests { tally: times, quantiles, .. } => MeasureRow {
            value: times.mean().unwrap_or(f64::NAN),
            times: Some(times.into()),
            percentiles: Some(percentiles(quantiles)),
        },
    }
}

fn percentiles(quantiles: &Quantiles) -> Vec<f64> {
    let at = |percent| quantiles.at(percent / 100.0).map_or(f64::NAN, |time| time.as_seconds());
    PERCENTS.into_iter().map(at).collect()
}

impl From<&Tally> for TallyRow {
    fn from(found: &Tally) -> TallyRow {
        TallyRow {
            count: found.count(),
            mean: found.mean().unwrap_or(f64::NAN),
            deviation: found.deviation().unwrap_or(f64::NAN),
            least: found.least().unwrap_or(f64::NAN),
            largest: found.largest().unwrap_or(f64::NAN),
        }
    }
}
