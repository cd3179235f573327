//! What is wrong with a program: where, and what to do.

use std::fmt;

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    /// The program cannot be compiled.
    Error,
    /// It can, and may not do what it seems to.
    Warning,
}

impl Severity {
    /// `error` or `warning`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// A place in a source.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    /// The file, as it was named.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// Something that is wrong. Shown, it has the line of the source, as C compilers show it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Where it is.
    pub place: Place,
    /// That line, as it stands there.
    pub source: String,
    /// What is wrong.
    pub message: String,
    /// What to do, if there is something to say.
    pub hint: Option<String>,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}: {}", self.place, self.severity.name(), self.message)?;
        if !self.source.is_empty() {
            // Tabs stay tabs, so that the mark stands below.
            let before = self.source.chars().take(self.place.column.saturating_sub(1));
            let blanks: String = before.map(|letter| if letter == '\t' { '\t' } else { ' ' }).collect();
            write!(out, "\n    {}\n    {blanks}^", self.source)?;
        }
        match &self.hint {
            Some(hint) => write!(out, "\n    hint: {hint}"),
            None => Ok(()),
        }
    }
}
