//! `quintet exit-status`: one table, made from the error codes.

use crate::output::print_line;
use quintet::{Code, Error};
use std::collections::BTreeMap;
use std::process::ExitCode;

/// Statuses that stand for no error code alone.
const OTHERS: [(u8, &str); 4] = [
    (0, "all went well"),
    (1, "run: no task was redone although --kill-one asked for it; explore: a promise was broken"),
    (2, "explore: no promise was broken, and of some schedules it is open whether one was"),
    (64, "the command line cannot be understood"),
];

/// The table.
pub(crate) fn text() -> String {
    let mut causes: BTreeMap<u8, Vec<&str>> = BTreeMap::new();
    for (status, cause) in OTHERS {
        causes.entry(status).or_default().push(cause);
    }
    for code in Code::ALL {
        causes.entry(code.exit_status()).or_default().push(code.text());
    }
    let lines = causes.iter().map(|(status, causes)| format!("{status:>4}  {}\n", causes.join("; ")));
    let table: String = lines.collect();
    format!(
        "What each exit status means:\n\n{table}\n`quintet run` ends with the status of its master, or 128 and the signal that ended it.\nA reader that stops reading, as head does, is no error."
    )
}

pub(crate) fn run() -> Result<ExitCode, Error> {
    print_line(text())?;
    Ok(ExitCode::SUCCESS)
}
