//! What a member of a group is made with.

use quintet_contract::{NodeId, Span};

/// What a member of a group is made with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RaftConfig {
    /// Its number.
    pub node: NodeId,
    /// Keys what is random: how long it waits before it stands for election.
    pub seed: u64,
    /// Entries that a leader sends in one message, at most: 1 to 256. Where it is 1, what happens between two entries is explored as well.
    pub entries_at_once: u16,
    /// Bytes of them, at most, but for one that is longer alone.
    pub message_bytes: usize,
    /// Entries that a leader sends a follower ahead of its answers, at most; 0: what is not answered is sent again with what comes next.
    pub ahead: u16,
    /// Committed entries that stay in memory, from 1 on, for members that are a little behind: there are up to twice as many. Who is further behind is sent
    /// a snapshot.
    pub kept_entries: u16,
    /// Bytes of the entries in memory, at most, as far as they are committed.
    pub kept_bytes: u64,
    /// How often a leader lets the others hear of it.
    pub heartbeat: Span,
    /// A voter that hears of no leader for once to twice this long asks whether it may stand for election; a leader that hears of no majority
    /// for this long steps down.
    pub election: Span,
    /// A defect to have, in tests that show that it is found.
    #[cfg(feature = "seeded-defects")]
    pub defect: Option<crate::Defect>,
}

impl RaftConfig {
    /// A member of a group on one LAN: it sends up to 256 entries and 1 MiB at once and nothing ahead of answers, keeps 256 entries whatever
    /// their length, leads by a beat every 100 ms, and asks for an election after 500 ms to a second without one.
    #[must_use]
    pub fn new(node: NodeId, seed: u64) -> RaftConfig {
        RaftConfig {
            node,
            seed,
            entries_at_once: 256,
            message_bytes: 1024 * 1024,
            ahead: 0,
            kept_entries: 256,
            kept_bytes: u64::MAX,
            heartbeat: Span::from_millis(100),
            election: Span::from_millis(500),
            #[cfg(feature = "seeded-defects")]
            defect: None,
        }
    }
}
