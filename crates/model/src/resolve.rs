//! From a model as it was written to one that can be built, with everything that is wrong on the way.
//!
//! | file | holds |
//! | --- | --- |
//! | `values.rs` | quantities and distributions: units, dimensions, ranges |
//! | `groups.rs` | elements that stand for several, written out |
//! | `fields.rs` | the keys of one table, with their defaults |
//! | `devices.rs` | transfer devices |
//! | `networks.rs` | networks of switches and links |
//! | `pools.rs` | pools, and what uses them |
//! | `modules.rs`, `actions.rs`, `decisions.rs` | modules, what they do, and what they decide |
//! | `requests.rs` | who asks whom, and the ways of replies |
//! | `ways.rs` | how messages get from one module to another |
//! | `driven.rs` | programs in modules' places; what is computed for a driver |
//! | `structure.rs` | what starts what: modules that never start, cycles in which no time passes |

mod actions;
mod decisions;
mod devices;
mod driven;
mod fields;
mod groups;
mod modules;
mod networks;
mod pools;
mod requests;
mod structure;
mod values;
mod ways;

pub(crate) use driven::{parameters, timing};
pub(crate) use modules::address;

use crate::group::Groups;
use crate::keys::{self, LONGEST};
use crate::model::{Edge, Measure, Model};
use crate::nearest::nearest;
use crate::plan::{Plan, PlannedMeasure, PlannedProcessor};
use crate::problem::{Problem, ProblemKind};
use fields::Fields;
use groups::WrittenOut;
use networks::ResolvedNetwork;
use pools::ResolvedPool;
use quintet_simulate::device::RingParameters;
use quintet_simulate::{Costs, MessageType, Picos, ProcessorModel};
use std::collections::BTreeMap;
use ways::Ways;

/// What came of it.
pub(crate) struct Resolved {
    /// Means nothing if there are problems.
    pub(crate) plan: Plan,
    pub(crate) problems: Vec<Problem>,
    pub(crate) warnings: Vec<Problem>,
    pub(crate) parameters: BTreeMap<String, f64>,
}

/// What is known on the way.
struct Resolver<'a> {
    model: &'a Model,
    /// The key that was written, for each element that a group was written out to.
    origins: BTreeMap<String, String>,
    parameters: BTreeMap<String, f64>,
    /// The token rings, for the checks of what is sent through them.
    rings: BTreeMap<String, RingParameters>,
    networks: BTreeMap<String, ResolvedNetwork>,
    pools: BTreeMap<String, ResolvedPool>,
    /// By which ways modules reach each other, as far as is known.
    ways: Ways,
    problems: Vec<Problem>,
    warnings: Vec<Problem>,
}

/// Cores of all processors at most.
const MOST_CORES: usize = 200_000;

/// A processor and its repertoire, by its stages.
#[derive(Default)]
struct Host {
    cores: usize,
    model: ProcessorModel,
    instructions: Vec<String>,
    costs: Costs,
}

pub(crate) fn resolve(written: &Model) -> Resolved {
    let mut first = Resolver::with_parameters(written);
    let WrittenOut { mut model, groups, origins } = first.write_out();
    model.name_carriers();
    let Resolver { parameters, problems, warnings, .. } = first;
    Resolver { origins, parameters, problems, warnings, ..Resolver::of(&model) }.resolve(groups)
}

impl<'a> Resolver<'a> {
    /// Of a model of which nothing is known so far.
    fn of(model: &'a Model) -> Resolver<'a> {
        Resolver {
            model,
            origins: BTreeMap::new(),
            parameters: BTreeMap::new(),
            rings: BTreeMap::new(),
            networks: BTreeMap::new(),
            pools: BTreeMap::new(),
            ways: Ways::default(),
            problems: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Of one of which the parameters are known.
    fn with_parameters(model: &'a Model) -> Resolver<'a> {
        let mut resolver = Resolver::of(model);
        resolver.resolve_parameters();
        resolver
    }
}

impl Resolver<'_> {
    /// A model in which every element stands for itself.
    fn resolve(mut self, groups: Groups) -> Resolved {
        let model = self.model;
        let resolver = &mut self;
        let mut fields = Fields::new(resolver, &keys::MODEL, &model.attributes, "model");
        fields.check_keys(&["name"]);
        let end = fields.time("end");
        let warm_up = fields.time("warm_up").unwrap_or_default();
        let event_limit = fields.count("event_limit").unwrap_or(u64::MAX);
        if model.name().is_empty() {
            resolver.missing("model.name", "text");
        }
        if let Some(end) = end.filter(|&end| warm_up >= end && end > Picos::ZERO) {
            resolver.ends_within_warm_up(warm_up, end);
        }
        let hosts: Vec<_> = model.processors.keys().map(|name| resolver.resolve_processor(name)).collect();
        let devices: Vec<_> =
            model.devices.iter().map(|(name, device)| resolver.resolve_device(name, device)).collect();
        resolver.resolve_networks();
        resolver.resolve_pools();
        let (modules, routes) = resolver.resolve_modules(&hosts);
        let measures = model
            .measures
            .iter()
            .map(|(name, measure)| (name.clone(), resolver.resolve_measure(name, measure)));
        let measures = measures.collect();
        if model.modules.is_empty() && model.driven.is_none() {
            resolver.missing("module", "at least one module");
        }
        resolver.check_programs();
        resolver.check_structure(&modules, &hosts);
        resolver.find_idle_elements();
        resolver.check_cores(&hosts);
        let planned = |(name, host): (&String, Host)| PlannedProcessor {
            name: name.clone(),
            cores: host.cores,
            model: host.model,
            instructions: host.instructions,
        };
        let processors = model.processors.keys().zip(hosts).map(planned).collect();
        let ports = self.ports_of_switches(&devices).chain(self.planned_ports(devices.len())).collect();
        let stations = model.devices.values().map(|device| device.stations.clone());
        let of_networks = self.networks.values().map(ResolvedNetwork::station_names);
        let of_pools = self.pools.values().map(ResolvedPool::station_names);
        let station_names = stations.chain(of_networks).chain(of_pools).collect();
        let networks = std::mem::take(&mut self.networks);
        let networks = networks.into_iter().map(|(name, network)| (name, network.into_medium()));
        let pools = std::mem::take(&mut self.pools);
        let pools = pools.into_iter().map(|(name, pool)| (name, pool.into_medium()));
        let devices = model.devices.keys().cloned().zip(devices).chain(networks).chain(pools).collect();
        let messages = modules::messages(model).into_iter().map(str::to_owned).collect();
        let plan = Plan {
            end,
            warm_up,
            event_limit,
            processors,
            devices,
            station_names,
            ports,
            modules,
            routes,
            measures,
            messages,
            groups,
        };
        Resolved { plan, problems: self.problems, warnings: self.warnings, parameters: self.parameters }
    }

    fn placed(&self, key: &str, kind: ProblemKind) -> Problem {
        let key = self.as_written(key);
        Problem { file: self.model.file.clone(), line: self.model.line(&key), key, kind }
    }

    /// The key that was written: that of the group, for one of its elements.
    fn as_written(&self, key: &str) -> String {
        let ends = key.match_indices(['.', '[']).map(|(at, _)| at).chain([key.len()]);
        let (mut longest, mut written) = (0, String::new());
        for end in ends {
            if let Some(origin) = self.origins.get(&key[..end]) {
                (longest, written) = (end, origin.clone());
            }
        }
        written.push_str(&key[longest..]);
        written
    }

    fn problem(&mut self, key: &str, kind: ProblemKind) {
        let problem = self.placed(key, kind);
        if is_news(&problem, key, &self.problems) {
            self.problems.push(problem);
        }
    }

    /// The blame is the end's where a file says the warm-up and something else the end.
    fn ends_within_warm_up(&mut self, warm_up: Picos, end: Picos) {
        let is_written = |key: &str| self.model.lines.contains_key(key);
        if is_written("model.warm_up") && !is_written("model.end") {
            let (found, expected) =
                (end.to_string(), format!("a time after the warm-up, which ends at {warm_up}"));
            let kind = ProblemKind::OutOfRange { found, expected };
            return self.problems.push(Problem { file: None, line: None, key: "end".to_owned(), kind });
        }
        let (found, expected) = (warm_up.to_string(), format!("a time before the end, which is at {end}"));
        self.problem("model.warm_up", ProblemKind::OutOfRange { found, expected });
    }

    fn warning(&mut self, key: &str, kind: ProblemKind) {
        let problem = self.placed(key, kind);
        if is_news(&problem, key, &self.warnings) {
            self.warnings.push(problem);
        }
    }

    fn missing(&mut self, key: &str, expected: &str) {
        self.problem(key, ProblemKind::Missing { expected: expected.to_owned() });
    }

    fn contradiction(&mut self, key: &str, text: String) {
        self.problem(key, ProblemKind::Contradiction { text });
    }

    /// The index of a name among the names of its kind; none with a problem reported.
    fn index<T>(
        &mut self,
        key: &str,
        what: &'static str,
        name: &str,
        among: &BTreeMap<String, T>,
    ) -> Option<usize> {
        let found = among.keys().position(|known| known == name);
        if found.is_none() {
            let nearest = nearest(name, among.keys().map(String::as_str));
            self.problem(key, ProblemKind::UnknownName { what, name: name.to_owned(), nearest });
        }
        found
    }

    fn resolve_processor(&mut self, name: &str) -> Host {
        let model = self.model;
        let Some(processor) = model.processors.get(name) else {
            return Host::default();
        };
        let path = format!("processor.{name}");
        let mut fields = Fields::new(self, &keys::PROCESSOR, &processor.attributes, &path);
        fields.check_keys(&[]);
        let cores = fields.count("cores").map_or(1, |cores| usize::try_from(cores).unwrap_or(1));
        let cycle = fields.cycle(1.0);
        let host = ProcessorModel {
            cycle,
            time_slice: fields.time("time_slice"),
            input_controller: fields.switch("input_controller"),
            output_controller: fields.switch("output_controller"),
            io_setup: fields.time("io_setup").unwrap_or_default(),
            interrupt: fields.time("interrupt").unwrap_or_default(),
            preempts: fields.word("preempt") == 1,
            queue_limit: fields
                .count("queue_limit")
                .map_or(usize::MAX, |count| usize::try_from(count).unwrap_or(usize::MAX)),
        };
        let costs = self.resolve_instructions(&path, &processor.instructions, cycle);
        Host { cores, model: host, instructions: processor.instructions.keys().cloned().collect(), costs }
    }

    /// Each core is a processor of the simulation.
    fn check_cores(&mut self, hosts: &[Host]) {
        let all: usize = hosts.iter().map(|host| host.cores).sum();
        if all > MOST_CORES {
            let (found, expected) = (format!("{all} cores"), format!("at most {MOST_CORES} in all"));
            self.problem("processor", ProblemKind::OutOfRange { found, expected });
        }
    }

    fn resolve_measure(&mut self, name: &str, measure: &Measure) -> PlannedMeasure {
        let path = format!("measure.{name}");
        match measure {
            Measure::Time { from, to } => PlannedMeasure::Time {
                from: self.resolve_edge(&format!("{path}.time.from"), from),
                to: self.resolve_edge(&format!("{path}.time.to"), to),
            },
            Measure::Throughput { of, bytes } => {
                let key = format!("{path}.throughput");
                let of = self.index(&format!("{key}.of"), "module", of, &self.model.modules).unwrap_or(0);
                let key = format!("{key}.bytes");
                let bytes = bytes.as_ref().and_then(|bytes| {
                    let value = self.evaluate(&key, bytes, crate::Dimension::DATA)?;
                    self.in_range(
                        &key,
                        bytes.text(),
                        value,
                        keys::Takes::Quantity(crate::Dimension::DATA, 0.0, 1e15),
                    )
                });
                PlannedMeasure::Throughput { of, bytes }
            }
            Measure::Request { of, message } => {
                let key = format!("{path}.request");
                let of = self.index(&format!("{key}.of"), "module", of, &self.model.modules).unwrap_or(0);
                let message = message.as_ref().map(|message| self.asked(&format!("{key}.ask"), of, message));
                PlannedMeasure::Request { of, message }
            }
            Measure::Interval { of } => {
                let key = format!("{path}.interval.of");
                PlannedMeasure::Interval {
                    of: self.index(&key, "module", of, &self.model.modules).unwrap_or(0),
                }
            }
        }
    }

    /// The number of a message by which a module asks.
    fn asked(&mut self, key: &str, of: usize, message: &str) -> MessageType {
        let model = self.model;
        let asks = |action: &crate::Action| matches!(action, crate::Action::Ask { message: asked, .. } if asked == message);
        let module = model.modules.values().nth(of);
        if !module.is_some_and(|module| module.all_actions().any(asks)) {
            let text = format!("the module does not ask by {message}");
            self.problem(key, ProblemKind::Disconnected { text });
        }
        let number = modules::messages(model).iter().position(|known| *known == message);
        MessageType(number.and_then(|number| u32::try_from(number).ok()).unwrap_or(u32::MAX))
    }

    /// `MODULE.start` or `MODULE.end`.
    fn resolve_edge(&mut self, key: &str, text: &str) -> (usize, Edge) {
        let edge = match text.rsplit_once('.') {
            Some((module, "start")) => Some((module, Edge::Start)),
            Some((module, "end")) => Some((module, Edge::End)),
            _ => None,
        };
        let Some((module, edge)) = edge else {
            let (found, expected) = (format!("\"{text}\""), "MODULE.start or MODULE.end".to_owned());
            self.problem(key, ProblemKind::WrongKind { found, expected });
            return (0, Edge::Start);
        };
        (self.index(key, "module", module, &self.model.modules).unwrap_or(0), edge)
    }
}

/// A time in picoseconds; those that are checked are below [`LONGEST`].
fn picos(seconds: f64) -> Picos {
    Picos::from_seconds(seconds.clamp(0.0, LONGEST))
}

/// Whether it was not said before of another element of the same group. `key` is where it was found.
fn is_news(problem: &Problem, key: &str, said: &[Problem]) -> bool {
    let kind = |problem: &Problem| core::mem::discriminant(&problem.kind);
    problem.key == key || !said.iter().any(|other| other.key == problem.key && kind(other) == kind(problem))
}
