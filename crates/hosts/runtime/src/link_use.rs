//! How a process that calls uses its link.

use quintet_link::Packets;
use std::time::Duration;

/// How a process uses its link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkUse {
    /// How long a wait spins before it sleeps.
    pub spin: Duration,
    /// How many writes a frame is sent with.
    pub packets: Packets,
}

impl Default for LinkUse {
    /// [`quintet_link::SPIN`], and one packet a frame.
    fn default() -> Self {
        LinkUse { spin: quintet_link::SPIN, packets: Packets::One }
    }
}
