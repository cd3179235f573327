//! A source file: its text, and which line a byte stands in.

use crate::diagnostic::{Diagnostic, Place, Severity};
use std::ops::Range;

/// Longer sources are refused: 4 MiB.
pub const MAX_SOURCE_BYTES: usize = 4 << 20;
/// Of a line that is shown, so many characters.
const SHOWN: usize = 200;

/// A file in C-Linda.
#[derive(Clone, Debug)]
pub struct Source {
    name: String,
    text: String,
    /// Where each line begins.
    lines: Vec<usize>,
}

impl Source {
    /// A source of this name and content.
    ///
    /// # Errors
    /// It is longer than [`MAX_SOURCE_BYTES`], or is not UTF-8.
    pub fn new(name: impl Into<String>, content: Vec<u8>) -> Result<Source, Box<Diagnostic>> {
        let name = name.into();
        let refused = |message: String, hint: &str| {
            let place = Place { file: name.clone(), line: 1, column: 1 };
            let hint = Some(hint.to_owned());
            Box::new(Diagnostic { severity: Severity::Error, place, source: String::new(), message, hint })
        };
        if content.len() > MAX_SOURCE_BYTES {
            let message = format!("the source has {} bytes, {MAX_SOURCE_BYTES} is the most", content.len());
            return Err(refused(message, "divide it into several files"));
        }
        let text = String::from_utf8(content).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            refused(format!("the source is not UTF-8: see byte {at}"), "convert it, with iconv say")
        })?;
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(ends).collect();
        Ok(Source { name, text, lines })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The line of a byte, from 1.
    pub(crate) fn line(&self, at: usize) -> usize {
        self.lines.partition_point(|begin| *begin <= at)
    }

    /// The line where the compiler sees it that C reads: continued lines are one, at the first.
    pub(crate) fn logical_line(&self, at: usize) -> usize {
        let mut line = self.line(at);
        while line > 1 && self.text[..self.lines[line - 1]].ends_with("\\\n") {
            line -= 1;
        }
        line
    }

    /// The place of a byte.
    pub(crate) fn place(&self, at: usize) -> Place {
        let line = self.line(at);
        let column = self.text[self.lines[line - 1]..].char_indices();
        let before = column.take_while(|(offset, _)| self.lines[line - 1] + offset < at).count();
        Place { file: self.name.clone(), line, column: before + 1 }
    }

    /// The text of a line, from 1, without its end; empty if there is none.
    #[must_use]
    pub fn line_text(&self, line: usize) -> String {
        let Some(begin) = self.lines.get(line.wrapping_sub(1)) else { return String::new() };
        let text = self.text[*begin..].lines().next().unwrap_or_default();
        text.chars().take(SHOWN).collect()
    }

    /// Something that is wrong at a byte.
    pub(crate) fn diagnostic(
        &self,
        severity: Severity,
        at: usize,
        message: impl Into<String>,
        hint: Option<&str>,
    ) -> Diagnostic {
        let place = self.place(at);
        let source = self.line_text(place.line);
        Diagnostic { severity, place, source, message: message.into(), hint: hint.map(str::to_owned) }
    }

    /// A piece of the text on one line: blanks and breaks become one blank.
    pub(crate) fn on_one_line(&self, range: Range<usize>) -> String {
        self.text[range].split_whitespace().collect::<Vec<_>>().join(" ")
    }
}
