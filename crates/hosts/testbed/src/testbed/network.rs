//! The lines between the machines of a testbed, and what goes over each: without I/O.
//!
//! Every machine has a line to every other. A packet is an Ethernet frame; its destination says to which machine it goes, and what is for
//! all goes over each line by itself.

use super::request::Change;
use quintet_contract::Random;
use quintet_line::{Fate, Impairment, Line};
use std::time::Instant;

/// Packets that are on their way over one line at most. What comes beyond is dropped.
const MAX_HELD: usize = 16_384;
/// An Ethernet header: destination, source, type.
const HEADER_BYTES: usize = 14;
/// The type of address resolution (RFC 826).
const ADDRESS_RESOLUTION: [u8; 2] = [0x08, 0x06];

/// An Ethernet address.
pub(super) type HardwareAddress = [u8; 6];

/// What one line has carried and lost, in packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// That arrived, doubled ones twice.
    pub forwarded: u64,
    /// Bytes of those, Ethernet headers included.
    pub forwarded_bytes: u64,
    /// Dropped by chance.
    pub lost: u64,
    /// Dropped because too many waited.
    pub overflowed: u64,
    /// Sent over it while it was cut or the other machine was without power, or on their way at that moment.
    pub cut: u64,
}

/// One way from a machine to another.
#[derive(Debug)]
pub(super) struct Way {
    line: Line<Box<[u8]>>,
    is_cut: bool,
    counts: Counts,
}

/// All lines of a testbed.
#[derive(Debug)]
pub(super) struct Network {
    machines: usize,
    /// From each machine to each, also to itself, where nothing goes.
    ways: Vec<Way>,
}

/// Takes a packet for a machine. False if that has no device.
pub(super) trait Deliver: FnMut(usize, &[u8]) -> bool {}
impl<F: FnMut(usize, &[u8]) -> bool> Deliver for F {}

/// The hardware address of the machine of this number. The second byte and the third tell testbeds apart for who looks at packets.
pub(super) fn hardware_address(subnet: u8, machine: usize) -> HardwareAddress {
    // Locally administered, for one receiver.
    [0x02, 0x51, subnet, 0, 0, machine as u8]
}

impl Network {
    pub(super) fn new(machines: usize, seed: u64) -> Network {
        let way = |number: usize| Way {
            line: Line::new(Impairment::default(), Random::new(seed, number as u64)),
            is_cut: false,
            counts: Counts::default(),
        };
        Network { machines, ways: (0..machines * machines).map(way).collect() }
    }

    /// The way from one machine to another, if there are these machines.
    pub(super) fn way(&self, from: usize, to: usize) -> Option<&Way> {
        (from < self.machines && to < self.machines && from != to)
            .then(|| &self.ways[from * self.machines + to])
    }

    fn way_mut(&mut self, from: usize, to: usize) -> Option<&mut Way> {
        self.way(from, to)?;
        self.ways.get_mut(from * self.machines + to)
    }

    /// Something becomes different about a line. False if there is none.
    pub(super) fn change(&mut self, from: usize, to: usize, change: &Change) -> bool {
        let Some(way) = self.way_mut(from, to) else { return false };
        way.line.impair(change.applied_to(way.line.impairment()));
        if let Some(cut) = change.cut {
            way.is_cut = cut;
            if cut {
                way.counts.cut += way.line.discard() as u64;
            }
        }
        true
    }

    /// A line becomes perfect, and what is on its way is due. False if there is none.
    pub(super) fn heal(&mut self, now: Instant, from: usize, to: usize) -> bool {
        let Some(way) = self.way_mut(from, to) else { return false };
        way.line.impair(Impairment::default());
        way.line.release_all(now);
        way.is_cut = false;
        true
    }

    /// Takes a packet that a machine sent. What comes at once is delivered.
    pub(super) fn arrive(&mut self, now: Instant, from: usize, packet: &[u8], deliver: &mut impl Deliver) {
        let Some(header) = packet.first_chunk::<HEADER_BYTES>() else { return };
        // Addresses are found whatever is wrong with a line: a cut one way only would else be one both ways.
        let is_free = header[12..] == ADDRESS_RESOLUTION;
        let machines = self.machines;
        let [_, _, _, _, _, number, ..] = *header;
        let is_known = |to: usize| to < machines && header[..2] == hardware_address(0, 0)[..2];
        let receiver = usize::from(number);
        let receivers = if is_known(receiver) { receiver..receiver + 1 } else { 0..machines };
        for to in receivers {
            if is_free && to != from {
                deliver(to, packet);
            } else if let Some(way) = self.way_mut(from, to) {
                way.arrive(now, to, packet, deliver);
            }
        }
    }

    /// Delivers what is due.
    pub(super) fn deliver_due(&mut self, now: Instant, deliver: &mut impl Deliver) {
        let machines = self.machines;
        for (number, way) in self.ways.iter_mut().enumerate() {
            while let Some(packet) = way.line.take_due(now) {
                way.counts.delivered(deliver(number % machines, &packet), packet.len());
            }
        }
    }

    /// When the next packet is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.ways.iter().filter_map(|way| way.line.next_due()).min()
    }
}

impl Way {
    fn arrive(&mut self, now: Instant, to: usize, packet: &[u8], deliver: &mut impl Deliver) {
        if self.is_cut {
            self.counts.cut += 1;
        } else if self.line.held() == 0 && *self.line.impairment() == Impairment::default() {
            // The usual case: nothing is copied.
            self.counts.delivered(deliver(to, packet), packet.len());
        } else if self.line.held() >= MAX_HELD {
            self.counts.overflowed += 1;
        } else {
            match self.line.arrive(now, packet.len(), || packet.into()) {
                Fate::Held => {}
                Fate::Lost => self.counts.lost += 1,
                Fate::Overflowed => self.counts.overflowed += 1,
            }
        }
    }

    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    pub(super) fn impairment(&self) -> &Impairment {
        self.line.impairment()
    }

    pub(super) fn counts(&self) -> Counts {
        self.counts
    }

    /// Packets on their way.
    pub(super) fn held(&self) -> usize {
        self.line.held()
    }
}

impl Counts {
    fn delivered(&mut self, it_is: bool, bytes: usize) {
        if it_is {
            self.forwarded += 1;
            self.forwarded_bytes += bytes as u64;
        } else {
            self.cut += 1;
        }
    }
}

#[cfg(test)]
mod tests;
