//! Reading the two files.

mod cluster;
mod copying;
mod draw;
mod job;

use quintet_model::keys::{Key, Preset, Table, Takes};
use quintet_model::{Dimension, ModelError, Problem, ProblemKind, evaluate, nearest};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Bytes of a file at most.
const LONGEST: u64 = 1 << 20;

type Entry<'t> = Spanned<DeValue<'t>>;

/// A file while it is read.
struct File<'n> {
    name: &'n str,
    /// Where each line but the first begins.
    line_starts: Vec<usize>,
    problems: RefCell<Vec<Problem>>,
}

/// One table of it.
#[derive(Clone, Copy)]
struct Section<'f, 't> {
    file: &'f File<'f>,
    /// Its name, with those of the tables around it.
    path: &'f str,
    /// Where it begins.
    at: usize,
    keys: &'static Table,
    table: &'f DeTable<'t>,
}

/// The text of a file.
fn load(path: &Path) -> Result<String, ModelError> {
    let unreadable = |cause: String| {
        let (file, kind) = (Some(path.display().to_string()), ProblemKind::Unreadable { cause });
        ModelError { problems: vec![Problem { file, line: None, key: String::new(), kind }] }
    };
    let length = std::fs::metadata(path).map_err(|error| unreadable(error.to_string()))?.len();
    if length > LONGEST {
        return Err(unreadable(format!("it has {length} bytes, expected at most {LONGEST}")));
    }
    std::fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))
}

/// Reads a text with `read`. Everything that is wrong comes in the order of the lines.
fn read<T>(
    text: &str,
    name: &str,
    read: impl FnOnce(&File<'_>, &DeTable<'_>) -> Option<T>,
) -> Result<T, ModelError> {
    let line_starts =
        text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1).collect();
    let file = File { name, line_starts, problems: RefCell::default() };
    let found = match DeTable::parse(text) {
        Ok(table) => read(&file, table.get_ref()),
        Err(error) => {
            let at = error.span().map_or(text.len(), |span| span.start);
            file.problem(at, "", ProblemKind::NotToml { cause: error.message().to_owned() });
            None
        }
    };
    let mut problems = file.problems.into_inner();
    match found {
        Some(found) if problems.is_empty() => Ok(found),
        _ => {
            problems.sort_by(|a, b| (a.line, &a.key).cmp(&(b.line, &b.key)));
            Err(ModelError { problems })
        }
    }
}

impl File<'_> {
    fn problem(&self, at: usize, key: &str, kind: ProblemKind) {
        let line = Some(self.line_starts.partition_point(|start| *start <= at) + 1);
        let (file, key) = (Some(self.name.to_owned()), key.to_owned());
        self.problems.borrow_mut().push(Problem { file, line, key, kind });
    }

    fn missing(&self, at: usize, key: &str, expected: &str) {
        self.problem(at, key, ProblemKind::Missing { expected: expected.to_owned() });
    }

    fn wrong_kind(&self, entry: &Entry<'_>, key: &str, expected: &str) {
        let found = describe(entry.get_ref()).to_owned();
        self.problem(
            entry.span().start,
            key,
            ProblemKind::WrongKind { found, expected: expected.to_owned() },
        );
    }

    /// Reports tables that the file cannot have.
    fn check_names(&self, table: &DeTable<'_>, known: &[&str]) {
        for (key, _) in table {
            let name = key.get_ref().as_ref();
            if !known.contains(&name) {
                let nearest = nearest(name, known.iter().copied());
                self.problem(key.span().start, name, ProblemKind::UnknownKey { nearest });
            }
        }
    }

    /// The table that an entry is.
    fn table<'a, 't>(&self, key: &str, entry: &'a Entry<'t>) -> Option<&'a DeTable<'t>> {
        match entry.get_ref() {
            DeValue::Table(table) => Some(table),
            _ => {
                self.wrong_kind(entry, key, "a table");
                None
            }
        }
    }

    /// A table of the file, its keys checked; none if it is not there.
    fn section<'f, 't>(
        &'f self,
        table: &'f DeTable<'t>,
        path: &'f str,
        keys: &'static Table,
    ) -> Option<Section<'f, 't>> {
        let (key, entry) = table.get_key_value(path)?;
        let table = self.table(path, entry)?;
        let section = Section { file: self, path, at: key.span().start, keys, table };
        section.check_keys();
        Some(section)
    }

    /// The value of a quantity in base units; none with a problem reported.
    fn evaluate(&self, at: usize, key: &str, text: &str, expected: Dimension) -> Option<f64> {
        let found = text.to_owned();
        let measured = match evaluate(text, &BTreeMap::new()) {
            Ok(measured) => measured,
            Err(cause) => {
                self.problem(at, key, ProblemKind::NoExpression { text: found, cause });
                return None;
            }
        };
        match measured.dimension {
            measures if measures == expected => return Some(measured.value),
            Dimension::NUMBER => self.problem(at, key, ProblemKind::MissingUnit { found, expected }),
            measures => self.problem(at, key, ProblemKind::WrongDimension { found, measures, expected }),
        }
        None
    }

    /// The text of a number or a text.
    fn text(&self, key: &str, entry: &Entry<'_>, expected: &str) -> Option<String> {
        match entry.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            DeValue::Integer(integer) if integer.radix() == 10 => Some(integer.as_str().to_owned()),
            DeValue::Float(float) => Some(float.as_str().to_owned()),
            _ => {
                self.wrong_kind(entry, key, expected);
                None
            }
        }
    }
}

impl<'f, 't> Section<'f, 't> {
    fn check_keys(&self) {
        for (key, _) in self.table {
            let name = key.get_ref().as_ref();
            if self.keys.find(name).is_none() {
                let nearest = nearest(name, self.keys.keys.iter().map(|key| key.name));
                self.file.problem(key.span().start, &self.path_of(name), ProblemKind::UnknownKey { nearest });
            }
        }
    }

    fn path_of(&self, name: &str) -> String {
        format!("{}.{name}", self.path)
    }

    fn key(&self, name: &str) -> &'static Key {
        self.keys.find(name).expect("the table has the keys that are read from it")
    }

    fn entry(&self, name: &str) -> Option<&'f Entry<'t>> {
        self.table.get(name)
    }

    /// The value of a key as text, and where it is; the default if it is not there; none with a problem reported.
    fn text(&self, name: &str) -> Option<(String, usize)> {
        let key = self.key(name);
        match (self.entry(name), key.default) {
            (Some(entry), _) => {
                let text = self.file.text(&self.path_of(name), entry, &key.takes.text())?;
                Some((text, entry.span().start))
            }
            (None, Preset::Value(text)) => Some((text.to_owned(), self.at)),
            (None, Preset::Required) => {
                self.file.missing(self.at, &self.path_of(name), &key.takes.text());
                None
            }
            (None, Preset::Otherwise(_)) => None,
        }
    }

    /// A quantity or a count, in base units and in its range.
    #[expect(clippy::cast_precision_loss, reason = "counts are below 2^53")]
    fn number(&self, name: &str) -> Option<f64> {
        let (text, at) = self.text(name)?;
        let (takes, path) = (self.key(name).takes, self.path_of(name));
        let dimension =
            if let Takes::Quantity(dimension, ..) = takes { dimension } else { Dimension::NUMBER };
        let value = self.file.evaluate(at, &path, &text, dimension)?;
        let good = match takes {
            Takes::Quantity(_, least, largest) => (least..=largest).contains(&value),
            Takes::Count(least, most) => {
                value.fract() == 0.0 && (least as f64..=most as f64).contains(&value)
            }
            _ => true,
        };
        if good {
            return Some(value);
        }
        let (found, expected) = (format!("\"{text}\""), takes.text());
        self.file.problem(at, &path, ProblemKind::OutOfRange { found, expected });
        None
    }

    /// A number that is whole, or made so.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
    fn whole(&self, name: &str) -> Option<u64> {
        self.number(name).map(|value| value.round() as u64)
    }

    /// Which of the words that a key takes.
    fn word(&self, name: &str) -> Option<&'static str> {
        let (text, at) = self.text(name)?;
        let takes = self.key(name).takes;
        let Takes::Word(words) = takes else { return None };
        let found = words.iter().find(|word| **word == text).copied();
        if found.is_none() {
            let (found, expected) = (format!("\"{text}\""), takes.text());
            self.file.problem(at, &self.path_of(name), ProblemKind::OutOfRange { found, expected });
        }
        found
    }
}

/// A value in words.
fn describe(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

#[cfg(test)]
mod tests;
