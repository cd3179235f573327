//! Round trips, both sides on a processor of their own.

use super::child::{ChildLink, Over, wait_as_told};
use super::{BURST, CONNECT_LIMIT, receive, send};
use crate::bench::case::Round;
use crate::bench::row::median;
use crate::pinning::{Pin, allowed};
use quintet::Error;
use quintet_link::{LinkAddress, connect};
use std::time::Instant;

/// Round trips that are timed together, as the limit's are: reading the clock would weigh.
const GROUP: u64 = 16;
/// Round trips of a round.
const TRIPS: u64 = 20_000;

/// A link to a child that sends every frame back.
pub(crate) struct EchoLink(ChildLink);

pub(super) fn prepare(over: Over, spin: bool) -> Result<Round, Error> {
    let processors = allowed()?;
    let mut link = EchoLink::over(over, processors.get(1).copied(), spin)?;
    link.round(TRIPS / 10)?;
    Ok(Box::new(move || link.round(TRIPS)))
}

impl EchoLink {
    /// Starts the echo over shared memory, on this processor if one is given.
    pub(crate) fn start(processor: Option<usize>) -> Result<EchoLink, Error> {
        EchoLink::over(Over::Shm, processor, false)
    }

    /// Starts the echo; both sides may be told to spin.
    fn over(over: Over, processor: Option<usize>, spin: bool) -> Result<EchoLink, Error> {
        ChildLink::start(over, "echo", processor, spin).map(EchoLink)
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
pub(super) fn echo(address: &LinkAddress, processor: Option<usize>, spin: bool) -> Result<(), Error> {
    let _pin = processor.map(Pin::to).transpose()?;
    let mut end = connect(address, CONNECT_LIMIT)?;
    wait_as_told(&mut end, spin);
    loop {
        let Ok(count) = receive(&mut end, BURST, |_| {}) else { return Ok(()) };
        for _ in 0..count {
            send(&mut end)?;
        }
    }
}
