//! What a run says.

use crate::pool::PoolResult;
use crate::port::PortResult;
use core::fmt;
use quintet_simulate::device::DeviceStatistics;
use quintet_simulate::statistics::{Quantiles, Tally};
use quintet_simulate::{MOST_EARLY, Picos, Stall};
use std::collections::BTreeMap;

/// Why a run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ended {
    /// The model's end was reached.
    AtEnd,
    /// Nothing was left to do.
    NothingLeft,
    /// The limit of events was reached first: the results are those of the part before.
    EventLimit,
    /// Time did not pass any more: the model has a cycle in which nothing takes time.
    Stalled(Stall),
    /// A module was sent more messages before it waited for them than it keeps: [`MOST_EARLY`].
    Overfull {
        /// The module.
        module: String,
        /// The message for which there was no room.
        message: String,
    },
}

/// What a processor did.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ProcessorResult {
    /// The share of time in which it was busy, 0 to 1; of several cores the mean.
    pub utilisation: f64,
    /// Messages that found its queue full and were lost.
    pub lost: u64,
}

/// What a module did. Times in seconds, of activations that became ready after the warm-up.
#[derive(Clone, Debug, Default)]
pub struct ModuleResult {
    /// Activations that ended after the warm-up.
    pub activations: u64,
    /// From when an activation was ready (its last message, predecessor or its time had come) to its start.
    pub waiting: Tally,
    /// From when it was ready to its end.
    pub response: Tally,
    /// Between two ends.
    pub interval: Tally,
    /// Activations that are ready and have not started, in the mean over time; also those that were ready before the end of
    /// the warm-up, and those that do not start any more.
    pub mean_queue: f64,
}

/// What a measure says.
#[derive(Clone, Debug)]
pub enum MeasureResult {
    /// Times, in seconds.
    Times {
        /// Their mean and deviation.
        tally: Tally,
        /// How they are spread.
        quantiles: Quantiles,
    },
    /// Requests that were replied to: how long that took, in seconds.
    Requests {
        /// Their mean and deviation.
        tally: Tally,
        /// How they are spread.
        quantiles: Quantiles,
        /// Those that had no reply in time.
        late: u64,
    },
    /// Bytes or activations a second.
    Throughput {
        /// How many.
        per_second: f64,
    },
}

/// What one run says. The same for the same model and seed, on every machine.
///
/// A group has an entry of its own under its name, beside those of its elements: counts and queues are totals, as is a
/// throughput; times are those of all elements; utilisation is the mean.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// The run's seed.
    pub seed: u64,
    /// The simulated time at its end.
    pub simulated: Picos,
    /// The part of it after the warm-up.
    pub measured: Picos,
    /// Events handled.
    pub events: u64,
    /// Why it ended.
    pub ended: Ended,
    /// Sums up the run: another if anything was different.
    pub digest: u64,
    /// By name.
    pub processors: BTreeMap<String, ProcessorResult>,
    /// By name, networks too; devices of kind `link` count nothing.
    pub devices: BTreeMap<String, DeviceStatistics>,
    /// By name.
    pub pools: BTreeMap<String, PoolResult>,
    /// By name: `NETWORK.END.LINK` is the port from which the processor or switch END of a network sends over a link, `DEVICE.STATION` that from
    /// which a device of kind `switch` sends to a station.
    pub ports: BTreeMap<String, PortResult>,
    /// By name.
    pub modules: BTreeMap<String, ModuleResult>,
    /// By name.
    pub measures: BTreeMap<String, MeasureResult>,
}

impl RunResult {
    /// Every number in it by a name of its own: `processor.server.utilisation`, `module.serve.waiting`. Means of times
    /// that never occurred are left out. In seconds and bytes.
    #[must_use]
    pub fn quantities(&self) -> BTreeMap<String, f64> {
        let mut found = BTreeMap::new();
        for (name, processor) in &self.processors {
            found.insert(format!("processor.{name}.utilisation"), processor.utilisation);
            found.insert(format!("processor.{name}.lost"), count(processor.lost));
        }
        for (name, device) in &self.devices {
            let mut add = |key: &str, value: f64| found.insert(format!("device.{name}.{key}"), value);
            add("utilisation", device.utilisation());
            add("collision_share", device.collision_share());
            add("waiting", device.mean_waiting_seconds());
            add("queue", device.mean_queue());
            for (key, value) in [
                ("requested", device.requested),
                ("delivered", device.delivered),
                ("dropped", device.dropped),
                ("blocked", device.blocked),
                ("blocks", device.blocks),
                ("bytes", device.bytes),
                ("collisions", device.collisions),
            ] {
                add(key, count(value));
            }
        }
        for (name, pool) in &self.pools {
            let named = |(key, value)| (format!("pool.{name}.{key}"), value);
            found.extend(pool.quantities().map(named));
        }
        for (name, port) in &self.ports {
            let named = |(key, value)| (format!("port.{name}.{key}"), value);
            found.extend(port.quantities().map(named));
        }
        for (name, module) in &self.modules {
            found.insert(format!("module.{name}.activations"), count(module.activations));
            found.insert(format!("module.{name}.queue"), module.mean_queue);
            for (key, tally) in
                [("waiting", &module.waiting), ("response", &module.response), ("interval", &module.interval)]
            {
                found.extend(tally.mean().map(|mean| (format!("module.{name}.{key}"), mean)));
            }
        }
        for (name, measure) in &self.measures {
            match measure {
                MeasureResult::Throughput { per_second } => {
                    found.insert(format!("measure.{name}"), *per_second);
                }
                MeasureResult::Times { tally, quantiles } => {
                    found.extend(times(name, tally, quantiles, &[("median", 0.5), ("p99", 0.99)]));
                }
                MeasureResult::Requests { tally, quantiles, late } => {
                    let parts = [("median", 0.5), ("p90", 0.9), ("p99", 0.99)];
                    found.extend(times(name, tally, quantiles, &parts));
                    found.insert(format!("measure.{name}.count"), count(tally.count()));
                    found.insert(format!("measure.{name}.late"), count(*late));
                }
            }
        }
        found
    }
}

/// The mean and some quantiles of times; none without times.
fn times(name: &str, tally: &Tally, quantiles: &Quantiles, parts: &[(&str, f64)]) -> BTreeMap<String, f64> {
    let mean = tally.mean().map(|mean| (format!("measure.{name}"), mean));
    let at = |(key, part): &(&str, f64)| {
        quantiles.at(*part).map(|at| (format!("measure.{name}.{key}"), at.as_seconds()))
    };
    mean.into_iter().chain(parts.iter().filter_map(at)).collect()
}

#[expect(clippy::cast_precision_loss, reason = "results have fewer digits")]
fn count(value: u64) -> f64 {
    value as f64
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::AtEnd => f.write_str("the end was reached"),
            Ended::NothingLeft => f.write_str("nothing was left to do"),
            Ended::EventLimit => f.write_str("the limit of events was reached"),
            Ended::Stalled(stall) => stall.fmt(f),
            Ended::Overfull { module, message } => write!(
                f,
                "module {module} has {MOST_EARLY} messages for which it has not waited so far, and no room for {message}: more of them are sent than it waits for"
            ),
        }
    }
}
