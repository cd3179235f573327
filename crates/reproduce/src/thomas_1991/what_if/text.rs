//! The answers for a terminal.

use super::{Question, Row, WhatIf};
use core::fmt;

/// What the words of rows and findings mean.
pub(super) const LEGEND: &str = "\
bound by an element: it is busy 95% of the time or more, of several of a kind on average. Bound by latency: none is, and the
throughput is the number of clients by the seconds of a read or job, so much of which it waits for its turn.
ahead: by more than 1%, and significantly: zero is outside of the 95% interval of the differences between runs with the same
seed. That is about the seeds, which change little but the background load, not about how right the model is.
LAN factor: bytes on the LAN for a byte of data. The fitted 2.07, where a transport processor cuts the data, is not understood; with 1.0 nothing else is fitted again.
rexec, rpc: as the study has them; with -binary they send values as they lie in memory. driver-1, driver-2: DRIVER with so many
commands a library call.";

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
                let group = format!("{}{}", row.experiment.label(), row.experiment.factor.suffix());
                if heading != group {
                    heading = group;
                    write_heading(f, row, &heading)?;
                }
                write_row(f, row)?;
            }
            writeln!(f, "\n  found:")?;
            for finding in self.told(question) {
                writeln!(f, "  - {}: {}", finding.case, finding.sentence())?;
            }
        }
        writeln!(f, "\n{LEGEND}")?;
        writeln!(f, "means of {} seeds with 95% intervals, digest {:016x}", self.seeds, self.digest)
    }
}

fn write_heading(f: &mut fmt::Formatter<'_>, row: &Row, heading: &str) -> fmt::Result {
    writeln!(f, "\n{heading}")?;
    let (throughput, seconds) = (row.unit(), row.experiment.case.application.each());
    writeln!(
        f,
        "  {:13} {:>7} {:>5} {:>10} {throughput:>22} {seconds:>22}  bound by",
        "model", "clients", "heads", "processors"
    )
}

fn write_row(f: &mut fmt::Formatter<'_>, row: &Row) -> fmt::Result {
    let setting = row.experiment.setting;
    let (throughput, seconds) = (row.words(row.throughput), row.words(row.seconds));
    writeln!(
        f,
        "  {:13} {:>7} {:>5} {:>10} {throughput:>22} {seconds:>22}  {}{}",
        row.experiment.model(),
        setting.clients,
        setting.heads,
        setting.server_processors,
        row.limit(),
        row.notes(),
    )
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
