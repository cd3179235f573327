//! The quantities that a statement may name: those of results, and the longest of each kind of time.

use crate::group::{Sizes, members};
use crate::model::{Measure, Model};
use crate::nearest::nearest;
use crate::plan::{Medium, Plan};
use crate::result::{MeasureResult, RunResult};
use crate::subject::ElementKind;
use quintet_simulate::device::DeviceModel;
use quintet_simulate::statistics::Tally;
use std::collections::{BTreeMap, BTreeSet};

/// What is put behind a time's name for the longest of them.
const LONGEST: &str = ".longest";
/// What there is of each element.
const OF_PROCESSORS: &[&str] = &["utilisation", "lost"];
const OF_DEVICES: &[&str] = &[
    "utilisation",
    "collision_share",
    "waiting",
    "queue",
    "requested",
    "delivered",
    "dropped",
    "blocked",
    "blocks",
    "bytes",
    "collisions",
];
const OF_PORTS: &[&str] = &[
    "utilisation",
    "queue",
    "longest_queue",
    "buffered",
    "most_buffered",
    "packets",
    "bytes",
    "dropped",
    "lost",
];
const OF_POOLS: &[&str] = &["utilisation", "waiting", "queue", "longest_queue", "uses", "bytes"];
const OF_MODULES: &[&str] = &["activations", "queue", "waiting", "response", "interval"];
/// Those of which there is a longest.
const TIMES: &[&str] = &["waiting", "response", "interval"];

/// What a model's runs may have, by name: the unit in which an expression has it, `""` for a number.
pub(super) struct Names(BTreeMap<String, &'static str>);

impl Names {
    pub(super) fn of(model: &Model, plan: &Plan) -> Names {
        let processors = plan.processors.iter().map(|processor| processor.name.as_str());
        let of_kind = |is_meant: fn(&Medium) -> bool| {
            let meant = plan.devices.iter().filter(move |(_, medium)| is_meant(medium));
            meant.map(|(name, _)| name.as_str())
        };
        // Devices of kind link have no results.
        let devices = of_kind(|medium| matches!(medium, Medium::Device(..)) && !is_pool(medium));
        let pools = of_kind(is_pool);
        let ports =
            plan.ports.iter().flat_map(|port| port.group.as_deref().into_iter().chain([port.name.as_str()]));
        let modules = plan.modules.iter().map(|module| module.name.as_str());
        let measures = plan.measures.iter().map(|(name, _)| name.as_str());
        let none = Sizes::new();
        let kinds = [
            (ElementKind::Processor, with_groups(processors, &plan.groups.processors), OF_PROCESSORS),
            (ElementKind::Device, with_groups(devices, &none), OF_DEVICES),
            (ElementKind::Port, with_groups(ports, &none), OF_PORTS),
            (ElementKind::Pool, with_groups(pools, &none), OF_POOLS),
            (ElementKind::Module, with_groups(modules, &plan.groups.modules), OF_MODULES),
        ];
        let mut names = BTreeMap::new();
        let mut add = |name: String| {
            let base = name.strip_suffix(LONGEST).unwrap_or(&name);
            if let Some(subject) = model.subject(base) {
                let unit = unit_in_expressions(subject.unit);
                names.insert(name, unit);
            }
        };
        for (kind, elements, quantities) in kinds {
            for (element, what) in
                elements.iter().flat_map(|element| quantities.iter().map(move |what| (element, what)))
            {
                let name = format!("{}.{element}.{what}", kind.word());
                if kind == ElementKind::Module && TIMES.contains(what) {
                    add(format!("{name}{LONGEST}"));
                }
                add(name);
            }
        }
        for measure in with_groups(measures, &plan.groups.measures) {
            for what in of_measure(model.measure_named(&measure)) {
                add(format!("measure.{measure}{what}"));
            }
        }
        Names(names)
    }

    /// The unit in which an expression has it; none if runs have no such quantity.
    pub(super) fn unit(&self, name: &str) -> Option<&'static str> {
        self.0.get(name).copied()
    }

    pub(super) fn nearest(&self, name: &str) -> Option<String> {
        nearest(name, self.0.keys().map(String::as_str))
    }
}

fn is_pool(medium: &Medium) -> bool {
    matches!(medium, Medium::Device(DeviceModel::Pool(_), _))
}

/// What there is of a measure, as it stands behind its name.
fn of_measure(measure: Option<&Measure>) -> &'static [&'static str] {
    match measure {
        None => &[],
        Some(Measure::Throughput { .. }) => &[""],
        Some(Measure::Time { .. } | Measure::Interval { .. }) => &["", ".median", ".p99", LONGEST],
        Some(Measure::Request { .. }) => &["", ".median", ".p90", ".p99", LONGEST, ".count", ".late"],
    }
}

fn with_groups<'a>(elements: impl Iterator<Item = &'a str>, groups: &Sizes) -> BTreeSet<String> {
    let mut all: BTreeSet<String> = elements.map(str::to_owned).collect();
    for (group, size) in groups {
        all.insert(group.clone());
        all.extend(members(group, *size));
    }
    all
}

/// What is counted, and what is a share, is a number.
fn unit_in_expressions(unit: &'static str) -> &'static str {
    match unit {
        "s" | "B" | "B/s" => unit,
        "1/s" => "Hz",
        _ => "",
    }
}

/// What a run has, in base units.
pub(super) fn values(run: &RunResult) -> BTreeMap<String, f64> {
    let mut values = run.quantities();
    let mut add = |name: String, tally: &Tally| values.extend(tally.largest().map(|largest| (name, largest)));
    for (name, module) in &run.modules {
        let tallies = [&module.waiting, &module.response, &module.interval];
        for (what, tally) in TIMES.iter().zip(tallies) {
            add(format!("module.{name}.{what}{LONGEST}"), tally);
        }
    }
    for (name, measure) in &run.measures {
        if let MeasureResult::Times { tally, .. } | MeasureResult::Requests { tally, .. } = measure {
            add(format!("measure.{name}{LONGEST}"), tally);
        }
    }
    values
}
