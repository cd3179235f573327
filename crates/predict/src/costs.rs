//! What the product's own work costs a processor.

use quintet_simulate::{Costs, Distribution, FrameCosts, Lending, Picos};
use quintet_tuple_space::stages;

use crate::copying::Copying;
use crate::link::{LENT, Link};
use crate::program::CALL;

/// What work takes on a processor of speed 1, in seconds.
///
/// Three kinds of cost: what protocols declare by stage (`matching`, `storing`), what the program's interface needs for a
/// call (`call`), and what a frame costs at both ends of its way, the layers included (all others).
#[derive(Clone, PartialEq, Debug)]
pub struct WorkCosts {
    /// One operation of a program: the interface, encoding the request and decoding its answer.
    pub call: f64,
    /// The space compares one tuple, or looks one up.
    pub matching: f64,
    /// The space stores one tuple.
    pub storing: f64,
    /// A frame is sent, through the layers and into the link.
    pub sending: f64,
    /// A frame is received, out of the link and through the layers.
    pub receiving: f64,
    /// Copying the data of a frame into a link or out of it, at each end; a long frame at both at once. A link copies all its frames at the
    /// pace of the largest data that it moves: these decide what stays in the caches.
    pub copying: Copying,
    /// Copying data of 4 KiB to 64 MiB into memory that is lent over shared memory, in place of the above: once, by who puts them. Nobody
    /// copies them again; the space lends on what it was lent. Longer data are copied so at both ends.
    pub lending: Copying,
    /// How long a process that waits looks for frames before it sleeps.
    pub patience: f64,
    /// Waking a process that sleeps.
    pub waking: f64,
    /// Waking it on a processor that was idle for so long that it sleeps itself.
    pub deep_waking: f64,
}

impl Default for WorkCosts {
    /// Roughly those of an AMD EPYC (Milan) virtual machine, on which others worked too.
    fn default() -> Self {
        WorkCosts {
            call: 180e-9,
            matching: 180e-9,
            storing: 180e-9,
            sending: 140e-9,
            receiving: 140e-9,
            copying: Copying::at_rate(7e9),
            lending: Copying::at_rate(20e9),
            patience: Link::SharedMemory.patience(),
            waking: 4e-6,
            deep_waking: 60e-6,
        }
    }
}

/// How long a processor is idle before it sleeps.
const SHALLOW: Picos = Picos(100_000_000);
/// Cycles of a second: a processor of speed 1 has a cycle of a nanosecond.
pub(crate) const CYCLES: f64 = 1e9;

fn costs(costs: [(quintet_contract::Stage, f64); 2]) -> Costs {
    costs.into_iter().map(|(stage, seconds)| (stage, Distribution::Constant(seconds * CYCLES))).collect()
}

impl WorkCosts {
    /// Of the space.
    pub(crate) fn of_the_space(&self) -> Costs {
        costs([(stages::MATCH, self.matching), (stages::STORE, self.storing)])
    }

    /// Of a program that calls.
    pub(crate) fn of_a_program(&self) -> Costs {
        Costs::from([(CALL, Distribution::Constant(self.call * CYCLES))])
    }

    /// Of frames between a program and the space, which are processes of one machine, over a link that moves at most so many bytes of data
    /// at once: towards the space, and from it.
    pub(crate) fn of_frames(&self, link: Link, largest: u64) -> [FrameCosts; 2] {
        if link != Link::SharedMemory {
            return [self.of_copied_frames(link, self.copying.each_byte(largest)); 2];
        }
        let lending = self.lending.each_byte(largest);
        if largest > *LENT.end() {
            return [self.of_copied_frames(link, lending); 2];
        }
        let short = self.of_copied_frames(link, self.copying.each_byte(largest.min(*LENT.start() - 1)));
        let lent = |byte| Some(Lending { from: *LENT.start(), byte: byte * CYCLES });
        [lending, 0.0].map(|byte| FrameCosts { lending: lent(byte), ..short })
    }

    /// Of frames between machines, of data of at most so many bytes.
    pub(crate) fn of_frames_between_machines(&self, largest: u64) -> FrameCosts {
        FrameCosts { pieces: None, ..self.of_copied_frames(Link::Tcp, self.copying.each_byte(largest)) }
    }

    /// Of frames of which each byte takes so many seconds at each end.
    fn of_copied_frames(&self, link: Link, byte: f64) -> FrameCosts {
        FrameCosts {
            send: self.sending * CYCLES,
            send_byte: byte * CYCLES,
            receive: self.receiving * CYCLES,
            receive_byte: byte * CYCLES,
            patience: Picos::from_seconds(self.patience),
            wake_up: self.waking * CYCLES,
            shallow: SHALLOW,
            deep_wake_up: self.deep_waking * CYCLES,
            pieces: Some(link.pieces()),
            lending: None,
        }
    }
}
