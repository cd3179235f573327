//! Round trips, both sides on a processor of their own.

use super::child::ChildLink;
use super::{BURST, receive, send};
use crate::bench::case::Round;
use crate::bench::row::median;
use crate::pinning::{Pin, allowed};
use quintet::Error;
use quintet_link::shared_memory_connect;
use std::path::Path;
use std::time::Instant;

/// Round trips that are timed together, as the limit's are: reading the clock would weigh.
const GROUP: u64 = 16;
/// Round trips of a round.
const TRIPS: u64 = 20_000;

/// A link to a child that sends every frame back.
pub(crate) struct EchoLink(ChildLink);

pub(super) fn prepare() -> Result<Round, Error> {
    let processors = allowed()?;
    let mut link = EchoLink::start(processors.get(1).copied())?;
    link.round(TRIPS / 10)?;
    Ok(Box::new(move || link.round(TRIPS)))
}

impl EchoLink {
    /// Starts the echo, on this processor if one is given.
    pub(crate) fn start(processor: Option<usize>) -> Result<EchoLink, Error> {
        ChildLink::start("echo", processor).map(EchoLink)
    }

    /// One round trip.
    #[inline]
    pub(super) fn trip(&mut self) -> Result<(), Error> {
        send(&mut self.0.end)?;
        while receive(&mut self.0.end, BURST, |_| {})? == 0 {}
        Ok(())
    }

    /// The median of the groups, in nanoseconds a round trip.
    pub(crate) fn round(&mut self, trips: u64) -> Result<f64, Error> {
        let mut groups = Vec::new();
        for _ in 0..trips.div_ceil(GROUP) {
            let started = Instant::now();
            (0..GROUP).try_for_each(|_| self.trip())?;
            groups.push(started.elapsed().as_nanos() as f64 / GROUP as f64);
        }
        Ok(median(groups).unwrap_or(0.))
    }
}

/// Sends every frame back, until the other side goes.
pub(super) fn echo(socket: &Path, processor: Option<usize>) -> Result<(), Error> {
    let _pin = processor.map(Pin::to).transpose()?;
    let mut end = shared_memory_connect(socket)?;
    loop {
        let Ok(count) = receive(&mut end, BURST, |_| {}) else { return Ok(()) };
        for _ in 0..count {
            send(&mut end)?;
        }
    }
}
