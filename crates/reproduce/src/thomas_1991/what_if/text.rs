//! The answers for a terminal.

use super::{Question, Row, WhatIf};
use core::fmt;

impl fmt::Display for WhatIf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for question in Question::ALL {
            let rows: Vec<&Row> = self.rows.iter().filter(|row| row.question == question).collect();
            if rows.is_empty() {
                continue;
            }
            writeln!(f, "\n{}", question.text())?;
            let mut heading = String::new();
            for row in rows {
                if heading != row.experiment.label() {
                    heading = row.experiment.label();
                    write_heading(f, row, &heading)?;
                }
                write_row(f, row)?;
            }
            writeln!(f, "\n  found:")?;
            for finding in self.findings.iter().filter(|finding| finding.question == question) {
                writeln!(f, "  - {}: {}", finding.case, finding.text)?;
            }
        }
        writeln!(f, "\nmeans of {} seeds with 95% intervals, digest {:016x}", self.seeds, self.digest)
    }
}

fn write_heading(f: &mut fmt::Formatter<'_>, row: &Row, heading: &str) -> fmt::Result {
    writeln!(f, "\n{heading}")?;
    let (throughput, seconds) = (row.unit(), row.experiment.case.application.each());
    writeln!(
        f,
        "  {:13} {:>7} {:>5} {:>10} {throughput:>22} {seconds:>22}  busiest",
        "model", "clients", "heads", "processors"
    )
}

fn write_row(f: &mut fmt::Formatter<'_>, row: &Row) -> fmt::Result {
    let setting = row.experiment.setting;
    let (element, share) = row.bottleneck();
    let (throughput, seconds) = (row.throughput.to_string(), row.seconds.to_string());
    write!(
        f,
        "  {:13} {:>7} {:>5} {:>10} {throughput:>22} {seconds:>22}  {element} {share:.1}%",
        row.experiment.model(),
        setting.clients,
        setting.heads,
        setting.server_processors,
    )?;
    if row.lost > 0 {
        write!(f, "  ({} messages lost)", row.lost)?;
    }
    writeln!(f)
}

impl super::Application {
    /// What takes the seconds of a row.
    pub(super) const fn each(self) -> &'static str {
        match self {
            super::Application::Realtime { .. } => "s a read",
            super::Application::Batch { .. } => "s a job",
        }
    }
}
