//! What is wrong with a model, and where.

use crate::dimension::Dimension;
use crate::expression::ExpressionError;
use core::fmt;
use quintet_errors::Code;
use quintet_simulate::{DistributionError, device::DeviceError};
use std::borrow::Cow;

/// Characters of a text that a message repeats at most.
const LONGEST_REPEATED: usize = 60;

/// One thing that is wrong, or strange. The author's fault.
#[derive(Clone, PartialEq, Debug)]
pub struct Problem {
    /// The file, if the model came from one.
    pub file: Option<String>,
    /// On which line, counted from 1, if the model came from a file.
    pub line: Option<usize>,
    /// The key, with those of the tables around it: `processor.server.cycle`.
    pub key: String,
    /// What is wrong.
    pub kind: ProblemKind,
}

/// What is wrong.
#[derive(Clone, PartialEq, Debug)]
pub enum ProblemKind {
    /// The file cannot be read.
    Unreadable {
        /// What the operating system said.
        cause: String,
    },
    /// The text is not TOML.
    NotToml {
        /// What the parser said.
        cause: String,
    },
    /// There is no such key here.
    UnknownKey {
        /// A key that has a similar name.
        nearest: Option<String>,
    },
    /// A key without which nothing can be done.
    Missing {
        /// What its value would be.
        expected: String,
    },
    /// Another kind of value than the key takes.
    WrongKind {
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// Text that is no expression.
    NoExpression {
        /// The text.
        text: String,
        /// Why not.
        cause: ExpressionError,
    },
    /// A number alone where a quantity with a unit must stand.
    MissingUnit {
        /// What was found.
        found: String,
        /// What it should measure.
        expected: Dimension,
    },
    /// A quantity that measures something else.
    WrongDimension {
        /// What was found.
        found: String,
        /// What that measures.
        measures: Dimension,
        /// What it should measure.
        expected: Dimension,
    },
    /// A value that cannot be here.
    OutOfRange {
        /// The value.
        found: String,
        /// Which can.
        expected: String,
    },
    /// A distribution that cannot be.
    Distribution(DistributionError),
    /// A device that cannot be.
    Device(DeviceError),
    /// A name that nothing has.
    UnknownName {
        /// What should have it: a processor, a module.
        what: &'static str,
        /// The name.
        name: String,
        /// A similar one that something has.
        nearest: Option<String>,
    },
    /// Two things that exclude each other.
    Contradiction {
        /// Which.
        text: String,
    },
    /// Something that is connected to nothing, or not to what it needs.
    Disconnected {
        /// What.
        text: String,
    },
    /// A group where one element is meant, or one that does not fit.
    Group {
        /// Which, and why not.
        text: String,
    },
    /// A module whose conditions can never hold.
    NeverStarts {
        /// Which, and why.
        text: String,
    },
    /// A message that nobody waits for.
    Unawaited {
        /// The message.
        message: String,
        /// The module it is sent to.
        to: String,
    },
    /// Modules that start each other again and again without any time passing.
    NoTimePasses {
        /// Their names, in their order.
        cycle: Vec<String>,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}, ")?;
        }
        if let Some(line) = self.line {
            write!(f, "line {line}, ")?;
        }
        if self.key.is_empty() {
            write!(f, "{}", self.kind)
        } else {
            write!(f, "{}: {}", self.key, self.kind)
        }
    }
}

/// A text of the file as messages repeat it: what is longer than a line is cut.
fn cut(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(LONGEST_REPEATED) {
        Some((at, _)) => format!("{}... ({} characters)", &text[..at], text.chars().count()).into(),
        None => text.into(),
    }
}

fn did_you_mean(nearest: Option<&String>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    nearest.map_or(Ok(()), |nearest| write!(f, "; did you mean {nearest}?"))
}

impl fmt::Display for ProblemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProblemKind::Unreadable { cause } => write!(f, "cannot be read: {cause}"),
            ProblemKind::NotToml { cause } => write!(f, "not TOML: {cause}"),
            ProblemKind::UnknownKey { nearest } => {
                f.write_str("there is no such key")?;
                did_you_mean(nearest.as_ref(), f)
            }
            ProblemKind::Missing { expected } => write!(f, "is missing, expected {expected}"),
            ProblemKind::WrongKind { found, expected } | ProblemKind::OutOfRange { found, expected } => {
                write!(f, "found {}, expected {expected}", cut(found))
            }
            ProblemKind::NoExpression { text, cause } => {
                write!(f, "\"{}\" is no expression: {cause}", cut(text))
            }
            ProblemKind::MissingUnit { found, expected } => {
                let (found, example) = (cut(found), expected.example());
                write!(f, "\"{found}\" has no unit, expected {expected}, such as \"{example}\"")
            }
            ProblemKind::WrongDimension { found, measures, expected } => {
                let (found, example) = (cut(found), expected.example());
                write!(f, "\"{found}\" is {measures}, expected {expected}, such as \"{example}\"")
            }
            ProblemKind::Distribution(error) => write!(f, "an impossible distribution: {error}"),
            ProblemKind::Device(error) => write!(f, "an impossible device: {error}"),
            ProblemKind::UnknownName { what, name, nearest } => {
                write!(f, "there is no {what} {}", cut(name))?;
                did_you_mean(nearest.as_ref(), f)
            }
            ProblemKind::Contradiction { text }
            | ProblemKind::Disconnected { text }
            | ProblemKind::Group { text }
            | ProblemKind::NeverStarts { text } => f.write_str(text),
            ProblemKind::Unawaited { message, to } => {
                write!(f, "nobody waits for the message {message}: module {to} has it not in waits_for")
            }
            ProblemKind::NoTimePasses { cycle } => {
                write!(f, "no time passes in the cycle {}", cycle.join(" -> "))
            }
        }
    }
}

/// Why a model cannot run: everything that is wrong with it, in the order of the lines.
#[derive(Clone, PartialEq, Debug)]
pub struct ModelError {
    /// At least one.
    pub problems: Vec<Problem>,
}

impl ModelError {
    pub(crate) fn new(mut problems: Vec<Problem>) -> ModelError {
        problems.sort_by(|a, b| (a.line, &a.key).cmp(&(b.line, &b.key)));
        ModelError { problems }
    }

    /// The code under which it is reported.
    #[must_use]
    pub fn code(&self) -> Code {
        let no_model = |problem: &Problem| {
            matches!(problem.kind, ProblemKind::Unreadable { .. } | ProblemKind::NotToml { .. })
        };
        if self.problems.iter().any(no_model) { Code::BadFile } else { Code::BadValue }
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl core::error::Error for ModelError {}
