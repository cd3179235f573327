//! Reading an expression and computing it, in one pass.

use super::Measured;
use super::error::{ExpressionError, Fault};
use super::words::{Placed, Word, words};
use crate::dimension::{Dimension, UNITS, Unit};
use crate::nearest::nearest;
use std::collections::BTreeMap;

/// Parentheses within parentheses.
const DEEPEST: usize = 50;
const FUNCTIONS: [&str; 4] = ["ceil", "floor", "min", "max"];

pub(super) struct Evaluation<'a> {
    words: Vec<Placed>,
    next: usize,
    /// One behind the last character.
    end: usize,
    depth: usize,
    parameters: &'a BTreeMap<String, f64>,
}

impl<'a> Evaluation<'a> {
    /// # Errors
    /// Those of [`words`].
    pub(super) fn new(text: &str, parameters: &'a BTreeMap<String, f64>) -> Result<Self, ExpressionError> {
        let end = text.chars().count() + 1;
        Ok(Evaluation { words: words(text)?, next: 0, end, depth: 0, parameters })
    }

    /// # Errors
    /// Those of [`evaluate`](super::evaluate).
    pub(super) fn run(mut self) -> Result<Measured, ExpressionError> {
        let result = self.sum()?;
        match self.words.get(self.next) {
            Some(_) => Err(self.unexpected("an operator or the end")),
            None if !result.value.is_finite() => Err(ExpressionError { at: 1, fault: Fault::NotFinite }),
            None => Ok(result),
        }
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
        if self.parameters.contains_key(name) || FUNCTIONS.contains(&name) {
            let expected = "an operator before it";
            return self.error(Fault::Unexpected { found: Some(name.to_owned()), expected });
        }
        let names = self.parameters.keys().map(String::as_str).chain(FUNCTIONS);
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

    fn sum(&mut self) -> Result<Measured, ExpressionError> {
        let mut left = self.product()?;
        loop {
            let at = self.at();
            let Some(sign) = self.take_sign(&['+', '-']) else { return Ok(left) };
            let right = self.product()?;
            same(at, left, right)?;
            left.value += if sign == '+' { right.value } else { -right.value };
        }
    }

    fn product(&mut self) -> Result<Measured, ExpressionError> {
        let mut left = self.value()?;
        while let Some(sign) = self.take_sign(&['*', '/']) {
            let right = self.value()?;
            left = if sign == '*' {
                Measured { value: left.value * right.value, dimension: left.dimension.times(right.dimension) }
            } else {
                Measured { value: left.value / right.value, dimension: left.dimension.over(right.dimension) }
            };
        }
        Ok(left)
    }

    fn value(&mut self) -> Result<Measured, ExpressionError> {
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
            result = Measured { value: result.value * unit.factor, dimension: unit.dimension };
        }
        result.value = if negative { -result.value } else { result.value };
        Ok(result)
    }

    fn primary(&mut self) -> Result<Measured, ExpressionError> {
        let word = self.words.get(self.next).map(|(_, word)| word.clone());
        match word {
            Some(Word::Number(value)) => {
                self.next += 1;
                Ok(Measured { value, dimension: Dimension::NUMBER })
            }
            Some(Word::Sign('(')) => {
                let at = self.at();
                match self.arguments()?[..] {
                    [only] => Ok(only),
                    ref several => {
                        let fault =
                            Fault::Arguments { function: "a parenthesis", expected: 1, found: several.len() };
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

    fn parameter(&mut self, name: &str) -> Result<Measured, ExpressionError> {
        let Some(&value) = self.parameters.get(name) else {
            return Err(self.unknown(name));
        };
        self.next += 1;
        Ok(Measured { value, dimension: Dimension::NUMBER })
    }

    fn function(&mut self, function: &'static str) -> Result<Measured, ExpressionError> {
        let at = self.at();
        self.next += 1;
        let given = self.arguments()?;
        match (function, &given[..]) {
            ("ceil", [only]) => Ok(Measured { value: only.value.ceil(), ..*only }),
            ("floor", [only]) => Ok(Measured { value: only.value.floor(), ..*only }),
            ("min" | "max", [first, rest @ ..]) => {
                let mut best = *first;
                for other in rest {
                    same(at, best, *other)?;
                    let min = best.value.min(other.value);
                    best.value = if function == "min" { min } else { best.value.max(other.value) };
                }
                Ok(best)
            }
            _ => {
                let fault = Fault::Arguments { function, expected: 1, found: given.len() };
                Err(ExpressionError { at, fault })
            }
        }
    }

    /// What stands in parentheses, between commas.
    fn arguments(&mut self) -> Result<Vec<Measured>, ExpressionError> {
        if self.take_sign(&['(']).is_none() {
            return Err(self.unexpected("an opening parenthesis"));
        }
        if self.depth == DEEPEST {
            return Err(self.error(Fault::TooDeep { limit: DEEPEST }));
        }
        self.depth += 1;
        let mut given = vec![self.sum()?];
        while self.take_sign(&[',']).is_some() {
            given.push(self.sum()?);
        }
        self.depth -= 1;
        match self.take_sign(&[')']) {
            Some(_) => Ok(given),
            None => Err(self.unexpected("a closing parenthesis")),
        }
    }
}

/// # Errors
/// [`Fault::Mixed`].
fn same(at: usize, left: Measured, right: Measured) -> Result<(), ExpressionError> {
    if left.dimension == right.dimension {
        return Ok(());
    }
    Err(ExpressionError { at, fault: Fault::Mixed { left: left.dimension, right: right.dimension } })
}
