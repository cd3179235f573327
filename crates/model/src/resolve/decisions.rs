//! What modules decide, ask and wait for, as instructions: what is one within the other in a model is one behind the other here, with jumps.

use super::Resolver;
use super::actions::Program;
use crate::action::Action;
use crate::dimension::Dimension;
use crate::expression::{self, formula};
use crate::nearest::nearest;
use crate::problem::ProblemKind;
use crate::quantity::{Draw, Quantity};
use crate::run::{answered, missed};
use quintet_simulate::{Distribution, Formula, Instruction, MessageType};
use std::collections::BTreeMap;

/// Where a jump leads that is not known so far.
const OPEN: usize = usize::MAX;

impl Resolver<'_> {
    pub(super) fn put_together_decision(&mut self, key: &str, action: &Action, program: &mut Program<'_>) {
        match action {
            Action::Ask { bytes, through, class, timeout, late, .. } => {
                let bytes = self.bounded(&format!("{key}.bytes"), bytes, Dimension::DATA);
                let timeout = self.timeout(key, timeout.as_ref());
                let Some((to, message)) = self.target(key, action, program) else { return };
                self.check_class(key, *class, through.as_deref(), &bytes, program);
                let ask = Instruction::Ask { to, message, bytes, class: *class, timeout, late: OPEN };
                self.wait_or(key, ask, Some(message), late, program);
            }
            Action::Wait { message, timeout, late } => {
                let timeout = self.timeout(key, timeout.as_ref());
                let number = program.messages.iter().position(|known| known == message).unwrap_or(0);
                let message = Some(MessageType(u32::try_from(number).unwrap_or(u32::MAX)));
                self.wait_or(key, Instruction::Wait { message, timeout, late: OPEN }, None, late, program);
            }
            Action::Pause { length } => {
                let length = self.distribution(&format!("{key}.pause"), length, Dimension::TIME);
                let late = program.instructions.len() + 1;
                let pause = Instruction::Wait { message: None, timeout: Some(length), late };
                program.instructions.push(pause);
            }
            Action::Reply { bytes, through, class, .. } => {
                let bytes = self.bounded(&format!("{key}.bytes"), bytes, Dimension::DATA);
                self.check_class(key, *class, through.as_deref(), &bytes, program);
                program.instructions.push(Instruction::Reply { bytes, class: *class, ways: Vec::new() });
            }
            Action::Set { variable, value } => {
                let value = self.formula(&format!("{key}.value"), value, program);
                match program.variables.get(variable) {
                    Some(number) => program.instructions.push(Instruction::Set(*number, value)),
                    None => {
                        let nearest = nearest(variable, program.variables.keys().map(String::as_str));
                        let (what, name) = ("variable", variable.clone());
                        let kind = ProblemKind::UnknownName { what, name, nearest };
                        self.problem(&format!("{key}.set"), kind);
                    }
                }
            }
            Action::Cancel { module, through } => {
                let target = self.index(&format!("{key}.cancel"), "module", module, &self.model.modules);
                let Some(target) = target else { return };
                let carrier = (through.as_deref(), &[][..]);
                let way = self.way(key, (program.index, target), carrier, program.planned);
                program.instructions.extend(way.map(|at| Instruction::Cancel { at }));
            }
            Action::If { condition, actions, otherwise } => {
                let condition = self.formula(&format!("{key}.if"), condition, program);
                let branch = program.add(Instruction::Unless(condition, OPEN));
                self.put_together(&format!("{key}.do"), actions, program);
                let skip = (!otherwise.is_empty()).then(|| program.add(Instruction::Jump(OPEN)));
                program.close(branch);
                self.put_together(&format!("{key}.else"), otherwise, program);
                skip.into_iter().for_each(|skip| program.close(skip));
            }
            Action::While { condition, actions } => {
                let condition = self.formula(&format!("{key}.while"), condition, program);
                let head = program.add(Instruction::Unless(condition, OPEN));
                self.put_together_turn(key, head, actions, program);
            }
            Action::Repeat { times, actions } => {
                let times = self.formula(&format!("{key}.repeat"), times, program);
                program.instructions.push(Instruction::Repeat(times));
                let head = program.add(Instruction::Again(OPEN));
                self.put_together_turn(key, head, actions, program);
            }
            Action::Execute { .. } | Action::Send { .. } | Action::Use { .. } => {}
        }
    }

    /// What is done in each turn, behind the instruction that ends the turns.
    fn put_together_turn(&mut self, key: &str, head: usize, actions: &[Action], program: &mut Program<'_>) {
        self.put_together(&format!("{key}.do"), actions, program);
        program.instructions.push(Instruction::Jump(head));
        program.close(head);
    }

    /// An instruction that waits, and what is done if that takes too long. Both ways of an `asked` message leave a mark.
    fn wait_or(
        &mut self,
        key: &str,
        wait: Instruction,
        asked: Option<MessageType>,
        late: &[Action],
        program: &mut Program<'_>,
    ) {
        let wait = program.add(wait);
        program.instructions.extend(asked.map(|message| Instruction::Lap(answered(message))));
        let skip = program.add(Instruction::Jump(OPEN));
        program.close(wait);
        program.instructions.extend(asked.map(|message| Instruction::Lap(missed(message))));
        self.put_together(&format!("{key}.late"), late, program);
        program.close(skip);
    }

    fn timeout(&mut self, key: &str, timeout: Option<&Draw>) -> Option<Distribution> {
        timeout.map(|timeout| self.distribution(&format!("{key}.timeout"), timeout, Dimension::TIME))
    }

    /// A formula without dimension; with a problem reported, some formula.
    fn formula(&mut self, key: &str, text: &Quantity, program: &Program<'_>) -> Formula {
        let found = text.text().to_owned();
        match formula(&found, &self.parameters, program.variables) {
            Ok((formula, Dimension::NUMBER)) => return formula,
            Ok((_, measures)) => {
                let expected = Dimension::NUMBER;
                self.problem(key, ProblemKind::WrongDimension { found, measures, expected });
            }
            Err(cause) => self.problem(key, ProblemKind::NoExpression { text: found, cause }),
        }
        Formula::Constant(1.0)
    }

    /// The first values of a module's variables, in the order of their names.
    pub(super) fn resolve_state(&mut self, path: &str, state: &BTreeMap<String, Quantity>) -> Vec<f64> {
        let mut values = Vec::new();
        for (name, first) in state {
            let key = format!("{path}.state.{name}");
            if self.parameters.contains_key(name)
                || expression::is_taken(name)
                || !super::values::is_name(name)
            {
                let expected =
                    "letters, digits and _, and no parameter, unit, function or other name of a formula";
                let (found, expected) = (name.clone(), expected.to_owned());
                self.problem(&key, ProblemKind::OutOfRange { found, expected });
            }
            values.push(self.evaluate(&key, first, Dimension::NUMBER).unwrap_or(0.0));
        }
        values
    }
}

impl Program<'_> {
    /// Adds an instruction; its place.
    fn add(&mut self, instruction: Instruction) -> usize {
        self.instructions.push(instruction);
        self.instructions.len() - 1
    }

    /// Has the open jump of the instruction at a place lead behind all that there is.
    fn close(&mut self, place: usize) {
        let end = self.instructions.len();
        if let Some(
            Instruction::Jump(to)
            | Instruction::Unless(_, to)
            | Instruction::Again(to)
            | Instruction::Ask { late: to, .. }
            | Instruction::Wait { late: to, .. },
        ) = self.instructions.get_mut(place)
        {
            *to = end;
        }
    }
}
