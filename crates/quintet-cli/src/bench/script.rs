//! Scripts of benches/python, which measure the Python package as the programs of benches/peers do others.

use super::peer::Statistic;
use crate::python::default_python;
use quintet::{Code, Error};
use std::path::Path;
use std::process::Command;

/// The median of one round of a case. The script stays on the processor of whoever starts it.
///
/// # Errors
/// A script that is not here, cannot be started, fails, or says nothing that is known.
pub(super) fn round(script: &str, case: &str, options: &[&str]) -> Result<f64, Error> {
    let failed = |why: String| Error::new(Code::Resource, format!("{script}: {why}"));
    if !Path::new(script).exists() {
        return Err(failed("not here; start this in the repository's root".to_owned()));
    }
    let mut command = Command::new(default_python());
    command.args([script, "--rounds", "1", "--case", case]).args(options);
    let output = command.output().map_err(|error| failed(format!("Python cannot be started: {error}")))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    Statistic::Middle
        .find(&String::from_utf8_lossy(&output.stdout))
        .ok_or_else(|| failed("it said nothing that is known here".to_owned()))
}
