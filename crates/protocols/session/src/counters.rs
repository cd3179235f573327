//! What happened, in numbers.

/// Frames since the start, over all peers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Frames that the protocol above sent, each once, however often it was retransmitted.
    pub sent: u64,
    /// Frames given to the protocol above.
    pub received: u64,
    /// Frames that had come before.
    pub duplicates: u64,
    /// Frames that came before one sent earlier, and waited for it.
    pub reordered: u64,
    /// Transmissions beyond the first of a frame.
    pub retransmitted: u64,
    /// Sessions that went on over another link.
    pub resumed: u64,
    /// Handshakes refused here.
    pub refused: u64,
    /// Frames ignored because they belong to no session here: an earlier life's, a forgotten session's, or not decodable.
    pub fenced: u64,
}
