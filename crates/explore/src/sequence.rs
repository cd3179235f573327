//! Choice sequences as files.
//!
//! ```text
//! quintet choices 1
//! # Lines like this are for people.
//! ffff000100000000
//!  0 2 0 0 1
//!  0 17
//! ```
//! After the first line, a stream's name in hexadecimal, then its groups, a line each that begins with a space.

use quintet_simulate::Sequence;
use std::fmt::{self, Write};

/// The first line of every file.
const HEAD: &str = "quintet choices 1";
/// The most choices of a file: a thousand times those of a usual run.
const MOST: usize = 10_000_000;

/// Why a file holds no choice sequence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SequenceError {
    /// The first line is another.
    NoChoices,
    /// A line is neither a stream's name, nor choices of a stream.
    Line(usize),
    /// A stream comes twice.
    Twice(u64),
    /// There are more choices than any run makes.
    TooLong,
}

/// The sequence as text, with a remark of one or more lines.
#[must_use]
pub fn write_sequence(sequence: &Sequence, remark: &str) -> String {
    let mut text = format!("{HEAD}\n");
    for line in remark.lines() {
        let _ = writeln!(text, "# {line}");
    }
    for (stream, groups) in sequence {
        let _ = writeln!(text, "{stream:x}");
        for group in groups {
            let values: String = group.iter().map(|value| format!(" {value}")).collect();
            let _ = writeln!(text, "{values}");
        }
    }
    text
}

/// The sequence that a text holds.
///
/// # Errors
/// [`SequenceError`]: the text holds none.
pub fn read_sequence(text: &str) -> Result<Sequence, SequenceError> {
    let mut lines = text.lines().enumerate();
    if lines.next().is_none_or(|(_, head)| head.trim_end() != HEAD) {
        return Err(SequenceError::NoChoices);
    }
    let mut sequence = Sequence::new();
    let (mut stream, mut count) = (None, 0);
    for (index, line) in lines.filter(|(_, line)| !line.starts_with('#') && !line.trim().is_empty()) {
        let wrong = SequenceError::Line(index + 1);
        if !line.starts_with(' ') {
            let name = u64::from_str_radix(line.trim_end(), 16).map_err(|_| wrong)?;
            if sequence.insert(name, Vec::new()).is_some() {
                return Err(SequenceError::Twice(name));
            }
            stream = Some(name);
            continue;
        }
        let values: Result<Vec<u64>, _> = line.split_whitespace().map(str::parse).collect();
        let (Ok(values), Some(groups)) = (values, stream.and_then(|name| sequence.get_mut(&name))) else {
            return Err(wrong);
        };
        count += values.len();
        if count > MOST {
            return Err(SequenceError::TooLong);
        }
        groups.push(values);
    }
    Ok(sequence)
}

impl fmt::Display for SequenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SequenceError::NoChoices => write!(f, "the first line is not \"{HEAD}\""),
            SequenceError::Line(number) => {
                write!(f, "line {number} is neither a stream's name nor choices of a stream")
            }
            SequenceError::Twice(name) => write!(f, "stream {name:x} comes twice"),
            SequenceError::TooLong => write!(f, "there are more than {MOST} choices"),
        }
    }
}

impl core::error::Error for SequenceError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_is_read_as_it_was_written() {
        let sequence = Sequence::from([(1, vec![vec![0, 5], vec![7]]), (u64::MAX, vec![vec![u64::MAX]])]);
        let text = write_sequence(&sequence, "one\ntwo");
        assert!(text.contains("# one\n# two\n"));
        assert_eq!(read_sequence(&text), Ok(sequence));
    }

    #[test]
    fn what_is_no_sequence_is_refused_with_its_place() {
        let read = |rest: &str| read_sequence(&format!("{HEAD}\n{rest}"));
        assert_eq!(read_sequence("choices"), Err(SequenceError::NoChoices));
        assert_eq!(read_sequence(""), Err(SequenceError::NoChoices));
        assert_eq!(read(" 1 2"), Err(SequenceError::Line(2)));
        assert_eq!(read("# a\n1\n 1 x"), Err(SequenceError::Line(4)));
        assert_eq!(read("1\n 18446744073709551616"), Err(SequenceError::Line(3)));
        assert_eq!(read("1\n 1\n1"), Err(SequenceError::Twice(1)));
        assert_eq!(read(""), Ok(Sequence::new()));
    }
}
