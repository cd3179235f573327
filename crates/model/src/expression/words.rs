//! An expression, cut into words.

use super::error::{ExpressionError, Fault};
use crate::dimension::Unit;

/// A word of an expression.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Word {
    Number(f64),
    Name(String),
    /// One of `+-*/(),<>`, and `=` for `==`, `≤`, `≥` and `≠` for `<=`, `>=` and `!=`.
    Sign(char),
}

/// A word and at which character it begins, counted from 1.
pub(super) type Placed = (usize, Word);

/// # Errors
/// A character that no word begins with; a number with letters in it.
pub(super) fn words(text: &str) -> Result<Vec<Placed>, ExpressionError> {
    let letters: Vec<char> = text.chars().collect();
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(&letter) = letters.get(at) {
        let length = match letter {
            ' ' | '\t' => 1,
            '+' | '-' | '*' | '/' | '(' | ')' | ',' => {
                words.push((at + 1, Word::Sign(letter)));
                1
            }
            '<' | '>' | '=' | '!' => {
                let (sign, length) = comparison(letter, letters.get(at + 1))
                    .ok_or_else(|| unexpected(at, &letter.to_string()))?;
                words.push((at + 1, Word::Sign(sign)));
                length
            }
            '0'..='9' | '.' => {
                let length = number_length(&letters[at..]);
                let digits: String =
                    letters[at..at + length].iter().filter(|&&letter| letter != '_').collect();
                let value = digits.parse().map_err(|_| unexpected(at, &digits))?;
                words.push((at + 1, Word::Number(value)));
                length
            }
            'a'..='z' | 'A'..='Z' | '_' => {
                let length = name_length(&letters[at..]);
                words.push((at + 1, Word::Name(letters[at..at + length].iter().collect())));
                length
            }
            other => return Err(unexpected(at, &other.to_string())),
        };
        at += length;
    }
    Ok(words)
}

/// The sign of a comparison, and how many letters it has.
fn comparison(first: char, second: Option<&char>) -> Option<(char, usize)> {
    Some(match (first, second) {
        ('<', Some('=')) => ('≤', 2),
        ('>', Some('=')) => ('≥', 2),
        ('=', Some('=')) => ('=', 2),
        ('!', Some('=')) => ('≠', 2),
        ('<' | '>', _) => (first, 1),
        _ => return None,
    })
}

fn unexpected(at: usize, found: &str) -> ExpressionError {
    let fault = Fault::Unexpected {
        found: Some(found.to_owned()),
        expected: "a number, a name, an operator or a parenthesis",
    };
    ExpressionError { at: at + 1, fault }
}

fn count(letters: &[char], belongs: impl Fn(char) -> bool) -> usize {
    letters.iter().take_while(|&&letter| belongs(letter)).count()
}

fn number_length(letters: &[char]) -> usize {
    let belongs = |letter: char| letter.is_ascii_digit() || letter == '.' || letter == '_';
    let mantissa = count(letters, belongs);
    let rest = &letters[mantissa..];
    let sign = usize::from(rest.get(1).is_some_and(|&letter| letter == '+' || letter == '-'));
    let digits = count(rest.get(1 + sign..).unwrap_or(&[]), |letter| letter.is_ascii_digit());
    let exponent = rest.first().is_some_and(|&letter| letter == 'e' || letter == 'E') && digits > 0;
    if exponent { mantissa + 1 + sign + digits } else { mantissa }
}

/// A name; with a slash and another name if both together are a unit.
fn name_length(letters: &[char]) -> usize {
    let belongs = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let length = count(letters, belongs);
    if letters.get(length) != Some(&'/') {
        return length;
    }
    let whole = length + 1 + count(&letters[length + 1..], belongs);
    let name: String = letters[..whole].iter().collect();
    if Unit::find(&name).is_some() { whole } else { length }
}
