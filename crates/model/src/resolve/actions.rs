//! What modules do.

use super::modules::{Messages, address};
use super::{Host, Resolver};
use crate::dimension::Dimension;
use crate::model::{Action, Module};
use crate::plan::{PlannedModule, Route};
use crate::problem::ProblemKind;
use crate::quantity::Draw;
use quintet_contract::{Address, Port, Stage};
use quintet_simulate::device::Class;
use quintet_simulate::{Distribution, Instruction, MessageType, Picos};

/// How often an action is written out instead of being counted.
const MOST_REPEATS: u64 = 10_000;
/// Instructions of one module at most, repeats written out.
const MOST_INSTRUCTIONS: usize = 20_000;

/// Instructions, and the ways that messages take, each with the key that asks for it.
type Actions = (Vec<Instruction>, Vec<(String, Route)>);

impl Resolver<'_> {
    /// The instructions of the module at `index`, between the marks by which its activations are measured.
    pub(super) fn resolve_actions(
        &mut self,
        index: usize,
        name: &str,
        module: &Module,
        hosts: &[Host],
        planned: &[PlannedModule],
        messages: &Messages<'_>,
    ) -> Actions {
        // Not the module's own port: what it sends to itself may go through a device.
        let here = Address { port: Port(0), ..address(index) };
        let mut instructions = vec![Instruction::Mark { at: here, number: crate::run::STARTED }];
        let mut routes = Vec::new();
        for (step, action) in module.actions.iter().enumerate() {
            let key = format!("module.{name}.do[{step}]");
            let more = match action {
                Action::Execute { instruction, times } => {
                    let host = &hosts.get(planned[index].processor);
                    host.map_or_else(Vec::new, |host| self.execute(&key, instruction, times, host))
                }
                Action::Send { .. } => self.send(&key, index, action, planned, messages, &mut routes),
            };
            if instructions.len() + more.len() > MOST_INSTRUCTIONS {
                let (found, expected) =
                    ("more".to_owned(), format!("at most {MOST_INSTRUCTIONS} actions, repeats included"));
                self.problem(&key, ProblemKind::OutOfRange { found, expected });
                break;
            }
            instructions.extend(more);
        }
        instructions.push(Instruction::Mark { at: here, number: crate::run::ENDED });
        (instructions, routes)
    }

    /// A distribution of whole numbers. The simulator's have 32 bits: larger draws count as the largest, so that a mean
    /// beyond that is a mistake.
    fn bounded(&mut self, key: &str, draw: &Draw, dimension: Dimension) -> Distribution {
        let distribution = self.distribution(key, draw, dimension);
        let mean = distribution.mean();
        if mean > f64::from(u32::MAX) {
            let (found, expected) = (format!("a mean of {mean:e}"), format!("at most {}", u32::MAX));
            self.problem(key, ProblemKind::OutOfRange { found, expected });
        }
        distribution
    }

    fn execute(&mut self, key: &str, instruction: &str, times: &Draw, host: &Host) -> Vec<Instruction> {
        let times = self.bounded(&format!("{key}.times"), times, Dimension::NUMBER);
        let Some(number) = host.instructions.iter().position(|known| known == instruction) else {
            let nearest = crate::nearest::nearest(instruction, host.instructions.iter().map(String::as_str));
            let (what, name) = ("instruction of the processor", instruction.to_owned());
            self.problem(&format!("{key}.execute"), ProblemKind::UnknownName { what, name, nearest });
            return Vec::new();
        };
        let stage = Stage(u8::try_from(number).unwrap_or(u8::MAX));
        let fixed = matches!(host.costs.get(&stage), Some(Distribution::Constant(_)));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "`as` saturates, and that is too many"
        )]
        match times {
            // A cost that varies is drawn anew for each of a known number of times.
            Distribution::Constant(count) if !fixed && count.round() as u64 <= MOST_REPEATS => {
                vec![Instruction::Execute(stage, Distribution::Constant(1.0)); count.round() as usize]
            }
            times => vec![Instruction::Execute(stage, times)],
        }
    }

    fn send(
        &mut self,
        key: &str,
        from: usize,
        action: &Action,
        planned: &[PlannedModule],
        messages: &Messages<'_>,
        routes: &mut Vec<(String, Route)>,
    ) -> Vec<Instruction> {
        let Action::Send { message, to, bytes, through, times, class } = action else { return Vec::new() };
        let model = self.model;
        let bytes = self.bounded(&format!("{key}.bytes"), bytes, Dimension::DATA);
        let count = self.count(&format!("{key}.times"), times, 0, MOST_REPEATS);
        let receiver = self.index(&format!("{key}.to"), "module", to, &model.modules);
        if let Some(route) = receiver.and_then(|to| self.way(key, from, to, through.as_deref(), planned)) {
            routes.push((key.to_owned(), route));
            if *class == Class::Synchronous {
                self.check_synchronous(key, planned[from].processor, through.as_deref(), &bytes);
            }
        }
        let Some(to_index) = receiver else { return Vec::new() };
        let awaits = model.modules.get(to).is_some_and(|module| module.waits_for.contains_key(message));
        let Some(number) = messages.iter().position(|known| known == message).filter(|_| awaits) else {
            let kind = ProblemKind::Unawaited { message: message.clone(), to: to.clone() };
            self.problem(&format!("{key}.send"), kind);
            return Vec::new();
        };
        let message = MessageType(u32::try_from(number).unwrap_or(u32::MAX));
        let to = address(to_index);
        let send = Instruction::Send { to, message, bytes, class: *class };
        vec![send; usize::try_from(count).unwrap_or(0)]
    }

    /// Whether a ring can carry it as synchronous traffic of this processor.
    fn check_synchronous(&mut self, key: &str, from: usize, through: Option<&str>, bytes: &Distribution) {
        let key = format!("{key}.class");
        let Some((name, ring)) = through.and_then(|name| Some((name, self.rings.get(name)?))) else {
            let carrier = through.map_or_else(|| "a processor by itself".to_owned(), str::to_owned);
            let text = format!("only a token-ring has synchronous traffic, which {carrier} is not");
            return self.contradiction(&key, text);
        };
        let station = self.model.processors.keys().nth(from).cloned().unwrap_or_default();
        let stations = self.model.devices.get(name).map_or(&[][..], |device| &device.stations);
        let at = stations.iter().position(|other| *other == station);
        let allocation = at.and_then(|at| ring.synchronous_allocations.get(at).copied()).unwrap_or_default();
        // What varies may fit; the simulator drops what does not.
        let least = if let Distribution::Constant(bytes) = bytes { *bytes } else { 0.0 };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range and whole")]
        let block = ring.framing.block_time((least as u64).min(ring.framing.block_bytes()));
        if block > allocation || allocation == Picos::ZERO {
            let text = format!(
                "a block of it takes {block}, and the synchronous allocation of {station} on {name} is {allocation}"
            );
            self.contradiction(&key, text);
        }
    }

    /// The way from one module to another.
    fn way(
        &mut self,
        key: &str,
        from: usize,
        to: usize,
        through: Option<&str>,
        planned: &[PlannedModule],
    ) -> Option<Route> {
        let model = self.model;
        let (here, there) = (planned[from].processor, planned[to].processor);
        let name = |index: usize| model.processors.keys().nth(index).cloned().unwrap_or_default();
        let between = (from.min(to), from.max(to));
        let Some(through) = through else {
            if here != there {
                let text = format!(
                    "a message from {} to {} needs a device: name one with through, of kind \"link\" if nothing is modelled",
                    name(here),
                    name(there)
                );
                self.problem(key, ProblemKind::Disconnected { text });
            }
            return Some(Route { between, through: None });
        };
        let device = self.index(&format!("{key}.through"), "device", through, &model.devices)?;
        let stations = &model.devices.get(through)?.stations;
        let mut station = |processor: usize| {
            let name = name(processor);
            let found =
                stations.iter().position(|station| *station == name).and_then(|at| u16::try_from(at).ok());
            // A device without stations, and a processor that there is not, were reported.
            if found.is_none() && !name.is_empty() && !stations.is_empty() {
                let text = format!("processor {name} is no station of {through}");
                self.problem(&format!("{key}.through"), ProblemKind::Disconnected { text });
            }
            found
        };
        let (here, there) = (station(here), station(there));
        let (here, there) = (here?, there?);
        let stations = if from <= to { (here, there) } else { (there, here) };
        Some(Route { between, through: Some((device, stations.0, stations.1)) })
    }
}
