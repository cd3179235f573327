//! Frames over a link of shared memory, with an echo in another process.

use super::Round;
use super::row::median;
use crate::companion::Companion;
use crate::connection::refused;
use crate::pinning::{Pin, allowed};
use clap::Args;
use quintet::{Code, Error};
use quintet_contract::{Address, Kind, Token};
use quintet_link::{End, LinkError, Route, SharedMemoryListener, shared_memory_connect};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;
use tempfile::TempDir;

const BODY: [u8; 64] = [7; 64];
/// Round trips that are timed together, as the limit's are: reading the clock would weigh.
const GROUP: u64 = 16;
/// Round trips of a round.
const TRIPS: u64 = 20_000;
/// How long the echo may take to come.
const START_LIMIT: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

#[derive(Args)]
pub(crate) struct EchoArguments {
    socket: PathBuf,
    /// The processor to stay on.
    processor: Option<usize>,
}

/// A link to a child that sends every frame back.
pub(crate) struct EchoLink {
    end: End,
    /// Ended when dropped.
    _echo: Companion,
    /// Removed when dropped.
    _folder: TempDir,
}

pub(super) fn prepare() -> Result<Round, Error> {
    let processors = allowed()?;
    let mut link = EchoLink::start(processors.get(1).copied())?;
    link.round(TRIPS / 10)?;
    Ok(Box::new(move || link.round(TRIPS)))
}

impl EchoLink {
    /// Starts the echo, on this processor if one is given.
    pub(crate) fn start(processor: Option<usize>) -> Result<EchoLink, Error> {
        let folder =
            tempfile::Builder::new().prefix("quintet-").tempdir().map_err(refused("make a folder"))?;
        let mut listener = SharedMemoryListener::bind(folder.path().join("socket"))?;
        let processor = processor.map(|processor| processor.to_string().into());
        let arguments = ["bench-echo".into(), listener.path().as_os_str().to_owned()];
        let echo = Companion::start(arguments.into_iter().chain(processor))?;
        loop {
            let ready = poll(&mut [PollFd::new(&listener, PollFlags::IN)], Some(&START_LIMIT));
            if ready.map_err(|errno| refused("wait for the echo")(errno.into()))? == 0 {
                return Err(Error::new(Code::PeerDied, "the echo did not start"));
            }
            if let Some(end) = listener.accept()? {
                return Ok(EchoLink { end, _echo: echo, _folder: folder });
            }
        }
    }

    /// The median of the groups, in nanoseconds a round trip.
    pub(crate) fn round(&mut self, trips: u64) -> Result<f64, Error> {
        let mut groups = Vec::new();
        for _ in 0..trips.div_ceil(GROUP) {
            let started = Instant::now();
            for _ in 0..GROUP {
                send(&mut self.end)?;
                while receive(&mut self.end)? == 0 {}
            }
            groups.push(started.elapsed().as_nanos() as f64 / GROUP as f64);
        }
        Ok(median(groups).unwrap_or(0.))
    }
}

/// Sends every frame back, until the other side goes.
pub(crate) fn echo(arguments: &EchoArguments) -> Result<ExitCode, Error> {
    let _pin = arguments.processor.map(Pin::to).transpose()?;
    let mut end = shared_memory_connect(&arguments.socket)?;
    loop {
        let Ok(count) = receive(&mut end) else { return Ok(ExitCode::SUCCESS) };
        for _ in 0..count {
            send(&mut end)?;
        }
    }
}

fn send(end: &mut End) -> Result<(), Error> {
    let route =
        Route { from: Address::new(1, 1024), to: Address::new(2, 1024), kind: Kind(0xf0), token: Token(1) };
    let room = end.sender.begin(route, BODY.len());
    room.map_err(|error| Error::new(Code::Unreachable, error.to_string()))?.copy_from_slice(&BODY);
    end.sender.commit();
    end.sender.flush().map_err(lost)
}

/// How many frames there are; waits if there are none.
fn receive(end: &mut End) -> Result<usize, Error> {
    let count = end.receiver.poll(GROUP as usize, &mut |_, _| {}).map_err(lost)?;
    if count == 0 {
        end.receiver.wait(None);
    }
    Ok(count)
}

fn lost(error: LinkError) -> Error {
    Error::new(Code::PeerDied, format!("{error:?}"))
}
