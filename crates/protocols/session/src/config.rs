//! What the host decides.

use quintet_contract::{Address, Incarnation, LinkInfo, NodeId, Span, Time};
use std::collections::BTreeMap;

/// The settings of all sessions of one instance.
#[derive(Clone, Debug)]
pub struct SessionConfig {
    /// This instance. Frames from and to other addresses of its node pass through untouched.
    pub me: Address,
    /// The cluster; peers of another one are refused.
    pub cluster: u128,
    /// This life of the node. Larger than that of every earlier life.
    pub incarnation: Incarnation,
    /// What this node is, told to peers. The number's meaning is the program's.
    pub role: Role,
    /// What this program can do, told to peers; a session has what both can.
    pub features: Features,
    /// The layouts this program speaks.
    pub versions: Versions,
    /// Keys the numbers that tell sessions apart.
    pub seed: u64,
    /// Silence is watched for, as the next two say, only of peers to whom this side says HELLO; of all, if false.
    pub watches_asked_only: bool,
    /// A peer unheard for this long is pinged; zero: never.
    pub keep_alive: Span,
    /// A peer unheard for this long, while this side was awake, is [`Down(Silent)`](quintet_contract::DownCause::Silent), and its link is closed if it is one
    /// that loses nothing; zero: never. With [`Reliability::Retain`] the link is closed and the session may be resumed over
    /// another one first.
    pub silence_limit: Span,
    /// How long a session outlives its link, with [`Reliability::Retain`] and [`Reliability::Retransmit`]; zero: not at all.
    pub resume_window: Span,
    /// Whether a session outlives its link so long also where that was closed for silence. Else it ends with the silence.
    pub resumes_silent: bool,
    /// Peers with settings of their own.
    pub peers: BTreeMap<Address, PeerConfig>,
    /// The settings of all others; `None`: a link to any other address is left unused.
    pub others: Option<PeerConfig>,
    /// Of those, HELLO is said to all whose nodes have lower numbers: whoever they will be, this side knows that they may be asked.
    pub greets_below: NodeId,
    /// A defect built in on purpose, for a test that must find it.
    #[cfg(feature = "seeded-defects")]
    pub defect: Option<crate::Defect>,
}

/// The settings of one peer's session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PeerConfig {
    /// Whether this side says HELLO. Exactly one side should; if both do, the smaller address does.
    pub initiate: bool,
    /// What the link leaves to the session. Both sides must say the same.
    pub reliability: Reliability,
}

/// Who sees to it that every frame arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reliability {
    /// As the link tells ([`LinkInfo`]): [`LOSSY`](Reliability::LOSSY) where it loses frames, [`RETAINED`](Reliability::RETAINED) where
    /// it may be cut, [`Link`](Reliability::Link) else.
    ByLink,
    /// The link, and its end is the peer's: shared memory, in-process. Nothing is kept; a gap is a broken peer.
    Link,
    /// The link, until it is cut, which need not be the peer's end: Unix sockets, TCP. Frames are kept until they are acknowledged
    /// and sent again over the next link, within the resume window. No timers and no stamps; a gap is a broken peer.
    Retain {
        /// Unacknowledged frames at most; 1 at least. The smaller of both sides' counts.
        window_frames: u32,
        /// Their bytes. While less than half of them is kept, or nothing, a frame goes however long it is. The smaller of both
        /// sides' counts.
        window_bytes: usize,
    },
    /// The session: frames are kept until they are acknowledged, and sent again.
    Retransmit {
        /// Wait for an acknowledgement before a round trip was measured.
        initial_timeout: Span,
        /// Unacknowledged frames at most, and frames held back for an earlier one; 1 at least. The smaller of both sides' counts.
        window_frames: u32,
        /// Their bytes at most. A single frame above it is sent when nothing else is unacknowledged. The smaller of both sides'
        /// counts.
        window_bytes: usize,
    },
}

/// What may be sent and not be acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct WindowLimits {
    pub(crate) frames: u32,
    pub(crate) bytes: u64,
}

/// What a node is. But for [`KERNEL`](Role::KERNEL) the number's meaning is the program's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Role(pub u8);

impl Role {
    /// It passes frames on to other nodes, over links of which its peers know nothing: so their frames carry no more bulk than every link takes,
    /// [`FRAGMENT_BYTES`](quintet_contract::limits::FRAGMENT_BYTES), and who breaks the protocol with one of its pairs of ports is cut off
    /// from that pair alone.
    pub const KERNEL: Role = Role(1);
}

/// Abilities, one a bit. The bits' meaning is the program's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Features(pub u64);

/// A range of layouts, both ends included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Versions {
    /// The oldest.
    pub oldest: u16,
    /// The newest.
    pub newest: u16,
}

impl SessionConfig {
    /// Sessions of `me` with peers on links that lose nothing and notice death themselves; peers say HELLO.
    #[must_use]
    pub fn new(me: Address, cluster: u128, incarnation: Incarnation, seed: u64) -> Self {
        SessionConfig {
            me,
            cluster,
            incarnation,
            role: Role::default(),
            features: Features::default(),
            versions: Versions::default(),
            seed,
            watches_asked_only: false,
            keep_alive: Span::ZERO,
            silence_limit: Span::ZERO,
            resume_window: Span::ZERO,
            resumes_silent: true,
            peers: BTreeMap::new(),
            others: Some(PeerConfig { initiate: false, reliability: Reliability::Link }),
            greets_below: NodeId(0),
            #[cfg(feature = "seeded-defects")]
            defect: None,
        }
    }

    /// The settings for `address`, if it may have a session.
    #[must_use]
    pub fn peer(&self, address: Address) -> Option<PeerConfig> {
        let greets = address.node < self.greets_below;
        let others = self.others.map(|others| PeerConfig { initiate: others.initiate | greets, ..others });
        self.peers.get(&address).copied().or(others)
    }
}

impl Reliability {
    /// Links that may be cut: a window of 1,024 frames and 4 MiB.
    pub const RETAINED: Reliability =
        Reliability::Retain { window_frames: 1024, window_bytes: 4 * 1024 * 1024 };

    /// Frames that may be lost: a window of 256 frames and 4 MiB.
    pub const LOSSY: Reliability = Reliability::Retransmit {
        initial_timeout: Span::from_millis(100),
        window_frames: 256,
        window_bytes: 4 * 1024 * 1024,
    };

    /// What a link leaves to the session.
    pub(crate) fn over(self, link: LinkInfo) -> Reliability {
        match self {
            Reliability::ByLink if link.loses_frames => Reliability::LOSSY,
            Reliability::ByLink if link.may_be_cut => Reliability::RETAINED,
            Reliability::ByLink => Reliability::Link,
            chosen => chosen,
        }
    }

    pub(crate) fn retains(self) -> bool {
        matches!(self, Reliability::Retain { .. })
    }

    pub(crate) fn retransmits(self) -> bool {
        matches!(self, Reliability::Retransmit { .. })
    }

    /// Its number on the wire. The windows are told apart.
    pub(crate) fn number(self) -> u8 {
        match self {
            Reliability::ByLink | Reliability::Link => 0,
            Reliability::Retransmit { .. } => 1,
            Reliability::Retain { .. } => 2,
        }
    }

    /// What this side keeps of what it sends; where frames may be lost, also what it holds back for an earlier one.
    pub(crate) fn window(self) -> WindowLimits {
        match self {
            Reliability::ByLink | Reliability::Link => WindowLimits::default(),
            Reliability::Retain { window_frames, window_bytes }
            | Reliability::Retransmit { window_frames, window_bytes, .. } => {
                WindowLimits { frames: window_frames.max(1), bytes: window_bytes as u64 }
            }
        }
    }
}

impl SessionConfig {
    /// Whether this side slept past `due`, as a stopped process or on a suspended machine, and cannot tell the peer's silence from its
    /// own. A quarter of the limit is more than a busy machine lets it wait, and short enough that a sleep which goes unnoticed
    /// leaves the peer time to answer.
    pub(crate) fn overslept(&self, due: Time, now: Time) -> bool {
        now.since(due).0 > self.silence_limit.0 / 4
    }
}

impl WindowLimits {
    /// What both sides allow; one frame in any case.
    pub(crate) fn common(self, other: WindowLimits) -> WindowLimits {
        WindowLimits { frames: self.frames.min(other.frames).max(1), bytes: self.bytes.min(other.bytes) }
    }
}

impl Versions {
    /// The newest version that both speak.
    #[must_use]
    pub fn common(self, other: Versions) -> Option<u16> {
        let newest = self.newest.min(other.newest);
        (newest >= self.oldest.max(other.oldest)).then_some(newest)
    }
}

impl Default for Versions {
    /// The layout of this program.
    fn default() -> Self {
        let version = u16::from(quintet_wire::VERSION);
        Versions { oldest: version, newest: version }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_with_lower_numbers_are_greeted_and_those_with_settings_of_their_own_by_these() {
        let me = Address::new(1, 5);
        let mut config = SessionConfig::new(me, 7, Incarnation(1), 42);
        config.greets_below = NodeId(100);
        let own = PeerConfig { initiate: false, reliability: Reliability::LOSSY };
        config.peers.insert(Address::new(3, 5), own);
        let initiates = |node| config.peer(Address::new(node, 5)).map(|peer| peer.initiate);
        assert_eq!([2, 3, 99, 100, u16::MAX].map(initiates), [true, false, true, false, false].map(Some));
        config.others = None;
        assert_eq!(config.peer(Address::new(2, 5)), None, "its links are left unused");
    }

    #[test]
    fn the_newest_common_version_is_chosen() {
        let range = |oldest, newest| Versions { oldest, newest };
        assert_eq!(range(1, 3).common(range(2, 5)), Some(3));
        assert_eq!(range(4, 5).common(range(1, 4)), Some(4));
        assert_eq!(range(1, 2).common(range(3, 4)), None);
        assert_eq!(range(2, 1).common(range(1, 2)), None, "an empty range has nothing in common");
    }
}
