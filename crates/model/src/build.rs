//! From a checked model to a simulation of it: every module is a node, from 1 on, with one instance.

use crate::driven::received_call;
use crate::model::Model;
use crate::plan::{Medium, Plan, PlannedProcessor, Route};
use crate::problem::ModelError;
use crate::resolve::address;
use quintet_contract::{Address, NodeId, Random, Span};
use quintet_simulate::device::{DeviceError, DeviceModel, Station};
use quintet_simulate::{DeviceId, Hosted, LinkModel, Module, ProcessorId, Program, Simulation};
use std::collections::BTreeMap;

/// The modules' streams of randomness; none of the simulator's own are there.
const STREAMS: u64 = 0xffff_fffc_0000_0000;

/// What the elements of a model are in its simulation.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Processors, each with its cores.
    pub processors: BTreeMap<String, Vec<ProcessorId>>,
    /// Devices and networks; devices of kind `link` have none.
    pub devices: BTreeMap<String, DeviceId>,
    /// Pools.
    pub pools: BTreeMap<String, DeviceId>,
    /// Ports of networks: `NETWORK.END.LINK`.
    pub ports: BTreeMap<String, (DeviceId, usize)>,
    /// Modules.
    pub modules: BTreeMap<String, NodeId>,
}

/// A device and the window of its ways, or the model of the links in its place.
type Carrier = Result<(DeviceId, usize), LinkModel>;

impl Model {
    /// A simulation that has not begun, and the names of what is in it.
    ///
    /// # Errors
    /// Everything that is wrong with the model.
    pub fn build(&self, seed: u64) -> Result<(Simulation, Names), ModelError> {
        Ok(self.plan()?.build(seed, &[]))
    }
}

impl Plan {
    /// `programs`: the indices of the modules in whose places programs are, in order; each calls for a message by what
    /// [`received_call`] says.
    pub(crate) fn build(&self, seed: u64, programs: &[usize]) -> (Simulation, Names) {
        let mut run = Simulation::new(seed);
        let mut names = Names::default();
        let mut cores =
            |of: &PlannedProcessor| (0..of.cores).map(|_| run.add_processor(of.model)).collect::<Vec<_>>();
        let processors: Vec<_> = self.processors.iter().map(&mut cores).collect();
        let by_name = |(of, cores): (&PlannedProcessor, &Vec<_>)| (of.name.clone(), cores.clone());
        names.processors = self.processors.iter().zip(&processors).map(by_name).collect();
        let carriers: Vec<_> = self.devices.iter().map(|(_, medium)| carrier(&mut run, medium)).collect();
        for ((name, medium), carrier) in self.devices.iter().zip(&carriers) {
            if let Ok((id, _)) = carrier {
                let is_pool = matches!(medium, Medium::Device(DeviceModel::Pool(_), _));
                let kind = if is_pool { &mut names.pools } else { &mut names.devices };
                kind.insert(name.clone(), *id);
            }
        }
        for port in &self.ports {
            if let Ok((id, _)) = &carriers[port.device] {
                names.ports.insert(port.name.clone(), (*id, port.index));
            }
        }
        for (index, module) in self.modules.iter().enumerate() {
            let at = address(index);
            let cores = &processors[module.processor];
            match programs.iter().position(|program| *program == index) {
                None => {
                    let random = Random::new(seed, STREAMS | u64::from(at.node.0));
                    install(&mut run, at, cores, Module::new(module.spec.clone(), random));
                    run.set_costs(at, module.costs.clone());
                }
                Some(number) => {
                    install(&mut run, at, cores, Program::new(at, received_call(number)));
                    run.set_costs(at, self.program_costs(module));
                }
            }
            run.prioritise(at.node, module.priority);
            names.modules.insert(module.name.clone(), at.node);
        }
        for route in &self.routes {
            join(&mut run, route, &carriers);
        }
        (run, names)
    }
}

/// Joins two modules as a route says.
fn join(run: &mut Simulation, route: &Route, carriers: &[Carrier]) {
    let undelayed = LinkModel {
        delay_min: Span(0),
        delay_max: Span(0),
        window_frames: usize::MAX,
        ..LinkModel::default()
    };
    let (a, b) = (address(route.between.0), address(route.between.1));
    let through = route.through.map(|(device, at_a, at_b)| (&carriers[device], at_a, at_b));
    match (through, route.way) {
        (None, None) => run.connect(a, b, undelayed),
        (None, Some(way)) => run.connect_beside(way, a, b, undelayed),
        (Some((Err(link), ..)), None) => run.connect(a, b, *link),
        (Some((Err(link), ..)), Some(way)) => run.connect_beside(way, a, b, *link),
        (Some((Ok((device, window)), at_a, at_b)), None) => {
            run.connect_through(*device, (a, Station(at_a)), (b, Station(at_b)));
            run.set_window(a.node, b.node, *window);
        }
        (Some((Ok((device, window)), at_a, at_b)), Some(way)) => {
            run.connect_through_beside(way, *device, (a, Station(at_a)), (b, Station(at_b)), *window);
        }
    }
}

fn install(run: &mut Simulation, at: Address, cores: &[ProcessorId], hosted: impl Hosted) {
    match cores {
        [only] => {
            run.place(at.node, *only);
            run.add(at, hosted);
        }
        cores => {
            run.spread(at.node, cores);
            run.add_parallel(at, cores.len(), hosted);
        }
    }
}

/// The device and the window of its ways, or the model of the links in its place.
fn carrier(run: &mut Simulation, medium: &Medium) -> Carrier {
    match medium {
        Medium::Link(model) => Err(*model),
        Medium::Device(model, window) => {
            let device: Result<_, DeviceError> = model.clone().build();
            let device = device.expect("the check of the model has checked the device");
            Ok((run.add_device(device), *window))
        }
    }
}
