//! A model: what it consists of, as a file or a program describes it. Nothing is checked here: [`Model::check`] does.

use crate::action::Action;
use crate::nearest::nearest;
use crate::network::Network;
use crate::pool::Pool;
use crate::problem::{ModelError, Problem, ProblemKind};
use crate::quantity::{Draw, Quantity};
use quintet_simulate::device::Class;
use std::collections::{BTreeMap, BTreeSet};

/// The value of a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// A quantity, or a word.
    Text(Quantity),
    /// Yes or no.
    Switch(bool),
    /// Several quantities.
    List(Vec<Quantity>),
}

impl<T: Into<Quantity>> From<T> for Value {
    fn from(value: T) -> Value {
        Value::Text(value.into())
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Switch(value)
    }
}

/// Values by key. `docs/models.md` lists the keys.
pub(crate) type Attributes = BTreeMap<String, Value>;

/// A processing element.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Processor {
    pub(crate) attributes: Attributes,
    pub(crate) instructions: BTreeMap<String, Draw>,
}

impl Processor {
    /// One whose cycle takes a picosecond, without instructions.
    #[must_use]
    pub fn new() -> Processor {
        Processor::default()
    }

    /// Sets a key of `[processor.NAME]`.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Processor {
        self.attributes.insert(key.to_owned(), value.into());
        self
    }

    /// Adds an instruction to the repertoire: its cycles, or its time.
    #[must_use]
    pub fn instruction(mut self, name: &str, cost: impl Into<Draw>) -> Processor {
        self.instructions.insert(name.to_owned(), cost.into());
        self
    }
}

/// A transfer device.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Device {
    pub(crate) kind: String,
    pub(crate) stations: Vec<String>,
    pub(crate) attributes: Attributes,
}

impl Device {
    /// A device of this kind (`"bus"`, `"csma-cd"`, ...) to which these processors are connected.
    #[must_use]
    pub fn new(kind: &str, stations: &[&str]) -> Device {
        let stations = stations.iter().map(|station| (*station).to_owned()).collect();
        Device { kind: kind.to_owned(), stations, attributes: Attributes::new() }
    }

    /// Sets a key of `[device.NAME]`.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Device {
        self.attributes.insert(key.to_owned(), value.into());
        self
    }
}

/// A modelled program.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Module {
    pub(crate) on: String,
    pub(crate) count: Option<Quantity>,
    pub(crate) start: Option<Draw>,
    pub(crate) every: Option<Draw>,
    pub(crate) limit: Option<Quantity>,
    pub(crate) waits_for: BTreeMap<String, Quantity>,
    pub(crate) after: Vec<String>,
    pub(crate) after_any: Vec<String>,
    pub(crate) actions: Vec<Action>,
    pub(crate) then: Vec<String>,
    pub(crate) then_one_of: BTreeMap<String, Quantity>,
    pub(crate) state: BTreeMap<String, Quantity>,
    pub(crate) priority: Option<Quantity>,
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

impl Module {
    /// One on this processor, without conditions and with nothing to do.
    #[must_use]
    pub fn on(processor: &str) -> Module {
        Module { on: processor.to_owned(), ..Module::default() }
    }

    /// So many of it on the processor, `NAME-1` to `NAME-COUNT`; on a group of processors there is one on each without that.
    #[must_use]
    pub fn count(mut self, count: impl Into<Quantity>) -> Module {
        self.count = Some(count.into());
        self
    }

    /// Runs by itself for the first time at this time.
    #[must_use]
    pub fn start(mut self, at: impl Into<Draw>) -> Module {
        self.start = Some(at.into());
        self
    }

    /// Runs by itself again and again, with this time between.
    #[must_use]
    pub fn every(mut self, gap: impl Into<Draw>) -> Module {
        self.every = Some(gap.into());
        self
    }

    /// Runs by itself so often at most.
    #[must_use]
    pub fn limit(mut self, times: impl Into<Quantity>) -> Module {
        self.limit = Some(times.into());
        self
    }

    /// Waits for so many messages of this name.
    #[must_use]
    pub fn waits_for(mut self, message: &str, count: impl Into<Quantity>) -> Module {
        self.waits_for.insert(message.to_owned(), count.into());
        self
    }

    /// Starts after all of these modules are done.
    #[must_use]
    pub fn after(mut self, modules: &[&str]) -> Module {
        self.after = owned(modules);
        self
    }

    /// Starts after each of these modules.
    #[must_use]
    pub fn after_any(mut self, modules: &[&str]) -> Module {
        self.after_any = owned(modules);
        self
    }

    /// Executes an instruction once.
    #[must_use]
    pub fn execute(self, instruction: &str) -> Module {
        self.action(Action::Execute { instruction: instruction.to_owned(), times: 1.0.into() })
    }

    /// Sends a message to a module on another processor.
    #[must_use]
    pub fn send(self, message: &str, to: &str, bytes: impl Into<Draw>, through: &str) -> Module {
        self.action(Action::Send {
            message: message.to_owned(),
            to: to.to_owned(),
            bytes: bytes.into(),
            through: Some(through.to_owned()),
            route: Vec::new(),
            times: 1.0.into(),
            class: Class::Asynchronous,
        })
    }

    /// Adds a step.
    #[must_use]
    pub fn action(mut self, action: Action) -> Module {
        self.actions.push(action);
        self
    }

    /// Starts these modules when it is done.
    #[must_use]
    pub fn then(mut self, modules: &[&str]) -> Module {
        self.then = owned(modules);
        self
    }

    /// Goes before modules of smaller priority on its processor: 0 to 255, 0 unless it is set.
    #[must_use]
    pub fn priority(mut self, priority: impl Into<Quantity>) -> Module {
        self.priority = Some(priority.into());
        self
    }

    /// Has a variable, which is this number at first and which its activations share.
    #[must_use]
    pub fn variable(mut self, name: &str, first: impl Into<Quantity>) -> Module {
        self.state.insert(name.to_owned(), first.into());
        self
    }

    /// Starts one of several modules when it is done, this one with this weight.
    #[must_use]
    pub fn or_then(mut self, module: &str, weight: impl Into<Quantity>) -> Module {
        self.then_one_of.insert(module.to_owned(), weight.into());
        self
    }
}

impl Module {
    /// Its actions, and those in them.
    pub(crate) fn all_actions(&self) -> impl Iterator<Item = &Action> {
        self.actions.iter().flat_map(Action::all)
    }

    /// Whether it waits for this message: to begin, or in its midst.
    pub(crate) fn awaits(&self, message: &str) -> bool {
        self.waits_for.contains_key(message) || self.messages_in_its_midst().any(|waited| waited == message)
    }

    /// The messages for which it waits in its midst.
    pub(crate) fn messages_in_its_midst(&self) -> impl Iterator<Item = &str> {
        self.all_actions().filter_map(|action| match action {
            Action::Wait { message, .. } => Some(message.as_str()),
            _ => None,
        })
    }
}

/// When something happens to a module: its activation begins, or ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Edge {
    /// It begins.
    Start,
    /// It is done.
    End,
}

/// What to measure besides the standard results.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Measure {
    /// The time from one module's event to another's, the k-th with the k-th.
    Time {
        /// `MODULE.start` or `MODULE.end`.
        from: String,
        /// `MODULE.start` or `MODULE.end`.
        to: String,
    },
    /// How much a module does in a second.
    Throughput {
        /// The module.
        of: String,
        /// What one activation counts for; none: it counts for one.
        bytes: Option<Quantity>,
    },
    /// The time between a module's ends.
    Interval {
        /// The module.
        of: String,
    },
    /// The time from when a module asks to when it goes on with the reply.
    Request {
        /// The module.
        of: String,
        /// The message by which it asks; none: any.
        message: Option<String>,
    },
}

/// A model: processors, devices, networks, pools, modules, and what to measure.
///
/// ```
/// use quintet_model::{Draw, Model, Module, Processor};
///
/// let model = Model::new("clock")
///     .with("end", "10 s")
///     .processor("cpu", Processor::new().instruction("tick", "1 ms"))
///     .module("ticking", Module::on("cpu").start("0 s").every("1 s").execute("tick"));
/// let result = model.run(1)?;
/// assert!((result.processors["cpu"].utilisation - 0.001).abs() < 1e-12);
/// # Ok::<(), quintet_model::ModelError>(())
/// ```
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Model {
    pub(crate) file: Option<String>,
    pub(crate) attributes: Attributes,
    pub(crate) parameters: BTreeMap<String, Quantity>,
    pub(crate) processors: BTreeMap<String, Processor>,
    pub(crate) devices: BTreeMap<String, Device>,
    pub(crate) networks: BTreeMap<String, Network>,
    pub(crate) pools: BTreeMap<String, Pool>,
    pub(crate) modules: BTreeMap<String, Module>,
    pub(crate) measures: BTreeMap<String, Measure>,
    /// If a driver has a part in its runs: the modules in whose places programs are.
    pub(crate) driven: Option<BTreeSet<String>>,
    /// Statements about its runs, see `check.rs`.
    pub(crate) checks: BTreeMap<String, Quantity>,
    /// The line of each key, if the model came from a file.
    pub(crate) lines: BTreeMap<String, usize>,
}

impl Model {
    /// An empty model.
    #[must_use]
    pub fn new(name: &str) -> Model {
        Model::default().with("name", name)
    }

    /// Sets a key of `[model]`. What a file said of it counts no more.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Model {
        self.attributes.insert(key.to_owned(), value.into());
        self.lines.remove(&format!("model.{key}"));
        self
    }

    /// Adds a parameter: a number, or an expression of others.
    #[must_use]
    pub fn parameter(mut self, name: &str, value: impl Into<Quantity>) -> Model {
        self.parameters.insert(name.to_owned(), value.into());
        self
    }

    /// Adds a processor.
    #[must_use]
    pub fn processor(mut self, name: &str, processor: Processor) -> Model {
        self.processors.insert(name.to_owned(), processor);
        self
    }

    /// Adds a device.
    #[must_use]
    pub fn device(mut self, name: &str, device: Device) -> Model {
        self.devices.insert(name.to_owned(), device);
        self
    }

    /// Adds a module.
    #[must_use]
    pub fn module(mut self, name: &str, module: Module) -> Model {
        self.modules.insert(name.to_owned(), module);
        self
    }

    /// Adds a measure.
    #[must_use]
    pub fn measure(mut self, name: &str, measure: Measure) -> Model {
        self.measures.insert(name.to_owned(), measure);
        self
    }

    /// The same model with other numbers for these parameters.
    ///
    /// # Errors
    /// A name that is no parameter.
    pub fn with_parameters(mut self, values: &[(&str, f64)]) -> Result<Model, ModelError> {
        let mut problems = Vec::new();
        for (name, value) in values {
            match self.parameters.get_mut(*name) {
                Some(parameter) => *parameter = (*value).into(),
                None => problems.push(Problem {
                    file: self.file.clone(),
                    line: None,
                    key: "parameters".to_owned(),
                    kind: ProblemKind::UnknownName {
                        what: "parameter",
                        name: (*name).to_owned(),
                        nearest: nearest(name, self.parameter_names()),
                    },
                }),
            }
        }
        if problems.is_empty() { Ok(self) } else { Err(ModelError::new(problems)) }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self.attributes.get("name") {
            Some(Value::Text(name)) => name.text(),
            _ => "",
        }
    }

    /// Whether it ends at some time; otherwise when nothing is left to do, or at its limit of events.
    #[must_use]
    pub fn has_end(&self) -> bool {
        self.attributes.contains_key("end")
    }

    /// The names of its parameters.
    pub fn parameter_names(&self) -> impl Iterator<Item = &str> {
        self.parameters.keys().map(String::as_str)
    }

    /// The names of its measures.
    pub fn measure_names(&self) -> impl Iterator<Item = &str> {
        self.measures.keys().map(String::as_str)
    }

    /// Whether a program is in the place of this module.
    pub(crate) fn is_program(&self, module: &str) -> bool {
        self.driven.as_ref().is_some_and(|programs| programs.contains(module))
    }

    /// The line of a key, or of the nearest table around it.
    pub(crate) fn line(&self, key: &str) -> Option<usize> {
        let mut key = key;
        loop {
            if let Some(line) = self.lines.get(key) {
                return Some(*line);
            }
            key = &key[..key.rfind(['.', '['])?];
        }
    }
}
