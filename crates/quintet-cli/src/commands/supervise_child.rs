//! `quintet supervise-child`: becomes a program that the kernel ends together with the process that started it.
//!
//! The request must be made in the child itself, between its start and the program's: that is all this command does.

use crate::descriptors;
use clap::Args;
use quintet::{Code, Error};
use quintet_process::until_written;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use std::convert::Infallible;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

#[derive(Args)]
pub(crate) struct Arguments {
    /// The process whose end ends this one
    parent: i32,
    /// How many descriptors it may have, if not as many as its parent
    #[arg(long, value_name = "NUMBER")]
    descriptors: Option<u64>,
    /// The program and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    command: Vec<OsString>,
}

/// The command that becomes `program` as a child of this process, and ends when the calling thread does.
///
/// # Errors
/// The system does not tell where this program is.
pub(crate) fn supervised(program: impl Into<OsString>) -> Result<Command, Error> {
    let this = std::env::current_exe().map_err(crate::connection::refused("find this program"))?;
    let mut command = Command::new(this);
    command.arg("supervise-child");
    if let Some(limit) = descriptors::of_children() {
        command.arg("--descriptors").arg(limit.to_string());
    }
    command.arg(std::process::id().to_string()).arg("--").arg(program.into());
    Ok(command)
}

/// Returns only if it failed.
pub(crate) fn run(arguments: &Arguments) -> Error {
    if let Err(errno) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return Error::new(Code::Resource, format!("end together with the parent: {errno}"));
    }
    if getppid().map(Pid::as_raw_pid) != Some(arguments.parent) {
        return Error::new(Code::PeerDied, "the parent ended before its child began");
    }
    if let Some(Err(error)) = arguments.descriptors.map(descriptors::lower) {
        return error;
    }
    let [program, rest @ ..] = &arguments.command[..] else {
        return Error::new(Code::BadValue, "no program is named");
    };
    let mut command = Command::new(program);
    command.args(rest);
    let Err(error) = until_written(|| Err::<Infallible, _>(command.exec()));
    Error::new(Code::Resource, format!("{} cannot be started: {error}", program.display()))
}
