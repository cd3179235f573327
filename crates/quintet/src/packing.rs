//! Whether what is put goes packed: decided by how fast the network was seen to be, and how fast this machine packs.

use crate::{Code, Error};
use quintet_runtime::Calls;
use quintet_tuple_space::PlannedRequest;
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Whether long data are packed before they are put: arrays and bytes of 4 KiB or more, in requests that carry 16 KiB or more.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Packing {
    /// While the network is seen to be slower than packing. What was sent before anything is known of it goes as it is, and so does all within a machine.
    #[default]
    Auto,
    /// Always, if that makes them shorter.
    Always,
    /// Never.
    Never,
}

/// Requests with less long data go as they are.
const LEAST_BYTES: usize = 16 << 10;
/// Bytes a second that a machine packs, until it has.
const PACE_AT_FIRST: u64 = 256 << 20;
/// A network is slow if it carries less than this part of what this machine packs in the same time: to pack, to send what is left, and to
/// unpack then takes less time than to send all, also where no more than half is saved.
const SLOWER: u64 = 4;

/// Packs what a connection puts.
#[derive(Debug)]
pub(crate) struct Packer {
    packing: Packing,
    /// Bytes a second that were packed, over the last times.
    pace: AtomicU64,
}

impl Packer {
    pub(crate) fn new(packing: Packing) -> Packer {
        Packer { packing, pace: AtomicU64::new(PACE_AT_FIRST) }
    }

    /// The request as it is to be sent.
    pub(crate) fn pack<'a>(&self, planned: PlannedRequest<'a>, calls: &Calls) -> PlannedRequest<'a> {
        if planned.bulk_len() < LEAST_BYTES || !self.packs(|| calls.delivery_rate()) {
            return planned;
        }
        let (begun, bytes) = (Instant::now(), planned.bulk_len());
        let packed = planned.packed();
        self.learn(bytes, begun.elapsed().as_nanos());
        packed
    }

    /// Whether to pack, where the network carries so many bytes a second.
    fn packs(&self, rate: impl FnOnce() -> Option<u64>) -> bool {
        match self.packing {
            Packing::Never => false,
            Packing::Always => true,
            Packing::Auto => rate().is_some_and(|rate| rate < self.pace.load(Ordering::Relaxed) / SLOWER),
        }
    }

    /// So many bytes took so long. What other threads learn meanwhile may be lost: it is an estimate.
    fn learn(&self, bytes: usize, nanoseconds: u128) {
        let seen = bytes as u128 * 1_000_000_000 / nanoseconds.max(1);
        let before = u128::from(self.pace.load(Ordering::Relaxed));
        let pace = (before * 7 + seen) / 8;
        self.pace.store(u64::try_from(pace).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

impl FromStr for Packing {
    type Err = Error;

    /// # Errors
    /// [`Code::BadValue`]: another word than `auto`, `always` and `never`.
    fn from_str(word: &str) -> Result<Packing, Error> {
        [Packing::Auto, Packing::Always, Packing::Never]
            .into_iter()
            .find(|packing| packing.to_string() == word)
            .ok_or_else(|| {
                let text = format!("link.pack: it is {word:?}, expected auto, always or never");
                Error::new(Code::BadValue, text)
            })
    }
}

impl fmt::Display for Packing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Packing::Auto => "auto",
            Packing::Always => "always",
            Packing::Never => "never",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEGABYTE: u64 = 1 << 20;

    #[test]
    fn a_network_is_slow_beside_what_the_machine_packs() {
        let packer = Packer::new(Packing::Auto);
        assert!(!packer.packs(|| None), "nothing is known of it");
        assert!(packer.packs(|| Some(12 * MEGABYTE)));
        assert!(!packer.packs(|| Some(1000 * MEGABYTE)));
        assert!(!Packer::new(Packing::Never).packs(|| Some(1)));
        assert!(Packer::new(Packing::Always).packs(|| None));
    }

    #[test]
    fn a_machine_that_packs_slowly_packs_for_slow_networks_alone() {
        let packer = Packer::new(Packing::Auto);
        assert!(packer.packs(|| Some(30 * MEGABYTE)));
        // Ten megabytes a second.
        (0..100).for_each(|_| packer.learn(10 << 20, 1_000_000_000));
        assert!(!packer.packs(|| Some(30 * MEGABYTE)));
        assert!(packer.packs(|| Some(MEGABYTE)));
    }

    #[test]
    fn each_word_is_read_as_it_is_written() {
        for packing in [Packing::Auto, Packing::Always, Packing::Never] {
            assert_eq!(packing.to_string().parse(), Ok(packing));
        }
        assert!("Auto".parse::<Packing>().is_err());
    }
}
