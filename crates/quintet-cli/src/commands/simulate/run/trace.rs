//! The trace of one run.

use super::arguments::Arguments;
use super::wrong;
use crate::whole_file;
use indicatif::ProgressBar;
use quintet::{Code, Error};
use quintet_model::{Model, TraceError};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Runs the first seed again, and writes what happens.
pub(super) fn write(
    path: &Path,
    arguments: &Arguments,
    model: &Model,
    stop: &AtomicBool,
) -> Result<(), Error> {
    let spinner = ProgressBar::new_spinner().with_message(format!("writing {}", path.display()));
    spinner.enable_steady_tick(Duration::from_millis(500));
    let written = whole_file::write(path, |to| {
        model.trace(arguments.first_seed, to, stop).map(|_| ()).map_err(|error| match error {
            TraceError::Model(error) => wrong(error),
            TraceError::Write(error) => whole_file::refused(path, &error),
            TraceError::Stopped => Error::new(Code::Cancelled, format!("{} was not written", path.display())),
        })
    });
    spinner.finish_and_clear();
    written
}
