//! The text: behaviours, each a name, a sentence and steps. The grammar is in `docs/conformance.md`.

use crate::field::Fields;
use crate::lexer::{Fault, Lexer};
use crate::verbs;
use core::fmt;

/// One behaviour of a tuple space.
#[derive(Clone, Debug)]
pub struct Behaviour {
    /// The file it is in, without its ending.
    pub file: String,
    /// Its heading.
    pub name: String,
    /// What the space has to be made with.
    pub limits: Limits,
    /// What is done, in this order.
    pub steps: Vec<Step>,
}

/// Limits of a space; none: the default.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Limits {
    /// Bytes that it holds.
    pub max_bytes: Option<u64>,
    /// Tuples that it holds.
    pub max_tuples: Option<u64>,
}

/// One line of a behaviour.
#[derive(Clone, Debug)]
pub struct Step {
    /// Where it stands in its file, from 1.
    pub line: usize,
    /// The line.
    pub text: String,
    /// What is done.
    pub action: Action,
}

/// What a step does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// A client does something, and it comes to one of these.
    Does {
        /// A letter.
        client: char,
        /// How later steps call it.
        name: Option<String>,
        /// What.
        operation: Operation,
        /// Any of them.
        expected: Vec<Outcome>,
        /// It is done again until it comes to that: what others have said is heard there a little later.
        soon: bool,
    },
    /// What was begun and waited has come to one of these.
    Comes {
        /// The step that was begun.
        name: String,
        /// Any of them.
        expected: Vec<Outcome>,
    },
    /// What was begun still waits.
    StillWaits(String),
    /// The client's process is killed.
    Dies(char),
    /// The client closes its connection, in order.
    Closes(char),
}

/// An operation of a client, as it travels to a driver.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operation {
    /// Its name.
    pub verb: String,
    /// The step to which it belongs: which lease is acknowledged, what is cancelled.
    pub of: Option<String>,
    /// How long it may wait, in milliseconds; none: without end. Of what may say in how long what it puts expires: that.
    pub within_ms: Option<u64>,
    /// Its tuples, or its template.
    pub fields: Vec<Fields>,
}

/// What an operation comes to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It is done, and gives nothing.
    Done,
    /// No tuple matched.
    Nothing,
    /// It is not answered so far.
    Waits,
    /// A tuple.
    Tuple(Fields),
    /// A tuple under a lease, and the attempt.
    Leased(Fields, u64),
    /// Which template of a select matches, and its tuple.
    Selected(u64, Fields),
    /// The same under a lease, and the attempt.
    SelectedLease(u64, Fields, u64),
    /// What happened to a tuple, in a word.
    Event(String, Fields),
    /// A number of tuples.
    Count(u64),
    /// Tuples of a listing or a collection, in any order, each with whether it is leased.
    Rows(Vec<(Fields, bool)>),
    /// These numbers of the space, among others.
    Status(Vec<(String, u64)>),
    /// An error, by the name of its code.
    Error(String),
}

/// Reads all behaviours of a file.
///
/// # Errors
/// What is wrong with it, and on which line.
pub fn parse(file: &str, text: &str) -> Result<Vec<Behaviour>, String> {
    let mut behaviours: Vec<Behaviour> = Vec::new();
    let mut in_steps = false;
    for (index, line) in text.lines().enumerate() {
        let fault = |fault: &dyn fmt::Display| format!("{file}, line {}: {fault}", index + 1);
        if let Some(name) = line.strip_prefix("## ") {
            let (file, name) = (file.to_owned(), name.trim().to_owned());
            behaviours.push(Behaviour { file, name, limits: Limits::default(), steps: Vec::new() });
        } else if line.starts_with("```") {
            in_steps = !in_steps && line == "```steps";
        } else if in_steps {
            let behaviour = behaviours.last_mut().ok_or_else(|| fault(&"steps before the first heading"))?;
            behaviour.read(index + 1, line).map_err(|found| fault(&found))?;
        }
    }
    behaviours.iter().try_for_each(Behaviour::check)?;
    Ok(behaviours)
}

impl Behaviour {
    fn read(&mut self, line: usize, text: &str) -> Result<(), Fault> {
        let mut lexer = Lexer::new(text);
        if lexer.is_at_end() {
            return Ok(());
        }
        if lexer.accept_word("given") {
            return self.limits.read(&mut lexer);
        }
        let action = Action::parse(&mut lexer)?;
        if !lexer.is_at_end() {
            return Err(lexer.fault("the step is over"));
        }
        self.steps.push(Step { line, text: text.trim().to_owned(), action });
        Ok(())
    }

    /// Names are given once and used after that, and nothing waits at the end.
    fn check(&self) -> Result<(), String> {
        let (mut known, mut waiting): (Vec<&str>, Vec<(&str, char)>) = (Vec::new(), Vec::new());
        for step in &self.steps {
            let fault = |text: String| format!("{}, line {}: {text}", self.file, step.line);
            match &step.action {
                Action::Does { client, name, operation, expected, soon } => {
                    if *soon && expected.contains(&Outcome::Waits) {
                        return Err(fault("what waits is begun once".to_owned()));
                    }
                    if let Some(of) = operation.of.as_deref().filter(|of| !known.contains(of)) {
                        return Err(fault(format!("no step before is called {of}")));
                    }
                    if expected.contains(&Outcome::Waits) {
                        let name =
                            name.as_deref().ok_or_else(|| fault("what waits has a name".to_owned()))?;
                        waiting.push((name, *client));
                    }
                    known.extend(name.as_deref());
                }
                Action::Comes { name, .. } | Action::StillWaits(name) => {
                    let Some(at) = waiting.iter().position(|(waits, _)| waits == name) else {
                        return Err(fault(format!("nothing waits that is called {name}")));
                    };
                    if matches!(step.action, Action::Comes { .. }) {
                        waiting.remove(at);
                    }
                }
                Action::Dies(client) | Action::Closes(client) => waiting.retain(|(_, of)| of != client),
            }
        }
        match waiting.first() {
            Some((name, _)) => Err(format!("{}, {}: {name} waits for ever", self.file, self.name)),
            None if self.steps.is_empty() => Err(format!("{}, {}: has no steps", self.file, self.name)),
            None => Ok(()),
        }
    }

    /// Whether a client dies, which only a process can.
    #[must_use]
    pub fn kills(&self) -> bool {
        self.steps.iter().any(|step| matches!(step.action, Action::Dies(_)))
    }

    /// Whether a client watches what happens to all tuples.
    #[must_use]
    pub fn watches_all(&self) -> bool {
        self.operations().any(|operation| operation.verb.starts_with("watch") && operation.fields.is_empty())
    }

    /// Whether it is about a space that machines of a cluster keep.
    #[must_use]
    pub fn is_of_machines(&self) -> bool {
        self.operations().any(|operation| verbs::OF_MACHINES.contains(&&*operation.verb))
    }

    /// All that clients do.
    pub fn operations(&self) -> impl Iterator<Item = &Operation> {
        self.steps.iter().filter_map(|step| match &step.action {
            Action::Does { operation, .. } => Some(operation),
            _ => None,
        })
    }

    /// Whether a client closes its connection, which others survive only if they have another one.
    #[must_use]
    pub fn closes(&self) -> bool {
        self.steps.iter().any(|step| matches!(step.action, Action::Closes(_)))
    }
}

impl Limits {
    fn read(&mut self, lexer: &mut Lexer<'_>) -> Result<(), Fault> {
        let name = lexer.word()?;
        let number = Some(lexer.number()?);
        match name {
            "max_bytes" => self.max_bytes = number,
            "max_tuples" => self.max_tuples = number,
            _ => return Err(lexer.fault(format!("{name} is no limit"))),
        }
        Ok(())
    }
}

impl Action {
    fn parse(lexer: &mut Lexer<'_>) -> Result<Action, Fault> {
        let first = lexer.word()?;
        if lexer.accept("->") {
            return Ok(Action::Comes { name: first.to_owned(), expected: Outcome::parse_any(lexer)? });
        }
        if lexer.accept_word("still") {
            lexer.expect("waits")?;
            return Ok(Action::StillWaits(first.to_owned()));
        }
        let (name, client) =
            if lexer.accept("=") { (Some(first.to_owned()), lexer.word()?) } else { (None, first) };
        let mut letters = client.chars();
        let (Some(client), None) = (letters.next(), letters.next()) else {
            return Err(lexer.fault(format!("a client is one letter, not {client}")));
        };
        if lexer.accept_word("dies") {
            return Ok(Action::Dies(client));
        }
        if lexer.accept_word("closes") {
            return Ok(Action::Closes(client));
        }
        let operation = Operation::parse(lexer)?;
        let soon = lexer.accept_word("soon");
        let expected = if lexer.accept("->") { Outcome::parse_any(lexer)? } else { vec![Outcome::Done] };
        Ok(Action::Does { client, name, operation, expected, soon })
    }
}

impl Operation {
    fn parse(lexer: &mut Lexer<'_>) -> Result<Operation, Fault> {
        let verb = lexer.word()?;
        let Some((_, least, most)) = verbs::ALL.into_iter().find(|(name, ..)| *name == verb) else {
            return Err(lexer.fault(format!("{verb} is no operation")));
        };
        let of = if verbs::UPON.contains(&verb) { Some(lexer.word()?.to_owned()) } else { None };
        let mut fields = Vec::new();
        while lexer.accept("(") {
            fields.push(Fields::parse_rest(lexer)?);
            let times = if lexer.accept_word("times") { lexer.number()? } else { 1 };
            for _ in 1..times {
                fields.push(fields[fields.len() - 1].clone());
            }
        }
        if fields.len() < least || fields.len() > most {
            return Err(lexer.fault(format!("{verb} has another number of tuples")));
        }
        let mut within_ms = None;
        let limit = if verbs::WITH_EXPIRY.contains(&verb) { "expires" } else { "within" };
        if lexer.accept_word(limit) {
            within_ms = Some(lexer.number()?);
            lexer.expect("ms")?;
        }
        Ok(Operation { verb: verb.to_owned(), of, within_ms, fields })
    }
}

impl Outcome {
    fn parse_any(lexer: &mut Lexer<'_>) -> Result<Vec<Outcome>, Fault> {
        let mut outcomes = vec![Outcome::parse(lexer)?];
        while lexer.accept_word("or") {
            outcomes.push(Outcome::parse(lexer)?);
        }
        Ok(outcomes)
    }

    fn parse(lexer: &mut Lexer<'_>) -> Result<Outcome, Fault> {
        if lexer.accept("(") {
            let fields = Fields::parse_rest(lexer)?;
            return Ok(if lexer.accept_word("attempt") {
                Outcome::Leased(fields, lexer.number()?)
            } else {
                Outcome::Tuple(fields)
            });
        }
        let word = lexer.word()?;
        Ok(match word {
            "done" => Outcome::Done,
            "template" => {
                let which = lexer.number()?;
                lexer.expect("(")?;
                let fields = Fields::parse_rest(lexer)?;
                if lexer.accept_word("attempt") {
                    Outcome::SelectedLease(which, fields, lexer.number()?)
                } else {
                    Outcome::Selected(which, fields)
                }
            }
            "event" => {
                let change = lexer.word()?.to_owned();
                lexer.expect("(")?;
                Outcome::Event(change, Fields::parse_rest(lexer)?)
            }
            "nothing" => Outcome::Nothing,
            "waits" => Outcome::Waits,
            "rows" => {
                let mut rows = Vec::new();
                while lexer.accept("(") {
                    rows.push((Fields::parse_rest(lexer)?, lexer.accept_word("leased")));
                }
                Outcome::Rows(rows)
            }
            "status" => {
                let mut numbers = vec![(lexer.word()?.to_owned(), lexer.number()?)];
                while lexer.accept(",") {
                    numbers.push((lexer.word()?.to_owned(), lexer.number()?));
                }
                Outcome::Status(numbers)
            }
            number if number.starts_with(|digit: char| digit.is_ascii_digit()) => {
                Outcome::Count(number.parse().map_err(|_| lexer.fault("expected a number"))?)
            }
            code if quintet::Code::ALL.iter().any(|known| format!("{known:?}") == code) => {
                Outcome::Error(code.to_owned())
            }
            other => return Err(lexer.fault(format!("{other} is no outcome"))),
        })
    }

    /// Whether this is what was expected: an outcome of a driver against one of the text.
    #[must_use]
    pub fn is(&self, expected: &Outcome) -> bool {
        match (self, expected) {
            (Outcome::Status(found), Outcome::Status(wanted)) => wanted.iter().all(|row| found.contains(row)),
            (Outcome::Rows(found), Outcome::Rows(wanted)) => {
                let sorted = |rows: &[(Fields, bool)]| {
                    let mut rows: Vec<_> =
                        rows.iter().map(|(fields, leased)| (fields.to_token(), *leased)).collect();
                    rows.sort();
                    rows
                };
                sorted(found) == sorted(wanted)
            }
            (found, wanted) => found == wanted,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Done => f.write_str("done"),
            Outcome::Nothing => f.write_str("nothing"),
            Outcome::Waits => f.write_str("waits"),
            Outcome::Tuple(fields) => fields.fmt(f),
            Outcome::Leased(fields, attempt) => write!(f, "{fields} attempt {attempt}"),
            Outcome::Selected(which, fields) => write!(f, "template {which} {fields}"),
            Outcome::SelectedLease(which, fields, attempt) => {
                write!(f, "template {which} {fields} attempt {attempt}")
            }
            Outcome::Event(change, fields) => write!(f, "event {change} {fields}"),
            Outcome::Count(count) => count.fmt(f),
            Outcome::Rows(rows) => {
                f.write_str("rows")?;
                rows.iter().try_for_each(|(fields, leased)| {
                    write!(f, " {fields}{}", if *leased { " leased" } else { "" })
                })
            }
            Outcome::Status(numbers) => {
                let numbers: Vec<String> =
                    numbers.iter().map(|(name, number)| format!("{name} {number}")).collect();
                write!(f, "status {}", numbers.join(", "))
            }
            Outcome::Error(code) => f.write_str(code),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(text: &str) -> Result<Vec<Behaviour>, String> {
        parse("test", &format!("# Title\n\n## One\nA sentence.\n\n```steps\n{text}\n```\n"))
    }

    #[test]
    fn a_behaviour_is_read() {
        let text = "given max_tuples 2 # so few\na out (\"x\", 1)\nw = b take (\"x\", 2) within 5 ms -> waits\nw still waits\nb cancel w\n\
                    w -> Cancelled or (\"x\", 2)\nl = a lease (?text, ?i64) -> (\"x\", 1) attempt 1\na acknowledge l (1) (2)\n\
                    a list -> rows (1) (2) leased\n\
                    s = a select_lease (1) (?i64) -> template 1 (2) attempt 1\na status -> status tuples 2, waiters 0\na count (1) soon -> 0\na dies";
        let read = steps(text).expect("it is right").remove(0);
        assert_eq!((read.limits.max_tuples, read.steps.len(), read.kills()), (Some(2), 12, true));
        assert_eq!(read.steps[1].line, 9);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, named) in [
            ("a takes (1)", "takes is no operation"),
            ("a take (1) -> waits", "what waits has a name"),
            ("w = a take (1) -> waits", "waits for ever"),
            ("w -> (1)", "nothing waits that is called w"),
            ("a release l", "no step before is called l"),
            ("a take (1) -> Never", "Never is no outcome"),
            ("ab take (1)", "one letter"),
            ("a count -> 1", "another number of tuples"),
            ("a take (1) within 5 s -> (1)", "expected \"ms\""),
            ("w = a take (1) soon -> waits", "begun once"),
            ("given luck 7", "luck is no limit"),
            ("", "has no steps"),
            ("a out (1) (2", "line 7"),
        ] {
            let found = steps(text).expect_err(text);
            assert!(found.contains(named), "{text}: {found}");
        }
    }
}
