//! One statement about a run: read once, computed for each run.

use super::names::Names;
use crate::dimension::Dimension;
use crate::expression::{ExpressionError, Fault, Measured, evaluate};
use crate::problem::ProblemKind;
use crate::result::{Ended, RunResult};
use crate::subject::ElementKind;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The statement that is no comparison.
const BY_ITSELF: &str = "ended by itself";
const EXPECTED: &str = "two expressions and one of < <= == != >= > between them, or \"ended by itself\"";
/// What stands in an expression for the quantity of that number: longer than any name that somebody would give a parameter.
const STANDS_FOR: &str = "quantity_of_the_run_";

/// A statement that was read.
pub(super) struct Statement {
    written: String,
    claim: Claim,
}

enum Claim {
    EndedByItself,
    Compared {
        left: String,
        comparison: Comparison,
        right: String,
        quantities: Vec<String>,
        parameters: BTreeMap<String, f64>,
    },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Below,
    AtMost,
    Equal,
    Unequal,
    AtLeast,
    Above,
}

/// The longer ones first: the first that fits is taken.
const COMPARISONS: [(&str, Comparison); 6] = [
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("==", Comparison::Equal),
    ("!=", Comparison::Unequal),
    ("<", Comparison::Below),
    (">", Comparison::Above),
];

impl Comparison {
    fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Comparison::Below => left < right,
            Comparison::AtMost => left <= right,
            Comparison::Equal => left == right,
            Comparison::Unequal => left != right,
            Comparison::AtLeast => left >= right,
            Comparison::Above => left > right,
        }
    }
}

impl Statement {
    /// # Errors
    /// Text that is no statement, a quantity that runs of the model do not have, two sides that measure different things.
    pub(super) fn read(
        written: &str,
        names: &Names,
        parameters: &BTreeMap<String, f64>,
    ) -> Result<Statement, ProblemKind> {
        let statement = |claim| Statement { written: written.to_owned(), claim };
        if written.split_whitespace().eq(BY_ITSELF.split(' ')) {
            return Ok(statement(Claim::EndedByItself));
        }
        let (left, comparison, right) = split(written).ok_or_else(|| ProblemKind::WrongKind {
            found: format!("{written:?}"),
            expected: EXPECTED.to_owned(),
        })?;
        let mut quantities = Vec::new();
        let (left, right) =
            (with_numbers(left, names, &mut quantities)?, with_numbers(right, names, &mut quantities)?);
        let parameters = parameters.clone();
        let claim = Claim::Compared { left, comparison, right, quantities, parameters };
        let read = statement(claim);
        read.check_dimensions()?;
        Ok(read)
    }

    pub(super) fn written(&self) -> &str {
        &self.written
    }

    /// What a run has instead; none if it keeps the statement.
    pub(super) fn broken(&self, run: &RunResult, values: &BTreeMap<String, f64>) -> Option<String> {
        let Claim::Compared { comparison, quantities, .. } = &self.claim else {
            let by_itself = matches!(run.ended, Ended::AtEnd | Ended::NothingLeft);
            return (!by_itself).then(|| run.ended.to_string());
        };
        let found: Option<Vec<f64>> = quantities.iter().map(|name| values.get(name).copied()).collect();
        let (left, right) = self.sides(&found?)?;
        // What is no number, such as a share of nothing, says nothing.
        let (left, right) = (left.ok()?, right.ok()?);
        if comparison.holds(left.value, right.value) {
            return None;
        }
        Some(format!("{} and {}", in_words(left), in_words(right)))
    }

    /// Both sides with these values of the quantities; none if it is no comparison.
    fn sides(&self, values: &[f64]) -> Option<(Evaluated, Evaluated)> {
        let Claim::Compared { left, right, parameters, .. } = &self.claim else { return None };
        let mut parameters = parameters.clone();
        parameters.extend(
            values.iter().enumerate().map(|(number, value)| (format!("{STANDS_FOR}{number}"), *value)),
        );
        Some((evaluate(left, &parameters), evaluate(right, &parameters)))
    }

    fn check_dimensions(&self) -> Result<(), ProblemKind> {
        let Claim::Compared { quantities, .. } = &self.claim else { return Ok(()) };
        // Any numbers would do but those of which a difference is zero.
        #[expect(clippy::cast_precision_loss, reason = "a text names few quantities")]
        let values: Vec<f64> = (0..quantities.len()).map(|number| 1.0 + number as f64).collect();
        let Some((left, right)) = self.sides(&values) else { return Ok(()) };
        let (Some(left), Some(right)) = (self.dimension(left)?, self.dimension(right)?) else {
            return Ok(());
        };
        if left == right {
            return Ok(());
        }
        let found = format!("{:?}", self.written);
        Err(ProblemKind::WrongDimension { found, measures: right, expected: left })
    }

    /// None if that depends on the run.
    fn dimension(&self, side: Evaluated) -> Result<Option<Dimension>, ProblemKind> {
        match side {
            Ok(Measured { dimension, .. }) => Ok(Some(dimension)),
            Err(ExpressionError { fault: Fault::NotFinite, .. }) => Ok(None),
            Err(cause) => Err(ProblemKind::NoExpression { text: self.written.clone(), cause }),
        }
    }
}

type Evaluated = Result<Measured, ExpressionError>;

/// The two sides of a comparison; none if there is not exactly one.
fn split(text: &str) -> Option<(&str, Comparison, &str)> {
    let at = text.find(['<', '>', '=', '!'])?;
    let (left, rest) = text.split_at(at);
    let (right, comparison) =
        COMPARISONS.iter().find_map(|(sign, comparison)| Some((rest.strip_prefix(sign)?, *comparison)))?;
    (!right.contains(['<', '>', '=', '!'])).then_some((left, comparison, right))
}

/// An expression in which each quantity is a number with its unit, which is asked for by position.
///
/// A name goes as far as letters, digits, `_`, `.` and `-` do, so that a minus behind one needs a space.
fn with_numbers(text: &str, names: &Names, quantities: &mut Vec<String>) -> Result<String, ProblemKind> {
    let belongs = |letter: char| letter.is_alphanumeric() || "_.-".contains(letter);
    let mut rewritten = String::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        if !letter.is_alphabetic() {
            rewritten.push(letter);
            rest = &rest[letter.len_utf8()..];
            continue;
        }
        let (word, behind) = rest.split_at(rest.find(|letter| !belongs(letter)).unwrap_or(rest.len()));
        let kind = word.split_once('.').map(|(kind, _)| kind);
        if !ElementKind::ALL.iter().any(|known| kind == Some(known.word())) {
            // A parameter, a function or a unit ends where a name of an expression does.
            let end = word.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
            let (word, _) = word.split_at(end.unwrap_or(word.len()));
            rewritten.push_str(word);
            rest = &rest[word.len()..];
            continue;
        }
        let unit = names.unit(word).ok_or_else(|| ProblemKind::UnknownName {
            what: "quantity",
            name: word.to_owned(),
            nearest: names.nearest(word),
        })?;
        let _ = write!(rewritten, "({STANDS_FOR}{} {unit})", quantities.len());
        quantities.push(word.to_owned());
        rest = behind;
    }
    Ok(rewritten)
}

fn in_words(measured: Measured) -> String {
    let unit = measured.dimension.base_unit();
    let space = if unit.is_empty() { "" } else { " " };
    format!("{}{space}{unit}", measured.value)
}
