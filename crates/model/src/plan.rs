//! A model that was checked: everything as numbers and indices, ready to be built.

use crate::check::Checks;
use crate::group::Groups;
use crate::model::{Edge, Model};
use crate::problem::{ModelError, Problem};
use crate::resolve::{Resolved, resolve};
use quintet_simulate::device::DeviceModel;
use quintet_simulate::{Costs, LinkModel, MessageType, ModuleSpec, Picos, ProcessorModel, Way};

/// A checked model. Elements are in the order of their names.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) end: Option<Picos>,
    pub(crate) warm_up: Picos,
    pub(crate) event_limit: u64,
    pub(crate) processors: Vec<PlannedProcessor>,
    /// Devices, behind them networks, and behind those pools.
    pub(crate) devices: Vec<(String, Medium)>,
    /// What the stations of each device are called.
    pub(crate) station_names: Vec<Vec<String>>,
    pub(crate) ports: Vec<PlannedPort>,
    pub(crate) modules: Vec<PlannedModule>,
    pub(crate) routes: Vec<Route>,
    pub(crate) measures: Vec<(String, PlannedMeasure)>,
    /// The names of all messages that are waited for: their index is their number.
    pub(crate) messages: Vec<String>,
    /// What elements belong together.
    pub(crate) groups: Groups,
}

#[derive(Debug)]
pub(crate) struct PlannedProcessor {
    pub(crate) name: String,
    /// How many there are of it under this name.
    pub(crate) cores: usize,
    /// Each of them.
    pub(crate) model: ProcessorModel,
    /// The names of its instructions, by their stages.
    pub(crate) instructions: Vec<String>,
}

/// What carries messages.
#[derive(Clone, Debug)]
pub(crate) enum Medium {
    /// What it is, and how many messages of one way it may have at once.
    Device(DeviceModel, usize),
    Link(LinkModel),
}

/// One direction of a link of a network.
#[derive(Debug)]
pub(crate) struct PlannedPort {
    pub(crate) name: String,
    /// The name of what it is one of.
    pub(crate) group: Option<String>,
    /// Which of the devices the network is.
    pub(crate) device: usize,
    /// Which of its ports this is.
    pub(crate) index: usize,
}

#[derive(Debug)]
pub(crate) struct PlannedModule {
    pub(crate) name: String,
    pub(crate) processor: usize,
    pub(crate) priority: u8,
    pub(crate) spec: ModuleSpec,
    pub(crate) costs: Costs,
}

/// A way between two modules, both directions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Route {
    pub(crate) between: (usize, usize),
    /// The device and the two stations; none: a link without delay.
    pub(crate) through: Option<(usize, u16, u16)>,
    /// Which of their ways it is, besides the first.
    pub(crate) way: Option<Way>,
}

#[derive(Clone, Debug)]
pub(crate) enum PlannedMeasure {
    Time { from: (usize, Edge), to: (usize, Edge) },
    Throughput { of: usize, bytes: Option<f64> },
    Interval { of: usize },
    Request { of: usize, message: Option<MessageType> },
}

impl Model {
    /// Whether it can run.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn check(&self) -> Result<(), ModelError> {
        self.plan().map(|_| ())
    }

    /// What is strange about it, though it can run: a processor without modules, a device that carries nothing, an
    /// instruction that nobody executes.
    #[must_use]
    pub fn warnings(&self) -> Vec<Problem> {
        ModelError::new(resolve(self).warnings).problems
    }

    pub(crate) fn plan(&self) -> Result<Plan, ModelError> {
        self.planned().map(|(plan, _)| plan)
    }

    /// The same with what the model states about its runs.
    pub(crate) fn planned(&self) -> Result<(Plan, Checks), ModelError> {
        let Resolved { plan, problems, parameters, .. } = resolve(self);
        if !problems.is_empty() {
            return Err(ModelError::new(problems));
        }
        let checks = Checks::of(self, &plan, &parameters).map_err(ModelError::new)?;
        Ok((plan, checks))
    }
}

impl Plan {
    /// Whether what happens then is measured. The instant at which the warm-up ends is part of it, as the last one is part
    /// of the measured time; without a warm-up the first one is, too.
    pub(crate) fn measures_at(&self, at: Picos) -> bool {
        at > self.warm_up || self.warm_up == Picos::ZERO
    }
}
