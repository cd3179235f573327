//! What is said of a program: to people on standard error, to programs as one JSON object.

use super::options::{Options, Stage};
use crate::output::{print_json, print_line};
use quintet::Error;
use quintet_clinda::{Diagnostic, Severity, Whole};
use serde_json::{Value, json};
use std::io::{Write, stderr};
use std::process::ExitCode;

/// What was found.
#[derive(Default)]
pub(super) struct Report {
    diagnostics: Vec<Diagnostic>,
    /// Whether the C compiler was content, if it was asked.
    pub(super) compiler_succeeded: bool,
}

impl Report {
    pub(super) fn extend(&mut self, diagnostics: Vec<Diagnostic>) {
        self.diagnostics.extend(diagnostics);
    }

    /// Shows lines as they are.
    pub(super) fn show(&self, lines: &[String]) {
        for line in lines {
            // If that fails there is nobody to tell.
            let _ = writeln!(stderr(), "{line}");
        }
    }

    pub(super) fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Says it, and what to exit with.
    pub(super) fn finish(&self, options: &Options, whole: Option<&Whole>) -> Result<ExitCode, Error> {
        let is_wanted = |found: &&Diagnostic| found.severity == Severity::Error || !options.has_no_warnings();
        for diagnostic in self.diagnostics.iter().filter(is_wanted) {
            // If that fails there is nobody to tell.
            let _ = writeln!(stderr(), "{diagnostic}");
        }
        let is_good = self.compiler_succeeded && !self.has_errors();
        let analysis = whole.filter(|_| options.analysis).map(Whole::analysis);
        if options.json {
            let diagnostics: Vec<Value> = self.diagnostics.iter().filter(is_wanted).map(diagnostic).collect();
            let mut object = json!({"ok": is_good, "diagnostics": diagnostics});
            if let Some(analysis) = &analysis {
                object["partitions"] = analysis.partitions().iter().map(partition).collect();
            }
            print_json(&object)?;
        } else if let Some(analysis) = &analysis {
            print_line(analysis)?;
        } else if options.stage == Stage::Check && is_good {
            print_line("nothing is wrong")?;
        }
        Ok(ExitCode::from(u8::from(!is_good)))
    }
}

fn diagnostic(found: &Diagnostic) -> Value {
    json!({
        "severity": found.severity.name(),
        "file": found.place.file,
        "line": found.place.line,
        "column": found.place.column,
        "message": found.message,
        "hint": found.hint,
        "source": found.source,
    })
}

fn partition(found: &quintet_clinda::Partition) -> Value {
    let operations: Vec<Value> = found
        .operations()
        .iter()
        .map(|operation| {
            json!({
                "verb": operation.verb.name(),
                "file": operation.place.file,
                "line": operation.place.line,
                "column": operation.place.column,
                "text": operation.text,
            })
        })
        .collect();
    json!({
        "fields": found.fields(),
        "class": found.class().name(),
        "key": found.class().key(),
        "taken": found.is_taken(),
        "operations": operations,
    })
}
