//! One run, told to a viewer: which module has which processor, what devices carry, what waits where.
//!
//! Looks at the run after each event. What happens at one instant of simulated time is told as what it comes to: a module that
//! takes no time is a mark, not a slice.

mod counter;
mod device;
mod flow;
mod port;

use crate::build::Names;
use crate::model::Model;
use crate::plan::{Plan, PlannedModule};
use crate::problem::ModelError;
use crate::result::RunResult;
use crate::run::{ENDED, Observer, STARTED};
use core::fmt;
use counter::Counter;
use device::DeviceLine;
use flow::Flows;
use port::PortLine;
use quintet_contract::NodeId;
use quintet_perfetto::Track;
use quintet_simulate::{Mark, Picos, ProcessorId, Simulation};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// Why there is no trace.
#[derive(Debug)]
pub enum TraceError {
    /// Everything that is wrong with the model.
    Model(ModelError),
    /// What was told the trace cannot take it.
    Write(io::Error),
    /// The run was stopped.
    Stopped,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceError::Model(error) => error.fmt(f),
            TraceError::Write(error) => error.fmt(f),
            TraceError::Stopped => f.write_str("the run was stopped"),
        }
    }
}

impl core::error::Error for TraceError {}

impl Model {
    /// Runs it once, and writes what happens as a trace for Perfetto (<https://ui.perfetto.dev>): times in nanoseconds since
    /// the start, warm-up included. Devices of kind `link` have no track, as they are never busy; their messages are arrows. Each port of a
    /// network has one, once it has sent.
    ///
    /// # Errors
    /// Everything that is wrong with the model; a file that cannot be written; once `stop` is true, that it was stopped.
    pub fn trace(
        &self,
        seed: u64,
        to: &mut dyn io::Write,
        stop: &AtomicBool,
    ) -> Result<RunResult, TraceError> {
        let plan = self.plan().map_err(TraceError::Model)?;
        // A simulation's elements have the same names each time.
        let (_, names) = plan.build(seed, &[]);
        let mut tracer = Tracer::new(&plan, &names, Perfetto::new(to), stop);
        let result = plan.run(seed, &mut tracer);
        if let Some(result) = &result {
            tracer.close(result.simulated);
        }
        tracer.trace.finish().map_err(TraceError::Write)?;
        result.ok_or(TraceError::Stopped)
    }
}

/// A trace on its way into a file.
type Perfetto<'a> = quintet_perfetto::Perfetto<&'a mut dyn io::Write>;

/// Traces count nanoseconds.
fn ns(at: Picos) -> u64 {
    at.0 / 1_000
}

struct Tracer<'a> {
    trace: Perfetto<'a>,
    stop: &'a AtomicBool,
    processors: Vec<ProcessorLine>,
    /// Devices, networks and pools.
    devices: Vec<DeviceLine<'a>>,
    ports: Vec<PortLine<'a>>,
    /// The node of each is one more than its place.
    modules: Vec<ModuleLine<'a>>,
    /// The last message that was told.
    ticket: u64,
    flows: Flows<'a>,
}

struct ProcessorLine {
    id: ProcessorId,
    track: Track,
    /// The module that is shown on it.
    shown: Option<NodeId>,
    /// Which module began an activation on it last, and when.
    started: Option<(NodeId, Picos)>,
    /// Whether an activation that took time ended on it since the last look.
    ended: bool,
}

struct ModuleLine<'a> {
    name: &'a str,
    /// That of its processor.
    track: Track,
    inputs: Counter,
}

impl<'a> Tracer<'a> {
    fn new(plan: &'a Plan, names: &Names, mut trace: Perfetto<'a>, stop: &'a AtomicBool) -> Tracer<'a> {
        let group = trace.track("processors", None);
        let mut processors = Vec::new();
        let mut tracks = Vec::new();
        for planned in &plan.processors {
            let track = trace.track(&planned.name, Some(group));
            tracks.push(track);
            for (number, id) in names.processors.get(&planned.name).into_iter().flatten().enumerate() {
                let track = match planned.cores {
                    1 => track,
                    _ => trace.track(&format!("{} core {}", planned.name, number + 1), Some(track)),
                };
                processors.push(ProcessorLine { id: *id, track, shown: None, started: None, ended: false });
            }
        }
        let carries = !names.devices.is_empty() || !names.pools.is_empty();
        let group = carries.then(|| trace.track("devices", None));
        let mut devices = Vec::new();
        let mut ports = Vec::new();
        for (place, ((name, _), stations)) in plan.devices.iter().zip(&plan.station_names).enumerate() {
            let Some(id) = names.devices.get(name).or_else(|| names.pools.get(name)) else { continue };
            let line = DeviceLine::new(name, *id, stations, group, &mut trace);
            let own = plan.ports.iter().filter(|port| port.device == place);
            ports.extend(own.map(|port| PortLine::new(&port.name, *id, port.index, line.track)));
            devices.push(line);
        }
        let module = |module: &'a PlannedModule| {
            let waiting = format!("{} waiting", module.name);
            ModuleLine {
                name: &module.name,
                track: tracks[module.processor],
                inputs: Counter::new(waiting, "inputs", tracks[module.processor]),
            }
        };
        let modules = plan.modules.iter().map(module).collect();
        let flows = Flows::new(&plan.messages);
        Tracer { trace, stop, processors, devices, ports, modules, ticket: 0, flows }
    }

    /// What goes on at the end ends there.
    fn close(&mut self, at: Picos) {
        for processor in self.processors.iter().filter(|processor| processor.shown.is_some()) {
            self.trace.end(ns(at), processor.track);
        }
        self.devices.iter().for_each(|device| device.close(at, &mut self.trace));
        self.ports.iter().for_each(|port| port.close(at, &mut self.trace));
    }

    fn look_at_processors(&mut self, run: &Simulation) {
        let now = run.clock();
        for line in &mut self.processors {
            let running = run.running(line.id);
            let place = |id: NodeId| usize::from(id.0).wrapping_sub(1);
            if running == line.shown && !std::mem::take(&mut line.ended) {
                continue;
            }
            if line.shown.is_some() {
                self.trace.end(ns(now), line.track);
            }
            if let Some(module) = running.and_then(|running| self.modules.get(place(running))) {
                self.trace.begin(ns(now), line.track, module.name);
            }
            line.shown = running;
        }
        for (node, module) in (1..).zip(&mut self.modules) {
            module.inputs.show(now, run.waiting_inputs(NodeId(node)) as u64, &mut self.trace);
        }
    }

    fn look_at_devices(&mut self, run: &Simulation) {
        for message in run.messages_after(self.ticket) {
            self.ticket = message.ticket;
            if let Some(device) = self.devices.iter().find(|device| device.id == message.device) {
                self.flows.begin(run.clock(), message, &self.modules, &mut self.trace);
                device.tell(run.clock(), message, &mut self.trace);
            }
        }
        self.flows.look(run.clock(), &self.modules, &mut self.trace);
        for device in &mut self.devices {
            device.look(run, &mut self.trace);
        }
        for port in &mut self.ports {
            port.look(run, &mut self.trace);
        }
    }
}

impl Observer for Tracer<'_> {
    const BURST: u64 = 1;

    fn begin(&mut self, run: &mut Simulation) {
        run.keep_settled();
    }

    fn step(&mut self, run: &mut Simulation) -> bool {
        let goes_on = run.step();
        self.flows.settled.extend(run.take_settled());
        self.flows.passed.extend(run.take_passed());
        goes_on
    }

    fn mark(&mut self, mark: &Mark) {
        let module = self.modules.get(usize::from(mark.node.0).wrapping_sub(1));
        let line = self.processors.iter_mut().find(|line| line.id == mark.on);
        let Some((module, line)) = module.zip(line) else { return };
        match mark.number {
            STARTED => line.started = Some((mark.node, mark.at)),
            ENDED if line.started == Some((mark.node, mark.at)) => {
                self.trace.instant(ns(mark.at), line.track, module.name, &[]);
            }
            ENDED => line.ended = true,
            _ => {}
        }
    }

    fn look(&mut self, run: &Simulation) -> bool {
        if run.next_at().is_none_or(|next| next > run.clock()) {
            self.look_at_processors(run);
            self.look_at_devices(run);
        }
        !self.trace.has_failed() && !self.stop.load(Ordering::Relaxed)
    }
}
