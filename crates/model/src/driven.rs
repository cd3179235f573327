//! Runs that a program drives: processes of its own are among the events of the model, and programs of its own in the places of modules.

use crate::model::Model;
use crate::plan::{Plan, PlannedModule};
use crate::problem::ModelError;
use crate::resolve::{address, parameters, timing};
use crate::result::RunResult;
use crate::run::Observer;
use quintet_contract::{Address, Stage};
use quintet_simulate::device::Class;
use quintet_simulate::{Command, Costs, Distribution, Instruction, MessageType, Simulation, Timing};
use std::collections::BTreeMap;

/// The calls by which programs tell of messages; what a driver has called has smaller numbers.
const RECEIVED_CALLS: u64 = 1 << 63;

/// What the program in the place of this number calls for each message: see [`Place`].
pub(crate) fn received_call(number: usize) -> u64 {
    RECEIVED_CALLS | number as u64
}

/// Drives a run: has itself called at times, and tells the programs what to do.
///
/// Methods that return a bool end the run by false. It has no result then.
pub trait Driver {
    /// The run is at its beginning: what is to happen first is scheduled.
    fn begin(&mut self, run: &mut Simulation);

    /// A call has come that was scheduled with [`Simulation::call_at`], or belongs to a command.
    fn call(&mut self, number: u64, run: &mut Simulation) -> bool;

    /// The program in the place of this number, counted from 0, has received a message.
    fn received(&mut self, place: usize, run: &mut Simulation) -> bool;

    /// The warm-up is over: nothing counts that was before.
    fn warm(&mut self, run: &Simulation);

    /// The run is at its end: whether anything is pending can be seen.
    fn ended(&mut self, run: &Simulation);

    /// Some thousands of events have happened.
    fn look(&mut self) -> bool;
}

/// The place of a module in which a program is: what it may do there.
#[derive(Clone, Debug)]
pub struct Place {
    /// The module's name.
    pub name: String,
    /// Where it is, for [`Simulation::command`].
    pub address: Address,
    /// The messages that it is sent, by their names.
    pub messages: BTreeMap<String, MessageType>,
    /// What the module sends, once each message and receiver, in the order of its actions.
    pub sends: Vec<Sending>,
    /// The instructions of its processor, by their names.
    pub instructions: BTreeMap<String, Stage>,
    /// A stage whose unit costs one cycle; none if every number is an instruction's.
    pub cycles: Option<Stage>,
}

/// A message that is sent from a place.
#[derive(Clone, Debug)]
pub struct Sending {
    /// The message's name.
    pub message: String,
    /// The name of the module that receives it.
    pub to: String,
    /// Its length as the module's action has it.
    pub bytes: Distribution,
    number: MessageType,
    address: Address,
    class: Class,
}

impl Sending {
    /// Sends it with this length.
    #[must_use]
    pub fn command(&self, bytes: u64) -> Command {
        Command::Send { to: self.address, message: self.number, bytes, class: self.class }
    }
}

impl Model {
    /// When sources begin: the keys `start`, `every` and `limit` of tables `[module.NAME]` in `text`, by name, in which the parameters of
    /// this model count. None for a table without `start` and `every`.
    ///
    /// # Errors
    /// Everything that is wrong with them; keys are those of `[process.NAME]`.
    pub fn timings(&self, text: &str) -> Result<BTreeMap<String, Option<Timing>>, ModelError> {
        let (described, mut problems) = Model::read_unchecked(text, "");
        let mut timings = BTreeMap::new();
        for (name, module) in &described.modules {
            let (found, wrong) = timing(self, &format!("process.{name}"), module);
            timings.insert(name.clone(), found);
            problems.extend(wrong);
        }
        for problem in &mut problems {
            (problem.file, problem.line) = (None, None);
            problem.key = problem.key.replacen("module.", "process.", 1);
        }
        if problems.is_empty() { Ok(timings) } else { Err(ModelError::new(problems)) }
    }

    /// The values of its parameters, by their names. One with which something is wrong is 1.
    #[must_use]
    pub fn parameter_values(&self) -> BTreeMap<String, f64> {
        parameters(self)
    }

    /// Runs it once, driven by what `drive` makes, which is given the places of the programs in the order of their names. `None` beside the
    /// driver if that ended the run.
    ///
    /// # Errors
    /// Everything that is wrong with the model.
    pub fn run_driven<D: Driver>(
        &self,
        seed: u64,
        drive: impl FnOnce(Vec<Place>) -> D,
    ) -> Result<(Option<RunResult>, D), ModelError> {
        let plan = self.plan()?;
        let is_program = |(_, module): &(usize, &PlannedModule)| self.is_program(&module.name);
        let indices: Vec<_> =
            plan.modules.iter().enumerate().filter(is_program).map(|(index, _)| index).collect();
        let places = indices.iter().map(|index| plan.place(*index)).collect();
        let (mut run, names) = plan.build(seed, &indices);
        let mut driving = Driving { driver: drive(places), goes_on: true };
        let result = plan.run_built(seed, &mut run, &names, &mut driving);
        driving.driver.ended(&run);
        Ok((result, driving.driver))
    }
}

impl Plan {
    fn place(&self, index: usize) -> Place {
        let module = &self.modules[index];
        let instructions = &self.processors[module.processor].instructions;
        let stages = instructions.iter().cloned().zip((0..=u8::MAX).map(Stage));
        let message = |number: MessageType| self.messages[number.0 as usize].clone();
        let messages = module.spec.messages.iter().map(|(number, _)| (message(*number), *number));
        let mut sends: Vec<Sending> = Vec::new();
        for instruction in &module.spec.instructions {
            if let Instruction::Send { to, message: number, bytes, class } = instruction
                && !sends.iter().any(|sent| (sent.number, sent.address) == (*number, *to))
            {
                sends.push(Sending {
                    message: message(*number),
                    to: self.modules[usize::from(to.node.0) - 1].name.clone(),
                    bytes: bytes.clone(),
                    number: *number,
                    address: *to,
                    class: *class,
                });
            }
        }
        Place {
            name: module.name.clone(),
            address: address(index),
            messages: messages.collect(),
            sends,
            instructions: stages.collect(),
            cycles: cycles(instructions),
        }
    }

    /// The costs of a program in a module's place: the module's, and those of single cycles.
    pub(crate) fn program_costs(&self, module: &PlannedModule) -> Costs {
        let cycles = cycles(&self.processors[module.processor].instructions);
        let one = cycles.map(|stage| (stage, Distribution::Constant(1.0)));
        module.costs.clone().into_iter().chain(one).collect()
    }
}

/// The first stage that is no instruction's.
fn cycles(instructions: &[String]) -> Option<Stage> {
    u8::try_from(instructions.len()).ok().map(Stage)
}

/// Lets a driver watch a run.
struct Driving<D> {
    driver: D,
    goes_on: bool,
}

impl<D: Driver> Observer for Driving<D> {
    fn begin(&mut self, run: &mut Simulation) {
        self.driver.begin(run);
    }

    fn step(&mut self, run: &mut Simulation) -> bool {
        let more = run.step();
        while let Some(number) = run.take_call() {
            self.goes_on = match usize::try_from(number ^ RECEIVED_CALLS) {
                Ok(place) if number >= RECEIVED_CALLS => self.driver.received(place, run),
                _ => self.driver.call(number, run),
            };
            if !self.goes_on {
                return false;
            }
        }
        more
    }

    fn warm(&mut self, run: &Simulation) {
        self.driver.warm(run);
    }

    fn look(&mut self, _run: &Simulation) -> bool {
        self.goes_on && self.driver.look()
    }
}
