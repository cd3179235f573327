//! Reading an expression. What is constant in it is computed on the way.

use super::error::{ExpressionError, Fault};
use super::words::{Placed, Word, words};
use crate::dimension::{Dimension, UNITS, Unit};
use crate::nearest::nearest;
use quintet_simulate::{Formula, Function, Operation};
use std::collections::BTreeMap;

/// Parentheses within parentheses.
const DEEPEST: usize = 50;
const FUNCTIONS: [&str; 4] = ["ceil", "floor", "min", "max"];
/// What a module can see besides its variables.
pub(super) const SEEN: [&str; 3] = ["queue", "active", "message_bytes"];

/// A formula and what it measures.
pub(super) struct Term {
    pub(super) formula: Formula,
    pub(super) dimension: Dimension,
}

impl Term {
    fn number(value: f64) -> Term {
        Term::of(Formula::Constant(value))
    }

    /// Without dimension.
    fn of(formula: Formula) -> Term {
        Term { formula, dimension: Dimension::NUMBER }
    }

    fn with(self, operation: Operation, other: Term, dimension: Dimension) -> Term {
        Term { formula: Formula::two(operation, self.formula, other.formula), dimension }
    }

    fn made(self, function: Function) -> Term {
        Term { formula: Formula::one(function, self.formula), ..self }
    }
}

/// The names that an expression may have besides those of units and functions.
#[derive(Clone, Copy)]
pub(super) struct Names<'a> {
    pub(super) parameters: &'a BTreeMap<String, f64>,
    /// The numbers of the variables of a module, whose formula it is; none: comparisons are not allowed either.
    pub(super) variables: Option<&'a BTreeMap<String, usize>>,
}

pub(super) struct Evaluation<'a> {
    words: Vec<Placed>,
    next: usize,
    /// One behind the last character.
    end: usize,
    depth: usize,
    names: Names<'a>,
}

impl<'a> Evaluation<'a> {
    /// # Errors
    /// Those of [`words`].
    pub(super) fn new(text: &str, names: Names<'a>) -> Result<Self, ExpressionError> {
        let end = text.chars().count() + 1;
        Ok(Evaluation { words: words(text)?, next: 0, end, depth: 0, names })
    }

    /// # Errors
    /// Those of [`evaluate`](super::evaluate).
    pub(super) fn run(mut self) -> Result<Term, ExpressionError> {
        let result = self.whole()?;
        match (self.words.get(self.next), result.formula.constant()) {
            (Some(_), _) => Err(self.unexpected("an operator or the end")),
            (None, Some(value)) if !value.is_finite() => {
                Err(ExpressionError { at: 1, fault: Fault::NotFinite })
            }
            (None, _) => Ok(result),
        }
    }

    /// A sum, or in a module's formula a condition.
    fn whole(&mut self) -> Result<Term, ExpressionError> {
        if self.names.variables.is_some() { self.disjunction() } else { self.sum() }
    }

    fn disjunction(&mut self) -> Result<Term, ExpressionError> {
        let mut left = self.conjunction()?;
        while self.take_word("or") {
            let right = self.conjunction()?;
            left = left.with(Operation::Or, right, Dimension::NUMBER);
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Result<Term, ExpressionError> {
        let mut left = self.negation()?;
        while self.take_word("and") {
            let right = self.negation()?;
            left = left.with(Operation::And, right, Dimension::NUMBER);
        }
        Ok(left)
    }

    fn negation(&mut self) -> Result<Term, ExpressionError> {
        let mut negative = false;
        let mut is_negated = false;
        while self.take_word("not") {
            (negative, is_negated) = (!negative, true);
        }
        let result = self.comparison()?;
        if !is_negated {
            return Ok(result);
        }
        let not = result.made(Function::Not);
        Ok(if negative { not } else { not.made(Function::Not) })
    }

    fn comparison(&mut self) -> Result<Term, ExpressionError> {
        let left = self.sum()?;
        let at = self.at();
        let Some(sign) = self.take_sign(&['<', '>', '≤', '≥', '=', '≠']) else { return Ok(left) };
        let right = self.sum()?;
        same(at, &left, &right)?;
        let (left, operation, right) = match sign {
            '<' => (left, Operation::Below, right),
            '≤' => (left, Operation::AtMost, right),
            '>' => (right, Operation::Below, left),
            '≥' => (right, Operation::AtMost, left),
            _ => (left, Operation::Equal, right),
        };
        let result = left.with(operation, right, Dimension::NUMBER);
        Ok(if sign == '≠' { result.made(Function::Not) } else { result })
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = matches!(self.words.get(self.next), Some((_, Word::Name(name))) if name == word);
        self.next += usize::from(found);
        found
    }

    fn at(&self) -> usize {
        self.words.get(self.next).map_or(self.end, |(at, _)| *at)
    }

    fn error(&self, fault: Fault) -> ExpressionError {
        ExpressionError { at: self.at(), fault }
    }

    fn unexpected(&self, expected: &'static str) -> ExpressionError {
        let found = match self.words.get(self.next) {
            Some((_, Word::Name(name))) if Unit::find(name).is_none() => return self.unknown(name),
            Some((_, Word::Name(name))) => Some(name.clone()),
            Some((_, Word::Number(value))) => Some(value.to_string()),
            Some((_, Word::Sign(sign))) => Some(sign.to_string()),
            None => None,
        };
        self.error(Fault::Unexpected { found, expected })
    }

    fn unknown(&self, name: &str) -> ExpressionError {
        if self.names.parameters.contains_key(name) || FUNCTIONS.contains(&name) {
            let expected = "an operator before it";
            return self.error(Fault::Unexpected { found: Some(name.to_owned()), expected });
        }
        let variables = self.names.variables.into_iter().flatten().map(|(name, _)| name.as_str());
        let seen = SEEN.into_iter().filter(|_| self.names.variables.is_some());
        let names =
            self.names.parameters.keys().map(String::as_str).chain(FUNCTIONS).chain(variables).chain(seen);
        let nearest = nearest(name, names.chain(UNITS.iter().map(|unit| unit.name)));
        self.error(Fault::UnknownName { name: name.to_owned(), nearest })
    }

    fn take_sign(&mut self, among: &[char]) -> Option<char> {
        match self.words.get(self.next) {
            Some((_, Word::Sign(sign))) if among.contains(sign) => {
                self.next += 1;
                Some(*sign)
            }
            _ => None,
        }
    }

    fn sum(&mut self) -> Result<Term, ExpressionError> {
        let mut left = self.product()?;
        loop {
            let at = self.at();
            let Some(sign) = self.take_sign(&['+', '-']) else { return Ok(left) };
            let right = self.product()?;
            same(at, &left, &right)?;
            let operation = if sign == '+' { Operation::Plus } else { Operation::Minus };
            let dimension = left.dimension;
            left = left.with(operation, right, dimension);
        }
    }

    fn product(&mut self) -> Result<Term, ExpressionError> {
        let mut left = self.value()?;
        while let Some(sign) = self.take_sign(&['*', '/']) {
            let right = self.value()?;
            let (operation, dimension) = match sign {
                '*' => (Operation::Times, left.dimension.times(right.dimension)),
                _ => (Operation::Over, left.dimension.over(right.dimension)),
            };
            left = left.with(operation, right, dimension);
        }
        Ok(left)
    }

    fn value(&mut self) -> Result<Term, ExpressionError> {
        let mut negative = false;
        while self.take_sign(&['-']).is_some() {
            negative = !negative;
        }
        let mut result = self.primary()?;
        if let Some((at, Word::Name(name))) = self.words.get(self.next)
            && let Some(unit) = Unit::find(name)
        {
            if result.dimension != Dimension::NUMBER {
                return Err(ExpressionError { at: *at, fault: Fault::TwoUnits { unit: unit.name } });
            }
            self.next += 1;
            result = result.with(Operation::Times, Term::number(unit.factor), unit.dimension);
        }
        Ok(if negative { result.made(Function::Negative) } else { result })
    }

    fn primary(&mut self) -> Result<Term, ExpressionError> {
        let word = self.words.get(self.next).map(|(_, word)| word.clone());
        match word {
            Some(Word::Number(value)) => {
                self.next += 1;
                Ok(Term::number(value))
            }
            Some(Word::Sign('(')) => {
                let at = self.at();
                let mut given = self.arguments()?;
                match (given.pop(), given.len()) {
                    (Some(only), 0) => Ok(only),
                    (_, others) => {
                        let (function, found) = ("a parenthesis", others + 1);
                        let fault = Fault::Arguments { function, expected: 1, found };
                        Err(ExpressionError { at, fault })
                    }
                }
            }
            Some(Word::Name(name)) => match FUNCTIONS.into_iter().find(|function| *function == name) {
                Some(function) => self.function(function),
                None => self.parameter(&name),
            },
            _ => Err(self.unexpected("a number, a parameter or a parenthesis")),
        }
    }

    fn parameter(&mut self, name: &str) -> Result<Term, ExpressionError> {
        let variable = || self.names.variables.and_then(|variables| variable(name, variables));
        let constant = self.names.parameters.get(name).map(|value| Term::number(*value));
        let Some(found) = constant.or_else(variable) else {
            return Err(self.unknown(name));
        };
        self.next += 1;
        Ok(found)
    }

    fn function(&mut self, function: &'static str) -> Result<Term, ExpressionError> {
        let at = self.at();
        self.next += 1;
        let mut given = self.arguments()?.into_iter();
        let count = given.len();
        let wrong = Fault::Arguments { function, expected: 1, found: count };
        let Some(first) = given.next() else { return Err(ExpressionError { at, fault: wrong }) };
        match (function, count) {
            ("ceil", 1) => Ok(first.made(Function::Ceil)),
            ("floor", 1) => Ok(first.made(Function::Floor)),
            ("min" | "max", _) => given.try_fold(first, |best, other| {
                same(at, &best, &other)?;
                let operation = if function == "min" { Operation::Min } else { Operation::Max };
                let dimension = best.dimension;
                Ok(best.with(operation, other, dimension))
            }),
            _ => Err(ExpressionError { at, fault: wrong }),
        }
    }

    /// What stands in parentheses, between commas.
    fn arguments(&mut self) -> Result<Vec<Term>, ExpressionError> {
        if self.take_sign(&['(']).is_none() {
            return Err(self.unexpected("an opening parenthesis"));
        }
        if self.depth == DEEPEST {
            return Err(self.error(Fault::TooDeep { limit: DEEPEST }));
        }
        self.depth += 1;
        let mut given = vec![self.whole()?];
        while self.take_sign(&[',']).is_some() {
            given.push(self.whole()?);
        }
        self.depth -= 1;
        match self.take_sign(&[')']) {
            Some(_) => Ok(given),
            None => Err(self.unexpected("a closing parenthesis")),
        }
    }
}

/// What a module sees under a name.
fn variable(name: &str, variables: &BTreeMap<String, usize>) -> Option<Term> {
    let data = |formula| Term { formula, dimension: Dimension::DATA };
    Some(match name {
        "queue" => Term::of(Formula::Queue),
        "active" => Term::of(Formula::Active),
        "message_bytes" => data(Formula::MessageBytes),
        _ => Term::of(Formula::Variable(*variables.get(name)?)),
    })
}

/// # Errors
/// [`Fault::Mixed`].
fn same(at: usize, left: &Term, right: &Term) -> Result<(), ExpressionError> {
    if left.dimension == right.dimension {
        return Ok(());
    }
    Err(ExpressionError { at, fault: Fault::Mixed { left: left.dimension, right: right.dimension } })
}
