//! One run, told to a viewer: which module has which processor, what devices carry, what waits where.
//!
//! Looks at the run after each event. What happens at one instant of simulated time is told as what it comes to: a module that
//! takes no time is a mark, not a slice.

mod perfetto;

use crate::build::Names;
use crate::model::Model;
use crate::plan::{Plan, PlannedModule};
use crate::problem::ModelError;
use crate::result::RunResult;
use crate::run::{ENDED, Observer, STARTED};
use core::fmt;
use perfetto::{Detail, Perfetto, Track};
use quintet_contract::NodeId;
use quintet_simulate::{DeviceId, DeviceLoad, Mark, MessageUnderWay, Picos, ProcessorId, Simulation};
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
    /// the start, warm-up included. Devices of kind `link` have no track: they are never busy.
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
        let (_, names) = plan.build(seed);
        let mut tracer = Tracer::new(self, &plan, &names, Perfetto::new(to), stop);
        let result = plan.run(seed, &mut tracer);
        if let Some(result) = &result {
            tracer.close(result.simulated);
        }
        tracer.trace.finish().map_err(TraceError::Write)?;
        result.ok_or(TraceError::Stopped)
    }
}

struct Tracer<'a> {
    trace: Perfetto<'a>,
    stop: &'a AtomicBool,
    processors: Vec<ProcessorLine>,
    devices: Vec<DeviceLine<'a>>,
    /// The node of each is one more than its place.
    modules: Vec<ModuleLine<'a>>,
    /// The last message that was told.
    ticket: u64,
}

struct ProcessorLine {
    id: ProcessorId,
    track: Track,
    /// The module that is shown on it.
    shown: Option<NodeId>,
}

struct ModuleLine<'a> {
    name: &'a str,
    processor: Track,
    inputs: Counter,
    started: Picos,
    /// Whether an activation that took time ended since the last look.
    ended: bool,
}

struct DeviceLine<'a> {
    id: DeviceId,
    stations: &'a [String],
    track: Track,
    messages: Track,
    shown: DeviceLoad,
    waiting: Counter,
    buffered: Counter,
    settled: Settled,
}

/// A counter's track, which is there once there is something to tell.
struct Counter {
    name: String,
    unit: &'static str,
    parent: Track,
    track: Option<Track>,
    shown: u64,
}

/// What became of a device's messages so far.
#[derive(Clone, Copy, Default)]
struct Settled {
    /// Since when they are counted.
    since: Picos,
    delivered: u64,
    dropped: u64,
}

impl<'a> Tracer<'a> {
    fn new(
        model: &'a Model,
        plan: &'a Plan,
        names: &Names,
        mut trace: Perfetto<'a>,
        stop: &'a AtomicBool,
    ) -> Tracer<'a> {
        let group = trace.track("processors", None);
        let mut processors = Vec::new();
        for (name, _) in &plan.processors {
            let track = trace.track(name, Some(group));
            processors.extend(names.processors.get(name).map(|id| ProcessorLine {
                id: *id,
                track,
                shown: None,
            }));
        }
        let group = (!names.devices.is_empty()).then(|| trace.track("devices", None));
        let mut devices = Vec::new();
        for (name, id) in &names.devices {
            let stations = model.devices.get(name).map_or(&[][..], |device| &device.stations);
            devices.push(DeviceLine::new(name, *id, stations, group, &mut trace));
        }
        let module = |module: &'a PlannedModule| {
            let processor = processors[module.processor].track;
            ModuleLine {
                name: &module.name,
                processor,
                inputs: Counter::new(format!("{} waiting", module.name), "inputs", processor),
                started: Picos::NEVER,
                ended: false,
            }
        };
        let modules = plan.modules.iter().map(module).collect();
        Tracer { trace, stop, processors, devices, modules, ticket: 0 }
    }

    /// What goes on at the end ends there.
    fn close(&mut self, at: Picos) {
        for processor in self.processors.iter().filter(|processor| processor.shown.is_some()) {
            self.trace.end(at, processor.track);
        }
        for device in self.devices.iter().filter(|device| device.shown.slice().is_some()) {
            self.trace.end(at, device.track);
        }
    }

    fn look_at_processors(&mut self, run: &Simulation) {
        let now = run.clock();
        for line in &mut self.processors {
            let running = run.running(line.id);
            let place = |id: NodeId| usize::from(id.0).wrapping_sub(1);
            let ended = line.shown.and_then(|shown| self.modules.get(place(shown))).is_some_and(|m| m.ended);
            if running == line.shown && !ended {
                continue;
            }
            if line.shown.is_some() {
                self.trace.end(now, line.track);
            }
            if let Some(module) = running.and_then(|running| self.modules.get(place(running))) {
                self.trace.begin(now, line.track, module.name);
            }
            line.shown = running;
        }
        for (node, module) in (1..).zip(&mut self.modules) {
            module.ended = false;
            module.inputs.show(now, run.waiting_inputs(NodeId(node)) as u64, &mut self.trace);
        }
    }

    fn look_at_devices(&mut self, run: &Simulation) {
        for message in run.messages_after(self.ticket) {
            self.ticket = message.ticket;
            if let Some(device) = self.devices.iter().find(|device| device.id == message.device) {
                device.tell(run.clock(), message, &mut self.trace);
            }
        }
        for device in &mut self.devices {
            device.look(run, &mut self.trace);
        }
    }
}

impl Observer for Tracer<'_> {
    const BURST: u64 = 1;

    fn mark(&mut self, mark: &Mark) {
        let Some(module) = self.modules.get_mut(usize::from(mark.node.0).wrapping_sub(1)) else { return };
        match mark.number {
            STARTED => module.started = mark.at,
            ENDED if module.started == mark.at => {
                self.trace.instant(mark.at, module.processor, module.name, &[]);
            }
            ENDED => module.ended = true,
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

impl<'a> DeviceLine<'a> {
    fn new(
        name: &str,
        id: DeviceId,
        stations: &'a [String],
        group: Option<Track>,
        trace: &mut Perfetto<'_>,
    ) -> DeviceLine<'a> {
        let track = trace.track(name, group);
        let messages = trace.track(&format!("{name} messages"), Some(track));
        DeviceLine {
            id,
            stations,
            track,
            messages,
            shown: DeviceLoad::default(),
            waiting: Counter::new(format!("{name} waiting"), "messages", track),
            buffered: Counter::new(format!("{name} buffered"), "bytes", track),
            settled: Settled::default(),
        }
    }

    fn station(&self, index: u16) -> &str {
        self.stations.get(usize::from(index)).map_or("", String::as_str)
    }

    /// A message was given to the device.
    fn tell(&self, at: Picos, message: MessageUnderWay, trace: &mut Perfetto<'_>) {
        let details = [
            ("from", Detail::Text(self.station(message.from.0))),
            ("to", Detail::Text(self.station(message.to.0))),
            ("bytes", Detail::Number(message.bytes)),
            ("number", Detail::Number(message.ticket)),
        ];
        trace.instant(at, self.messages, "sent", &details);
    }

    fn look(&mut self, run: &Simulation, trace: &mut Perfetto<'_>) {
        let (now, load) = (run.clock(), run.device_load(self.id));
        if load.slice() != self.shown.slice() {
            if self.shown.slice().is_some() {
                trace.end(now, self.track);
            }
            if let Some(name) = load.slice() {
                trace.begin(now, self.track, &name);
            }
        }
        self.shown = load;
        self.waiting.show(now, whole(load.waiting), trace);
        self.buffered.show(now, whole(load.buffered), trace);
        let found = run.device_statistics(self.id);
        let since = run.counting_since();
        let settled = Settled { since, delivered: found.delivered, dropped: found.dropped };
        if since != self.settled.since {
            self.settled = Settled { since, ..Settled::default() };
        }
        for (name, count) in [
            ("delivered", settled.delivered - self.settled.delivered),
            ("dropped", settled.dropped - self.settled.dropped),
        ] {
            if count > 0 {
                trace.instant(now, self.messages, name, &[("messages", Detail::Number(count))]);
            }
        }
        self.settled = settled;
    }
}

/// What the host counts in many bits is never so large.
fn whole(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

/// What is shown of a load.
trait Slice {
    /// None while the device is idle.
    fn slice(&self) -> Option<String>;
}

impl Slice for DeviceLoad {
    fn slice(&self) -> Option<String> {
        match (self.collides, self.carried) {
            (true, _) => Some("collision".to_owned()),
            (false, 0) => None,
            (false, 1) => Some("busy".to_owned()),
            (false, blocks) => Some(format!("busy, {blocks} blocks")),
        }
    }
}

impl Counter {
    fn new(name: String, unit: &'static str, parent: Track) -> Counter {
        Counter { name, unit, parent, track: None, shown: 0 }
    }

    fn show(&mut self, at: Picos, value: u64, trace: &mut Perfetto<'_>) {
        if value == self.shown {
            return;
        }
        let track = match self.track {
            Some(track) => track,
            None => {
                let track = trace.counter(&self.name, Some(self.parent), self.unit);
                trace.count(Picos::ZERO, track, 0);
                track
            }
        };
        self.track = Some(track);
        trace.count(at, track, value);
        self.shown = value;
    }
}
