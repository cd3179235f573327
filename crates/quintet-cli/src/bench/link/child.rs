//! A link to another process of this program, and what that process does.

use super::super::predict;
use super::{echo, shared, stream};
use crate::companion::Companion;
use crate::connection::refused;
use clap::{Args, Subcommand};
use quintet::{Code, Error};
use quintet_link::{End, SharedMemoryListener};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use tempfile::TempDir;

/// How long the other process may take to come.
const START_LIMIT: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

/// What the other process does.
#[derive(Args)]
pub(crate) struct SideArguments {
    #[command(subcommand)]
    side: Side,
}

#[derive(Subcommand)]
enum Side {
    /// Sends every frame back
    Echo {
        socket: PathBuf,
        /// The processor to stay on
        processor: Option<usize>,
    },
    /// Sends as many as it is asked for
    Send { socket: PathBuf, processor: Option<usize> },
    /// Asks an echo of its own, and tells its samples
    Ask { processor: usize, echo_processor: usize },
    /// Works on the tasks of a space
    Work {
        socket: PathBuf,
        /// What a task takes, in microseconds
        micros: u64,
        processor: usize,
    },
}

impl SideArguments {
    /// Plays that side until the other one goes.
    pub(crate) fn run(&self) -> Result<ExitCode, Error> {
        match &self.side {
            Side::Echo { socket, processor } => echo::echo(socket, *processor)?,
            Side::Send { socket, processor } => stream::send(socket, *processor)?,
            Side::Work { socket, micros, processor } => predict::work(socket, *micros, *processor)?,
            Side::Ask { processor, echo_processor } => shared::ask(*processor, *echo_processor)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The arguments with which this program plays a side.
pub(in crate::bench) fn arguments(side: &str, others: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    ["bench-side".into(), side.into()].into_iter().chain(others).collect()
}

/// A link to a child that plays a side.
pub(super) struct ChildLink {
    pub(super) end: End,
    /// Ended when dropped.
    _child: Companion,
    /// Removed when dropped.
    _folder: TempDir,
}

impl ChildLink {
    /// Starts the child, on this processor if one is given.
    pub(super) fn start(side: &str, processor: Option<usize>) -> Result<ChildLink, Error> {
        let folder =
            tempfile::Builder::new().prefix("quintet-").tempdir().map_err(refused("make a folder"))?;
        let mut listener = SharedMemoryListener::bind(folder.path().join("socket"))?;
        let processor = processor.map(|processor| processor.to_string().into());
        let socket = listener.path().as_os_str().to_owned();
        let child = Companion::start(arguments(side, [socket].into_iter().chain(processor)))?;
        loop {
            let ready = poll(&mut [PollFd::new(&listener, PollFlags::IN)], Some(&START_LIMIT));
            if ready.map_err(|errno| refused("wait for the other side")(errno.into()))? == 0 {
                return Err(Error::new(Code::PeerDied, "the other side did not start"));
            }
            if let Some(end) = listener.accept()? {
                return Ok(ChildLink { end, _child: child, _folder: folder });
            }
        }
    }
}
