//! What modules do.

use super::modules::{Messages, address};
use super::{Host, Resolver};
use crate::action::Action;
use crate::dimension::Dimension;
use crate::model::Module;
use crate::plan::PlannedModule;
use crate::problem::ProblemKind;
use crate::quantity::Draw;
use quintet_contract::{Address, Port, Stage};
use quintet_simulate::device::Class;
use quintet_simulate::{Distribution, Instruction, MessageType, Picos};
use std::collections::BTreeMap;

/// How often an action is written out instead of being counted.
const MOST_REPEATS: u64 = 10_000;
/// Instructions of one module at most, repeats written out.
const MOST_INSTRUCTIONS: usize = 20_000;

/// What a module does, while it is put together.
pub(super) struct Program<'p> {
    pub(super) index: usize,
    host: Option<&'p Host>,
    pub(super) planned: &'p [PlannedModule],
    pub(super) messages: &'p Messages<'p>,
    /// The numbers of the module's variables.
    pub(super) variables: &'p BTreeMap<String, usize>,
    pub(super) instructions: Vec<Instruction>,
    /// Whether there is more than may be.
    is_full: bool,
}

impl Resolver<'_> {
    /// The instructions of the module at `index`, between the marks by which its activations are measured.
    pub(super) fn resolve_actions(
        &mut self,
        index: usize,
        (name, module): (&str, &Module),
        hosts: &[Host],
        planned: &[PlannedModule],
        messages: &Messages<'_>,
    ) -> Vec<Instruction> {
        // Not the module's own port: what it sends to itself may go through a device.
        let here = Address { port: Port(0), ..address(index) };
        let mark = |number| Instruction::Mark { at: here, number };
        let variables = module.state.keys().cloned().zip(0..).collect();
        let mut program = Program {
            index,
            host: hosts.get(planned[index].processor),
            planned,
            messages,
            variables: &variables,
            instructions: vec![mark(crate::run::STARTED)],
            is_full: false,
        };
        self.put_together(&format!("module.{name}.do"), &module.actions, &mut program);
        program.instructions.push(mark(crate::run::ENDED));
        program.instructions
    }

    /// Adds the instructions of a list of actions.
    pub(super) fn put_together(&mut self, key: &str, actions: &[Action], program: &mut Program<'_>) {
        for (step, action) in actions.iter().enumerate() {
            let key = format!("{key}[{step}]");
            match action {
                Action::Execute { instruction, times } => {
                    let host = program.host;
                    let more =
                        host.map_or_else(Vec::new, |host| self.execute(&key, instruction, times, host));
                    program.instructions.extend(more);
                }
                Action::Use { .. } => {
                    let more = self.use_pool(&key, program.index, action);
                    program.instructions.extend(more);
                }
                Action::Send { .. } => {
                    let more = self.send(&key, action, program);
                    program.instructions.extend(more);
                }
                _ => self.put_together_decision(&key, action, program),
            }
            if program.instructions.len() > MOST_INSTRUCTIONS && !program.is_full {
                program.is_full = true;
                let (found, expected) =
                    ("more".to_owned(), format!("at most {MOST_INSTRUCTIONS} actions, repeats included"));
                self.problem(&key, ProblemKind::OutOfRange { found, expected });
            }
            if program.is_full {
                return;
            }
        }
    }

    /// A distribution of whole numbers. The simulator's have 32 bits: larger draws count as the largest, so that a mean
    /// beyond that is a mistake.
    pub(super) fn bounded(&mut self, key: &str, draw: &Draw, dimension: Dimension) -> Distribution {
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

    fn send(&mut self, key: &str, action: &Action, program: &mut Program<'_>) -> Vec<Instruction> {
        let Action::Send { bytes, through, times, class, .. } = action else { return Vec::new() };
        let bytes = self.bounded(&format!("{key}.bytes"), bytes, Dimension::DATA);
        let count = self.count(&format!("{key}.times"), times, 0, MOST_REPEATS);
        let Some((to, message)) = self.target(key, action, program) else { return Vec::new() };
        self.check_class(key, *class, through.as_deref(), &bytes, program);
        let send = Instruction::Send { to, message, bytes, class: *class };
        vec![send; usize::try_from(count).unwrap_or(0)]
    }

    /// Where an action sends what, by a way that is added; none with a problem reported.
    pub(super) fn target(
        &mut self,
        key: &str,
        action: &Action,
        program: &mut Program<'_>,
    ) -> Option<(Address, MessageType)> {
        let (message, to, through, route) = action.sent()?;
        let model = self.model;
        let receiver = self.index(&format!("{key}.to"), "module", to, &model.modules)?;
        let way = self.way(key, (program.index, receiver), (through, route), program.planned);
        let awaits = model.modules.get(to).is_some_and(|module| module.awaits(message));
        let number = program.messages.iter().position(|known| *known == message).filter(|_| awaits);
        if number.is_none() {
            let kind = ProblemKind::Unawaited { message: message.to_owned(), to: to.to_owned() };
            let part = if matches!(action, Action::Ask { .. }) { "ask" } else { "send" };
            self.problem(&format!("{key}.{part}"), kind);
        }
        Some((way?, MessageType(u32::try_from(number?).unwrap_or(u32::MAX))))
    }

    /// Whether what carries it can do so with this class: a ring as synchronous traffic of the module's processor.
    pub(super) fn check_class(
        &mut self,
        key: &str,
        class: Class,
        through: Option<&str>,
        bytes: &Distribution,
        program: &Program<'_>,
    ) {
        if class == Class::Asynchronous {
            return;
        }
        let from = program.planned[program.index].processor;
        let key = format!("{key}.class");
        let Some((name, ring)) = through.and_then(|name| Some((name, self.rings.get(name)?))) else {
            let which = through.map_or_else(
                || "and through does not name one".to_owned(),
                |carrier| format!("which {carrier} is not"),
            );
            let text = format!("only a token-ring has synchronous traffic, {which}");
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
}
