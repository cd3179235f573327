//! What a link is, as the host tells the protocols that use it.

use crate::limits::MAX_BODY_BYTES;

/// Told with [`PeerChange::Up`](crate::PeerChange::Up), so that nothing of it has to be configured for each address. A layer passes on what is true of the
/// frames above it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkInfo {
    /// Whether frames may be lost, doubled or reordered while it is up.
    pub loses_frames: bool,
    /// Whether it may fail while both nodes live on, and come back: what was under way is then lost. Otherwise its end is the peer's.
    pub may_be_cut: bool,
    /// The longest body of a frame.
    pub max_body_bytes: usize,
    /// The largest bulk that it takes in one frame; larger bulk is cut into fragments.
    pub max_bulk_bytes: usize,
    /// How far it reaches.
    pub class: LinkClass,
    /// Who the peer has proved to be, if the link asks for a proof.
    pub identity: Option<Identity>,
    /// Nobody vouches for that: it is the key of a token, whose holder is no member and is let in to be enrolled only.
    pub holds_token: bool,
    /// The peer passes on the frames of others, as the kernel of a machine does: what comes over the link is theirs.
    pub is_relayed: bool,
}

/// How far a link reaches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LinkClass {
    /// Within one process.
    Process,
    /// Between processes of one machine.
    Machine,
    /// Between machines.
    Network,
}

/// What a peer was authenticated by: the fingerprint of its key, say. Equal for equal keys.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Identity(pub [u8; 32]);

impl LinkInfo {
    /// A link that loses nothing, ends with its peer, takes the longest bodies, and asks for no proof.
    #[must_use]
    pub const fn new(class: LinkClass, max_bulk_bytes: usize) -> Self {
        LinkInfo {
            loses_frames: false,
            may_be_cut: false,
            max_body_bytes: MAX_BODY_BYTES,
            max_bulk_bytes,
            class,
            identity: None,
            holds_token: false,
            is_relayed: false,
        }
    }

    /// The link as a layer above sees it that puts so many bytes in front of each body.
    #[must_use]
    pub const fn behind(self, prefix_bytes: usize) -> Self {
        LinkInfo { max_body_bytes: self.max_body_bytes.saturating_sub(prefix_bytes), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behind_a_prefix_bodies_are_shorter_by_it_and_all_else_is_as_before() {
        let link = LinkInfo { loses_frames: true, ..LinkInfo::new(LinkClass::Network, 9) };
        assert_eq!(link.behind(24), LinkInfo { max_body_bytes: MAX_BODY_BYTES - 24, ..link });
        assert_eq!(link.behind(usize::MAX).max_body_bytes, 0);
    }
}
