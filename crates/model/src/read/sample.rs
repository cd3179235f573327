//! Reading measured values from a file beside the model.

use super::Reader;
use crate::problem::ProblemKind;
use crate::quantity::{Draw, Sample};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use toml::de::DeTable;

/// Lines of a file at most.
const MOST_LINES: usize = 100_000;
/// Bytes of a file at most.
const MOST_BYTES: u64 = 4 << 20;
/// The largest value and weight.
const LARGEST: f64 = 1e100;

impl Reader {
    /// `{ file, unit }`: the file lies where the model does, or below; the current folder has those of a model that is no file.
    pub(super) fn sample(&mut self, path: &str, at: usize, table: &DeTable<'_>) -> Option<Draw> {
        let mut texts = self.texts(path, table, &["file", "unit?"])?.into_iter();
        let (name, unit) = (texts.next()?, texts.next().unwrap_or_default());
        let read = self.beside(&name).and_then(|file| read(&file)).and_then(|text| values(&text));
        match read {
            Ok(values) => Some(Draw::Sample(Arc::new(Sample::new(unit.into(), values)))),
            Err(cause) => {
                let cause = format!("{name}: {cause}");
                self.problem(at, &format!("{path}.file"), ProblemKind::Unreadable { cause });
                None
            }
        }
    }

    /// # Errors
    /// A name that leads elsewhere.
    fn beside(&self, name: &str) -> Result<PathBuf, String> {
        let is_below =
            !name.is_empty() && Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        let folder = Path::new(&self.file).parent().unwrap_or(Path::new(""));
        let place = is_below.then(|| folder.join(name));
        place.ok_or_else(|| "expected a file beside the model, or in a folder below".to_owned())
    }
}

/// # Errors
/// Why it cannot be read.
fn read(file: &Path) -> Result<String, String> {
    let found = std::fs::metadata(file).map_err(|error| error.to_string())?;
    if !found.is_file() || found.len() > MOST_BYTES {
        return Err(format!("expected a file of at most {MOST_BYTES} bytes"));
    }
    std::fs::read_to_string(file).map_err(|error| error.to_string())
}

/// Values with their weights: a line each, the weight behind a comma, 1 without. The first line may be a heading; empty lines and what
/// stands behind `#` say nothing.
///
/// # Errors
/// A line that is something else; too many lines, or none.
fn values(text: &str) -> Result<Vec<(f64, f64)>, String> {
    let mut values = Vec::new();
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let mut lines = lines.zip(1..).filter(|(line, _)| !line.is_empty()).peekable();
    lines.next_if(|(line, _)| line.starts_with(|letter: char| letter.is_alphabetic() || letter == '"'));
    for (line, number) in lines {
        if values.len() == MOST_LINES {
            return Err(format!("expected at most {MOST_LINES} lines"));
        }
        let (value, weight) = line.split_once(',').unwrap_or((line, "1"));
        let numbers = parse(value).zip(parse(weight));
        values.push(numbers.ok_or_else(|| {
            format!("line {number}: expected a value, or a value, a comma and its weight, from 0 to 1e100")
        })?);
    }
    if values.is_empty() { Err("it has no values".to_owned()) } else { Ok(values) }
}

fn parse(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number| (0.0..=LARGEST).contains(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_values_with_or_without_weights() {
        let text = "service time,count\n\n1.5, 2\n# measured on a Monday\n4\n1e-3,0 # none\n";
        assert_eq!(values(text), Ok(vec![(1.5, 2.0), (4.0, 1.0), (1e-3, 0.0)]));
    }

    #[test]
    fn other_lines_are_named() {
        let wrong = |text: &str| values(text).expect_err("it is wrong");
        for text in ["time\ncount\n", "1\n-1", "1\n1,2,3", "1\nnan", "1\n1 ms", "1\n1e101", "1\n,1"] {
            assert!(wrong(text).starts_with("line 2: expected a value"), "{text}: {}", wrong(text));
        }
        assert_eq!(wrong("time\n"), "it has no values");
        assert_eq!(wrong(&"1\n".repeat(MOST_LINES + 1)), "expected at most 100000 lines");
        assert!(values(&"1\n".repeat(MOST_LINES)).is_ok());
    }
}
