//! A note as text: lines of words with tabs between them.
//!
//! ```text
//! quintet-clinda 1 6                                      version, and how many lines follow
//! file            worker.cl
//! real_main       9     1      }                          line, column, text of that line
//! operation       in    4      5      in("n", ?n);  in("n", ?n)
//! text            "n"                                     its fields
//! formal          int
//! ```

use super::{Note, Noted, Spot};
use crate::diagnostic::Place;
use crate::field::{Array, Count, Element, Field};
use crate::operation::{MAX_FIELDS, MAX_OPERATIONS, Verb};
use crate::types::Scalar;
use std::fmt;
use std::iter::Peekable;

/// The first word of a note, and the version of what follows.
const NAME: &str = "quintet-clinda";
const VERSION: u32 = 1;

/// Why a note cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoteError {
    /// Another version has written it: this one.
    OtherVersion(u32),
    /// This line of it, from 1, is none of a note.
    Damaged(usize),
}

impl fmt::Display for NoteError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoteError::OtherVersion(found) => write!(
                out,
                "its note for the link is of version {found}, and this quintet reads {VERSION}: compile it again"
            ),
            NoteError::Damaged(line) => {
                write!(out, "its note for the link is damaged, at line {line}: compile it again")
            }
        }
    }
}

impl std::error::Error for NoteError {}

impl Note {
    /// Its lines, each with its end.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = vec![line(&["file", &self.file])];
        lines.extend(self.real_main.iter().map(|spot| located(&["real_main"], spot, &[])));
        for operation in &self.operations {
            lines.push(located(&["operation", operation.verb.name()], &operation.spot, &[&operation.words]));
            lines.extend(operation.fields.iter().map(field_line));
        }
        lines.insert(0, format!("{NAME} {VERSION} {}\n", lines.len()));
        lines
    }

    /// Reads the notes of a section, one behind the other.
    pub(crate) fn read_all(section: &[u8]) -> Result<Vec<Note>, NoteError> {
        let text = std::str::from_utf8(section).map_err(|_| NoteError::Damaged(1))?;
        let mut reader = Reader { lines: text.split_inclusive('\n').peekable(), number: 0 };
        let mut notes = Vec::new();
        while reader.lines.peek().is_some() {
            let before = reader.number;
            notes.push(reader.note().ok_or(NoteError::Damaged(reader.number.max(before + 1)))??);
        }
        Ok(notes)
    }
}

/// Words as a line.
fn line(words: &[&str]) -> String {
    let escaped =
        words.iter().map(|word| word.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n"));
    escaped.collect::<Vec<_>>().join("\t") + "\n"
}

fn located(before: &[&str], spot: &Spot, behind: &[&str]) -> String {
    let (number, column) = (spot.place.line.to_string(), spot.place.column.to_string());
    line(&[before, &[&number, &column, &spot.source], behind].concat())
}

fn field_line(field: &Field) -> String {
    match field {
        Field::Text(words) => line(&["text", words]),
        Field::Value { scalar, constant: Some(words) } => line(&["constant", scalar.c_name(), words]),
        Field::Value { scalar, .. } => line(&["value", scalar.c_name()]),
        Field::Formal { scalar, .. } => line(&["formal", scalar.c_name()]),
        Field::Record { record, is_formal } => line(&[formal("record", *is_formal), record]),
        Field::Array(array) => array_line(array),
        Field::Call(call) => line(&["value", call.result.c_name()]),
    }
}

fn array_line(array: &Array) -> String {
    let (kind, element) = match &array.element {
        Element::Scalar(scalar) => ("array", scalar.c_name()),
        Element::Record(record) => ("records", record.as_str()),
    };
    let count = array.exactly().map_or("any".to_owned(), |count| count.to_string());
    let inner: Vec<String> = array.inner.iter().map(u64::to_string).collect();
    let inner: Vec<&str> = inner.iter().map(String::as_str).collect();
    line(&[&[formal(kind, array.is_formal), element, &count], inner.as_slice()].concat())
}

/// The word for a kind of field that may be a formal.
fn formal(kind: &'static str, is_formal: bool) -> &'static str {
    match (kind, is_formal) {
        ("record", true) => "formal-record",
        ("records", true) => "formal-records",
        ("array", true) => "formal-array",
        (kind, _) => kind,
    }
}

/// Lines that are read one after the other. What is no note gives none.
struct Reader<'a, I: Iterator<Item = &'a str>> {
    lines: Peekable<I>,
    number: usize,
}

impl<'a, I: Iterator<Item = &'a str>> Reader<'a, I> {
    fn next(&mut self) -> Option<&'a str> {
        self.number += 1;
        self.lines.next()?.strip_suffix('\n')
    }

    fn note(&mut self) -> Option<Result<Note, NoteError>> {
        let head: Vec<&str> = self.next()?.split(' ').collect();
        let [NAME, version, ref counts @ ..] = head[..] else { return None };
        match version.parse().ok()? {
            VERSION => {}
            other => return Some(Err(NoteError::OtherVersion(other))),
        }
        let [count] = counts else { return None };
        let end = self.number.checked_add(count.parse().ok()?)?;
        let mut note = self.beginning()?;
        while self.number < end {
            let words = words(self.next()?)?;
            match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                ["real_main", line, column, source] if note.real_main.is_none() => {
                    note.real_main = Some(spot(&note.file, line, column, source)?);
                }
                ["operation", verb, line, column, source, words] => {
                    let (verb, spot) = (Verb::of(verb)?, spot(&note.file, line, column, source)?);
                    note.operations.push(Noted { verb, spot, words: words.to_owned(), fields: Vec::new() });
                }
                ref words => note.operations.last_mut()?.fields.push(field(words)?),
            }
        }
        let has_its_fields = |operation: &Noted| (1..=MAX_FIELDS).contains(&operation.fields.len());
        let is_whole = self.number == end && note.operations.len() <= MAX_OPERATIONS;
        (is_whole && note.operations.iter().all(has_its_fields)).then_some(Ok(note))
    }

    fn beginning(&mut self) -> Option<Note> {
        match words(self.next()?)?.as_slice() {
            [word, file] if word == "file" => Some(Note {
                file: file.clone(),
                real_main: None,
                operations: Vec::new(),
                is_in_library: false,
            }),
            _ => None,
        }
    }
}

/// The words of a line.
fn words(line: &str) -> Option<Vec<String>> {
    line.split('\t').map(unescaped).collect()
}

fn unescaped(word: &str) -> Option<String> {
    let mut text = String::with_capacity(word.len());
    let mut letters = word.chars();
    while let Some(letter) = letters.next() {
        text.push(match letter {
            '\\' => match letters.next()? {
                't' => '\t',
                'n' => '\n',
                '\\' => '\\',
                _ => return None,
            },
            letter => letter,
        });
    }
    Some(text)
}

fn spot(file: &str, line: &str, column: &str, source: &str) -> Option<Spot> {
    let (line, column) = (line.parse().ok()?, column.parse().ok()?);
    Some(Spot { place: Place { file: file.to_owned(), line, column }, source: source.to_owned() })
}

fn field(words: &[&str]) -> Option<Field> {
    Some(match *words {
        ["text", words] => Field::Text(words.to_owned()),
        ["constant", scalar, words] => {
            Field::Value { scalar: Scalar::named(scalar)?, constant: Some(words.to_owned()) }
        }
        ["value", scalar] => Field::Value { scalar: Scalar::named(scalar)?, constant: None },
        ["formal", scalar] => Field::Formal { scalar: Scalar::named(scalar)?, is_anonymous: true },
        [kind @ ("record" | "formal-record"), record] => {
            Field::Record { record: record.to_owned(), is_formal: kind == "formal-record" }
        }
        [kind, element, count, ref inner @ ..] => Field::Array(array(kind, element, count, inner)?),
        _ => return None,
    })
}

fn array(kind: &str, element: &str, count: &str, inner: &[&str]) -> Option<Array> {
    let element = match kind {
        "array" | "formal-array" => Element::Scalar(Scalar::named(element)?),
        "records" | "formal-records" => Element::Record(element.to_owned()),
        _ => return None,
    };
    let count = if count == "any" { Count::Given } else { Count::Fixed(count.parse().ok()?) };
    let inner = inner.iter().map(|length| length.parse().ok()).collect::<Option<Vec<u64>>>()?;
    Some(Array { element, inner, count, is_formal: kind.starts_with("formal-") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Expanded, Source, Unit};

    fn note() -> Note {
        let text = "struct p { int x; }; enum e { A }; int f(int x);\nvoid real_main(void) {\n int n, a[3][4]; struct p p, q[2]; double *d; enum e c;\n\tout(\"a\\tb\", 3, n, c, p, a, q, d:n); in(\"x\"\n\"y\", 3, ?n, ?c, ?p, ?a, ?q, ?d:);\n eval(f(1)); }";
        let source = Source::new("a b.cl", text.into()).unwrap();
        let expanded = Expanded::unexpanded(&source);
        Note::of(&Unit::read(source, &expanded).unwrap_or_else(|found| panic!("{}", found[0])))
    }

    fn read(text: &str) -> Result<Vec<Note>, NoteError> {
        Note::read_all(text.as_bytes())
    }

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let text = note().lines().concat();
        assert_eq!(read(&text), Ok(vec![note()]), "{text}");
        assert_eq!(read(&text.repeat(2)), Ok(vec![note(), note()]));
        assert_eq!(read(""), Ok(vec![]));
    }

    #[test]
    fn what_is_no_note_is_refused_with_its_line() {
        let text = note().lines().concat();
        assert_eq!(read(&text.replacen(" 1 ", " 2 ", 1)), Err(NoteError::OtherVersion(2)));
        assert_eq!(read("quintet-clinda 7"), Err(NoteError::Damaged(1)));
        assert_eq!(read("quintet-clinda 1 1\nfile\n"), Err(NoteError::Damaged(2)));
        assert_eq!(read(&text.replace("formal\tint", "formal\tnumber")), Err(NoteError::Damaged(16)));
        assert_eq!(Note::read_all(b"\xff"), Err(NoteError::Damaged(1)));
        // Wherever it is cut, or a line is missing, it is none.
        for end in 1..text.len() {
            assert!(text.is_char_boundary(end) && read(&text[..end]).is_err(), "{end}");
        }
        let lines = note().lines();
        for missing in 0..lines.len() {
            let left: String = lines
                .iter()
                .enumerate()
                .filter(|(at, _)| *at != missing)
                .map(|(_, one)| one.as_str())
                .collect();
            assert!(read(&left).is_err(), "{missing}");
        }
    }
}
