//! What a replica is made with.

use crate::replicas::Replicas;
use quintet_contract::{Address, Incarnation, NodeId, Span};
use quintet_raft::RaftConfig;

/// What a replica is made with, besides its protocol's configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplicatedConfig {
    /// The cluster. A log of another one is refused.
    pub cluster: u128,
    /// Where this replica is. The others are at the same port of their nodes; its node's disk keeps the log, and its node's callers are told how it goes.
    pub me: Address,
    /// The nodes of all replicas, this one among them: an odd number, at most [`MAX_REPLICAS`](crate::MAX_REPLICAS).
    pub replicas: Vec<NodeId>,
    /// This life is at least this one, and later than every earlier one of this replica, whether its log is there or not.
    pub incarnation: Incarnation,
    /// Keys what is random: how long it waits before it stands for election, and the number of a new group.
    pub seed: u64,
    /// How often a leader lets the others hear of it. Default 50 ms.
    pub heartbeat: Span,
    /// A replica that hears of no leader for once to twice this long stands for election; a leader that hears of no majority for this long leads no more.
    /// Default 300 ms.
    pub election: Span,
    /// With the input by which those of one burst reach so many bytes, they are agreed on. Default 256 KiB.
    pub batch_bytes: usize,
    /// Batches that a leader sends a follower ahead of its answers. Default 256.
    pub ahead: u16,
    /// Batches that were agreed on and stay in memory for replicas that are a little behind; there are up to twice as many. Default 1,024.
    pub kept_entries: u16,
    /// Bytes of them. Default 64 MiB.
    pub kept_bytes: u64,
    /// Bytes of a snapshot that are sent at a time. Default 512 KiB.
    pub part_bytes: usize,
    /// Bytes by which the log outgrows twice what it began with before it is written anew. Default 16 MiB.
    pub spare_log_bytes: u64,
    /// A defect built in on purpose, for a test that must find it.
    #[cfg(feature = "seeded-defects")]
    pub defect: Option<crate::Defect>,
}

impl ReplicatedConfig {
    /// A replica with the defaults of everything else.
    #[must_use]
    pub fn new(
        cluster: u128,
        me: Address,
        replicas: Vec<NodeId>,
        incarnation: Incarnation,
        seed: u64,
    ) -> Self {
        ReplicatedConfig {
            cluster,
            me,
            replicas,
            incarnation,
            seed,
            heartbeat: Span::from_millis(50),
            election: Span::from_millis(300),
            batch_bytes: 256 * 1024,
            ahead: 256,
            kept_entries: 1024,
            kept_bytes: 64 * 1024 * 1024,
            part_bytes: 512 * 1024,
            spare_log_bytes: 16 * 1024 * 1024,
            #[cfg(feature = "seeded-defects")]
            defect: None,
        }
    }

    /// Whether a replica is at an address, other than this one.
    pub(crate) fn is_other(&self, address: Address) -> bool {
        address.port == self.me.port && self.others().any(|node| node == address.node)
    }

    pub(crate) fn others(&self) -> impl Iterator<Item = NodeId> {
        self.replicas.iter().copied().filter(|node| *node != self.me.node)
    }

    pub(crate) fn all(&self) -> Replicas {
        let mut nodes = self.replicas.clone();
        nodes.sort_unstable();
        Replicas(nodes)
    }

    pub(crate) fn of_raft(&self) -> RaftConfig {
        let mut config = RaftConfig::new(self.me.node, self.seed);
        config.ahead = self.ahead;
        (config.kept_entries, config.kept_bytes) = (self.kept_entries, self.kept_bytes);
        (config.heartbeat, config.election) = (self.heartbeat, self.election);
        #[cfg(feature = "seeded-defects")]
        if let Some(crate::Defect::Agreement(defect)) = self.defect {
            config.defect = Some(defect);
        }
        config
    }
}
