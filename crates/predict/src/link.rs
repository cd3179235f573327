//! What joins processes of one machine.

use quintet_contract::{LinkClass, Span};
use quintet_simulate::{LinkModel, Pieces};
use std::ops::RangeInclusive;

/// A kind of link between processes of one machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Link {
    /// Rings in shared memory, and memory that is lent.
    SharedMemory,
    /// A Unix stream socket.
    Unix,
    /// TCP on the loopback interface.
    Tcp,
}

/// The largest bulk of one frame over a socket.
const BULK_BYTES: usize = 1 << 20;
/// The largest bulk that shared memory lends in a copy.
const LENT_BYTES: usize = 64 << 20;
/// Bytes of the bulk that shared memory lends. What is longer, and not in memory that can be lent, goes in fragments.
pub(crate) const LENT: RangeInclusive<u64> = 4096..=LENT_BYTES as u64;

impl Link {
    /// How frames travel that take so long.
    pub(crate) fn model(self, latency: Span) -> LinkModel {
        LinkModel {
            delay_min: latency,
            delay_max: latency,
            max_bulk_bytes: if self == Link::SharedMemory { LENT_BYTES } else { BULK_BYTES },
            class: LinkClass::Machine,
            // A session keeps what goes over a socket until it is acknowledged.
            may_be_cut: self != Link::SharedMemory,
            ..LinkModel::default()
        }
    }

    /// In which pieces a long frame is written while it is read. A socket's receiver is called for the first one already: the
    /// system queues 36 KiB at a time on a Unix socket, and carries 64 KiB at a time over the loopback interface.
    pub(crate) fn pieces(self) -> Pieces {
        match self {
            Link::SharedMemory => Pieces { bytes: 16 << 10, early_wake: 128 << 10 },
            Link::Unix => Pieces { bytes: 36 << 10, early_wake: 0 },
            Link::Tcp => Pieces { bytes: 64 << 10, early_wake: 0 },
        }
    }

    /// How long, in seconds, a side that waits looks for frames before it sleeps: a look at a socket takes longer, and so does waking.
    #[must_use]
    pub fn patience(self) -> f64 {
        match self {
            Link::SharedMemory => 8e-6,
            Link::Unix | Link::Tcp => 24e-6,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_told_which_links_may_be_cut() {
        let told = [Link::SharedMemory, Link::Unix, Link::Tcp].map(|link| link.model(Span::ZERO).info());
        assert_eq!(told.map(|info| info.may_be_cut), [false, true, true]);
        assert!(told.iter().all(|info| !info.loses_frames && info.class == LinkClass::Machine));
    }
}
