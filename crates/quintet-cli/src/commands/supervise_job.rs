//! `quintet supervise-job`: ends what is left of a job that was killed and could tidy up nothing itself.

use crate::connection::refused;
use clap::Args;
use quintet::Error;
use quintet_process::{Supervisor, attend};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;

#[derive(Args)]
pub(crate) struct Arguments {
    /// The job's name
    job: String,
    /// Its folder
    folder: PathBuf,
}

/// Starts it for the job with this folder.
///
/// # Errors
/// The system refused.
pub(crate) fn start(folder: &Path) -> Result<Supervisor, Error> {
    let mut command = Command::new(std::env::current_exe().map_err(refused("find this program"))?);
    command.arg("supervise-job");
    Supervisor::start(command, folder).map_err(refused("start another process of this program"))
}

/// # Errors
/// The system refused to handle signals, or to remove the folder.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // Whoever asks everybody to end asks the job, too.
        signal_hook::flag::register(signal, Arc::default()).map_err(refused("handle signals"))?;
    }
    attend(&arguments.job, &arguments.folder).map_err(refused("remove the job's folder"))?;
    Ok(ExitCode::SUCCESS)
}
