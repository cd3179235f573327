//! What the C compiler says of a program, as diagnostics for editors.
//!
//! GCC and Clang say `FILE:LINE:COLUMN: error: WORDS`, then show the line; notes behind belong to what stands before. Lines of another form are no
//! diagnostics: they are shown as they are.

use quintet_clinda::{Diagnostic, Place, Severity};

/// What was said.
#[derive(Default)]
pub(super) struct CompilerSaid {
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Lines that are none, and belong to none.
    pub(super) other: Vec<String>,
}

/// What a line begins with that says how bad something is.
const SEVERITIES: [(&str, Option<Severity>); 4] = [
    ("fatal error: ", Some(Severity::Error)),
    ("error: ", Some(Severity::Error)),
    ("warning: ", Some(Severity::Warning)),
    ("note: ", None),
];

impl CompilerSaid {
    /// Reads all that was said. `line_of` gives a line of a source, from 1.
    pub(super) fn read(text: &str, line_of: impl Fn(&str, usize) -> Option<String>) -> CompilerSaid {
        let mut said = CompilerSaid::default();
        for line in text.lines() {
            match (Head::read(line), said.diagnostics.last_mut()) {
                (Some(head), last) => match (head.severity, last) {
                    (Some(severity), _) => said.diagnostics.push(head.diagnostic(severity, &line_of)),
                    (None, Some(last)) => {
                        let note = format!("{}:{}: {}", head.file, head.line, head.message);
                        last.hint = Some(match last.hint.take() {
                            Some(before) => format!("{before}; {note}"),
                            None => note,
                        });
                    }
                    (None, None) => said.other.push(line.to_owned()),
                },
                // The line that is shown, with what marks the place; or where it is: "a.cl: In function 'f':".
                (None, _) if line.starts_with(' ') || line.ends_with(':') || is_included(line) => {}
                (None, _) => said.other.push(line.to_owned()),
            }
        }
        said
    }
}

fn is_included(line: &str) -> bool {
    line.starts_with("In file included from ") || line.ends_with(',') || ends_with_count(line)
}

/// Whether this is Clang's last line: "1 error generated."
fn ends_with_count(line: &str) -> bool {
    line.ends_with(" generated.") && line.starts_with(|first: char| first.is_ascii_digit())
}

/// The first line of what is said.
struct Head<'a> {
    file: &'a str,
    line: usize,
    column: usize,
    /// None: a note.
    severity: Option<Severity>,
    message: &'a str,
}

impl<'a> Head<'a> {
    fn read(line: &'a str) -> Option<Head<'a>> {
        let (place, severity, message) = SEVERITIES.iter().find_map(|(words, severity)| {
            let (place, message) = line.split_once(&format!(": {words}"))?;
            Some((place, *severity, message))
        })?;
        let mut parts = place.rsplitn(3, ':');
        let (last, middle, first) = (parts.next()?, parts.next()?, parts.next());
        // Some places have no column.
        let (file, number, column) = match (first, middle.parse()) {
            (Some(file), Ok(number)) => (file, number, last.parse().ok()?),
            _ => (place.rsplit_once(':')?.0, last.parse().ok()?, 1),
        };
        Some(Head { file, line: number, column, severity, message })
    }

    fn diagnostic(&self, severity: Severity, line_of: &impl Fn(&str, usize) -> Option<String>) -> Diagnostic {
        Diagnostic {
            severity,
            place: Place { file: self.file.to_owned(), line: self.line, column: self.column },
            source: line_of(self.file, self.line).unwrap_or_default(),
            message: self.message.to_owned(),
            hint: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<String>, Vec<String>) {
        let said = CompilerSaid::read(text, |file, line| (file == "a.cl").then(|| format!("line {line}")));
        let shown = said.diagnostics.iter().map(|found| {
            let Place { file, line, column } = &found.place;
            let (name, hint) = (found.severity.name(), found.hint.as_deref().unwrap_or("-"));
            format!("{file}|{line}|{column}|{name}|{}|{hint}|{}", found.message, found.source)
        });
        (shown.collect(), said.other)
    }

    #[test]
    fn what_gcc_and_clang_say_becomes_diagnostics() {
        let gcc = "a.cl: In function 'f':\na.cl:6:9: error: 'missing' undeclared (first use in this function)\n    6 |     n = missing;\n      |         ^~~~~~~\n\
            a.cl:6:9: note: each undeclared identifier is reported only once\nIn file included from b.h:1,\n                 from a.cl:1:\nb.h:3: warning: odd\n";
        let expected = [
            "a.cl|6|9|error|'missing' undeclared (first use in this function)|a.cl:6: each undeclared identifier is reported only once|line 6",
            "b.h|3|1|warning|odd|-|",
        ];
        assert_eq!(read(gcc), (expected.map(str::to_owned).to_vec(), vec![]));
        let clang = "C:/x/a.cl:2:1: fatal error: 'n.h' file not found\n    2 | #include <n.h>\n      | ^\n1 error generated.\n";
        assert_eq!(read(clang).0, ["C:/x/a.cl|2|1|error|'n.h' file not found|-|"]);
    }

    #[test]
    fn what_is_no_diagnostic_is_kept() {
        let text = "cc: internal trouble\na.cl:x: error: no line\nnote: of nothing";
        assert_eq!(read(text), (vec![], text.lines().map(str::to_owned).collect()));
    }
}
