//! Isochrons while another service of the same process moves bulk: beside plain messages then, and beside isochrons without it. An isonet has a thread and links of its own.

use super::super::case::{Beside, Better, Case, Group, Prepare, Round, Unit};
use super::super::link::Over;
use super::latency::round_trip;
use super::net::Net;
use super::task::Way;
use super::{PLACEMENT, PLAIN, WAITING};
use quintet::{Bytes, Code, Error, Lab, LinkAddress, template, tuple};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

/// Round trips of a round.
const COUNT: usize = 2_000;
const BYTES: usize = 64;
/// Of a tuple.
const BULK_BYTES: usize = 1 << 20;
/// As without bulk.
const GOAL: f64 = 2.;

pub(super) fn cases() -> Vec<Case> {
    let isochrons: Prepare = || prepare(Way::Isochrons(1), true);
    let case = |beside| {
        Case::new(
            Group::Isotach,
            "isochron-rtt-64-beside-bulk-shm",
            Unit::Nanoseconds,
            Better::Lower,
            isochrons,
        )
        .beside(beside)
        .under(WAITING, PLACEMENT)
        .on_all_processors()
    };
    vec![
        case(Beside::Itself { name: PLAIN, prepare: || prepare(Way::Plain, true) }).goal(GOAL),
        case(Beside::Itself {
            name: "isochrons without bulk",
            prepare: || prepare(Way::Isochrons(1), false),
        }),
    ]
}

fn prepare(way: Way, has_bulk: bool) -> Result<Round, Error> {
    let net = Net::start(Over::Shm, 2)?;
    net.this.ping(way, 1, BYTES, COUNT / 10)?;
    let bulk = has_bulk.then(|| Bulk::begin(net.space())).transpose()?;
    Ok(net.rounds(move |net| {
        let moved = bulk.as_ref().map(Bulk::moved);
        let took = round_trip(net, way, BYTES, COUNT)?;
        match bulk.as_ref().map(Bulk::moved) == moved && has_bulk {
            true => Err(Error::new(Code::TimedOut, "no tuple was moved while isochrons were measured")),
            false => Ok(took),
        }
    }))
}

/// Puts a large tuple into a space and takes it again, without a pause, until it is dropped.
struct Bulk {
    moved: Arc<AtomicUsize>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Bulk {
    fn begin(space: &LinkAddress) -> Result<Bulk, Error> {
        let space = Lab::connect(space.clone(), 0, super::member::LEASE)?.space();
        let (moved, is_over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let (counted, told) = (Arc::clone(&moved), Arc::clone(&is_over));
        let carry = move || {
            let bytes = vec![7u8; BULK_BYTES];
            while !told.load(Ordering::Relaxed) {
                let carried = space.out(tuple!["bulk", bytes.clone()]);
                // The round finds that nothing is moved any more.
                if carried.and_then(|()| space.take(&template!["bulk", ?Bytes])).is_err() {
                    return;
                }
                counted.fetch_add(1, Ordering::Relaxed);
            }
        };
        Ok(Bulk { moved, is_over, thread: Some(std::thread::spawn(carry)) })
    }

    /// So many so far.
    fn moved(&self) -> usize {
        self.moved.load(Ordering::Relaxed)
    }
}

impl Drop for Bulk {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.take().into_iter().for_each(|thread| thread.join().unwrap_or_default());
    }
}
