//! What a member is made with.

use quintet_contract::{Identity, Incarnation, NodeId, Span};

/// What a member is made with: all that decides what it does, besides its inputs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MembershipConfig {
    /// The cluster. A log of another one is refused, and so are those who want to join another one.
    pub cluster: u128,
    /// This machine's number: the founder's own choice, or what the answer to its join said.
    pub node: NodeId,
    /// This life is at least this one. It is also later than every life that the log knows.
    pub incarnation: Incarnation,
    /// What to do where the disk is empty.
    pub start: Start,
    /// Keys what is random: how long it waits before it stands for election.
    pub seed: u64,
    /// How many voters there are at most: 1, 3 or 5.
    pub max_voters: u8,
    /// Entries that a leader sends in one message, at most: 1 to 256. Where it is 1, what happens between two entries is explored as well.
    pub entries_at_once: u16,
    /// Committed entries that stay in memory, from 1 on, for members that are a little behind: there are up to twice as many, and then the view takes
    /// their place. Who is further behind is sent the view.
    pub kept_entries: u16,
    /// The log is written anew once it is this many bytes longer than twice what it held then.
    pub spare_log_bytes: u32,
    /// How long things take.
    pub timing: Timing,
    /// A defect to have, in tests that show that it is found.
    #[cfg(feature = "seeded-defects")]
    pub defect: Option<crate::Defect>,
}

/// What a member does whose disk is empty. One whose disk holds a log goes on with that.
///
/// A machine that has lost its log must not be started under its old number: it may have voted. It is removed and joins anew.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Start {
    /// It founds the cluster: view 1 is itself, as the only voter.
    Found {
        /// Its name.
        name: String,
        /// By what its peers will know it.
        identity: Identity,
        /// Where it is reached, in words of the host's.
        address: String,
        /// What it may ask of others, in bits of the host's.
        grants: u8,
        /// With what it asks to be moved when it is reached elsewhere.
        ticket: u64,
    },
    /// It has joined by way of another member, and waits until the leader sends it the log.
    Joined,
}

/// How long things take. Each is counted by the member's own clock, and none of them decides what is agreed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// How often a leader lets the others hear of it.
    pub heartbeat: Span,
    /// A voter that hears of no leader for once to twice this long asks whether it may stand for election; a leader that hears of no majority
    /// for this long steps down.
    pub election: Span,
    /// A member of which the leader hears nothing for this long is suspected, if nothing else says before that it is gone.
    pub silence: Span,
    /// A member that was suspected for this long is removed; zero: never.
    pub removal: Span,
    /// How long a request waits for a majority.
    pub request: Span,
}

impl Default for Timing {
    /// 100 ms, 500 ms, 1 s, 30 s and 5 s.
    fn default() -> Self {
        Timing {
            heartbeat: Span::from_millis(100),
            election: Span::from_millis(500),
            silence: Span::from_secs(1),
            removal: Span::from_secs(30),
            request: Span::from_secs(5),
        }
    }
}

impl MembershipConfig {
    /// A member with the defaults of everything else.
    #[must_use]
    pub fn new(cluster: u128, node: NodeId, start: Start, seed: u64) -> Self {
        MembershipConfig {
            cluster,
            node,
            incarnation: Incarnation(1),
            start,
            seed,
            max_voters: 5,
            entries_at_once: 256,
            kept_entries: 64,
            spare_log_bytes: 64 * 1024,
            timing: Timing::default(),
            #[cfg(feature = "seeded-defects")]
            defect: None,
        }
    }
}
