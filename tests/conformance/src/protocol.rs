//! What the player and a driver say to each other: a line each. The grammar is in `docs/conformance.md`.

use crate::behaviour::{Operation, Outcome};
use crate::field::Fields;

/// What a driver answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// An operation came to this.
    Outcome(Outcome),
    /// This front end cannot say that: it has no such operation, or its language no such value.
    Cannot(String),
}

/// The line that asks for an operation. `step` is its number, `of` that of the step to which it belongs.
#[must_use]
pub fn request(step: usize, client: char, operation: &Operation, of: Option<usize>, begins: bool) -> String {
    let mut line = format!("{step} {client}");
    if begins {
        line.push_str(" begin");
    }
    line.push_str(&format!(" {}", operation.verb));
    if let Some(of) = of {
        line.push_str(&format!(" {of}"));
    }
    match operation.within_ms {
        Some(within) => line.push_str(&format!(" {within}")),
        None => line.push_str(" -"),
    }
    for fields in &operation.fields {
        line.push_str(&format!(" {}", fields.to_token()));
    }
    line
}

/// Reads what a driver said about this step.
///
/// # Errors
/// The line is no answer, or one to another step.
pub fn answer(step: usize, line: &str) -> Result<Answer, String> {
    let fault = |text: &str| format!("the driver said {line:?}: {text}");
    let mut words = line.split(' ');
    if words.next() != Some(&step.to_string()) {
        return Err(fault(&format!("this is no answer to step {step}")));
    }
    let kind = words.next().unwrap_or_default();
    let rest: Vec<&str> = words.collect();
    let number = |at: usize| -> Result<u64, String> {
        rest.get(at).and_then(|word| word.parse().ok()).ok_or_else(|| fault("a number is missing"))
    };
    let fields = |at: usize| -> Result<Fields, String> {
        let token = rest.get(at).ok_or_else(|| fault("a tuple is missing"))?;
        Fields::from_token(token).map_err(|text| fault(&text))
    };
    Ok(Answer::Outcome(match kind {
        "done" => Outcome::Done,
        "nothing" => Outcome::Nothing,
        "waits" => Outcome::Waits,
        "tuple" => Outcome::Tuple(fields(0)?),
        "leased" => Outcome::Leased(fields(1)?, number(0)?),
        "selected" if rest.len() > 2 => Outcome::SelectedLease(number(0)?, fields(1)?, number(2)?),
        "selected" => Outcome::Selected(number(0)?, fields(1)?),
        "event" => {
            Outcome::Event(rest.first().map(|word| (*word).to_owned()).unwrap_or_default(), fields(1)?)
        }
        "count" => Outcome::Count(number(0)?),
        "error" => Outcome::Error(rest.first().map(|code| (*code).to_owned()).unwrap_or_default()),
        "status" => Outcome::Status(numbers(&rest).ok_or_else(|| fault("expected name=number"))?),
        "rows" => {
            let row = |row: &&str| {
                let (leased, token) = match row.strip_prefix('!') {
                    Some(token) => (true, token),
                    None => (false, *row),
                };
                Fields::from_token(token).map(|fields| (fields, leased)).map_err(|text| fault(&text))
            };
            Outcome::Rows(rest.iter().map(row).collect::<Result<_, _>>()?)
        }
        "cannot" => return Ok(Answer::Cannot(rest.join(" "))),
        _ => return Err(fault("there is no such answer")),
    }))
}

fn numbers(words: &[&str]) -> Option<Vec<(String, u64)>> {
    words
        .iter()
        .map(|word| {
            let (name, number) = word.split_once('=')?;
            Some((name.to_owned(), number.parse().ok()?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_no_answer_is_refused() {
        for line in
            ["", "8 done", "7", "7 well", "7 tuple", "7 leased text:61", "7 count -1", "7 status waiters"]
        {
            assert!(answer(7, line).is_err(), "{line:?}");
        }
        assert_eq!(answer(7, "7 done"), Ok(Answer::Outcome(Outcome::Done)));
        assert_eq!(answer(7, "7 cannot say it"), Ok(Answer::Cannot("say it".to_owned())));
    }
}
