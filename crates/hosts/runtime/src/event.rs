//! What a host does for its own sake, for whoever wants to know: protocols learn only the kind of a link's end.

use core::fmt;
use core::net::SocketAddr;
use quintet_contract::{DownCause, Identity, NodeId};
use quintet_errors::Code;
use quintet_link::{BootstrapError, LinkError};
use std::path::PathBuf;
use std::sync::Arc;
use tracing::{debug, error, info, warn};

/// Something that a host saw or did.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Event {
    /// The link to a node failed in a way that tells of a defect or a shortage: not by an orderly end.
    LinkFailed {
        /// The node.
        peer: NodeId,
        /// How.
        why: LinkError,
    },
    /// A link was ended at once: who is at its other end may not be heard under the number that the link is for. The peer learns it as well, as
    /// [`LinkError::Refused`] where the link can tell. Of each identity it is told at most once a second, and of 32 of them at most.
    NameRefused {
        /// The number.
        peer: NodeId,
        /// Who the peer has proved to be; none where the link asks for no proof.
        identity: Option<Identity>,
        /// This side has dialled it; else the peer gave itself the number.
        is_dialled: bool,
        /// Those before it that were not told of.
        before: u64,
    },
    /// A peer dialled this node in the belief that it is another one, and has ended the link: it was told a wrong address. Told at most once a second.
    RefusedByDialler {
        /// Those before it that were not told of.
        before: u64,
    },
    /// A connection was not made. The listener is as good as before. Of each cause and machine it is told at most once a second for each
    /// listener, and of 32 of them at most.
    NotConnected {
        /// Why.
        why: BootstrapError,
        /// From where it was wanted; none where that is no address of a network.
        from: Option<SocketAddr>,
        /// Who has wanted it, where that was proved.
        identity: Option<Identity>,
        /// Those like it before, that were not told of.
        before: u64,
    },
    /// A node that is dialled does not let this one in. It is dialled on; this is told once until it does.
    TurnedAway {
        /// The node.
        peer: NodeId,
        /// Why.
        why: BootstrapError,
    },
    /// A node was dialled in vain for as long as was asked for, and is not dialled any more.
    NotReached {
        /// The node.
        peer: NodeId,
    },
    /// The system refuses what a new link needs. It is asked again after a while, and this is told again only after a second in which it gave.
    NoNewLinks {
        /// Why.
        why: BootstrapError,
    },
    /// The node's disk has no room for what is to be written to it: it stands still until there is.
    DiskFull {
        /// The file.
        path: PathBuf,
        /// What the system said.
        why: String,
    },
    /// There is room again: it goes on.
    DiskHasRoom {
        /// The file.
        path: PathBuf,
    },
}

/// Takes the events of a host, on the thread that runs it: it must not wait.
pub type EventSink = Arc<dyn Fn(&Event) + Send + Sync>;

fn write_before(f: &mut fmt::Formatter<'_>, before: u64) -> fmt::Result {
    if before > 0 { write!(f, ", and {before} before it") } else { Ok(()) }
}

/// Who a peer has proved to be, in a few characters: enough to find it among a cluster's members.
struct Shown(Option<Identity>);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(Identity(bytes)) = self.0 else { return f.write_str("who proves nothing") };
        f.write_str("who has the key ")?;
        bytes[..8].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// What events of links are called in `tracing`.
const TARGET: &str = "quintet::link";

impl Event {
    /// Tells whoever listens to `tracing` in this process that a node saw this. What a host does with events that nobody else takes.
    pub fn log(&self, node: NodeId) {
        self.log_as(node, self);
    }

    /// The same, in other words: those of a program that knows more of it.
    pub fn log_as(&self, node: NodeId, words: &dyn fmt::Display) {
        let (node, code) = (node.0, self.code().name());
        match self {
            Event::LinkFailed { peer, why } => {
                warn!(target: TARGET, node, peer = peer.0, code, %why, "{words}");
            }
            Event::NameRefused { peer, before, .. } => {
                warn!(target: TARGET, node, peer = peer.0, code, before, "{words}");
            }
            Event::RefusedByDialler { before } => warn!(target: TARGET, node, code, before, "{words}"),
            Event::NotConnected { why, from, before, .. } => {
                let from = from.map(tracing::field::display);
                warn!(target: TARGET, node, code, %why, from, before, "{words}");
            }
            Event::NotReached { peer } => warn!(target: TARGET, node, peer = peer.0, code, "{words}"),
            Event::TurnedAway { peer, why } => {
                warn!(target: TARGET, node, peer = peer.0, code, %why, "{words}");
            }
            Event::NoNewLinks { why } => error!(target: TARGET, node, code, %why, "{words}"),
            Event::DiskFull { path, why } => {
                error!(target: TARGET, node, path = %path.display(), code, why, "{words}");
            }
            Event::DiskHasRoom { path } => info!(target: TARGET, node, path = %path.display(), "{words}"),
        }
    }

    /// Those like it before that were not told of, where they are counted.
    #[must_use]
    pub fn before(&self) -> Option<u64> {
        match self {
            Event::NotConnected { before, .. }
            | Event::NameRefused { before, .. }
            | Event::RefusedByDialler { before } => Some(*before),
            _ => None,
        }
    }

    /// The same, to be set.
    pub fn before_mut(&mut self) -> Option<&mut u64> {
        match self {
            Event::NotConnected { before, .. }
            | Event::NameRefused { before, .. }
            | Event::RefusedByDialler { before } => Some(before),
            _ => None,
        }
    }

    /// The error that a program would get of it.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Event::LinkFailed { why: LinkError::Malformed(_), .. } => Code::Malformed,
            Event::LinkFailed { why: LinkError::System(_), .. } => Code::Resource,
            Event::LinkFailed { .. } => Code::PeerDied,
            Event::NotConnected { why, .. } | Event::NoNewLinks { why } | Event::TurnedAway { why, .. } => {
                why.code()
            }
            Event::NotReached { .. } => Code::Unreachable,
            Event::NameRefused { .. } | Event::RefusedByDialler { .. } => Code::NotAllowed,
            Event::DiskFull { .. } | Event::DiskHasRoom { .. } => Code::Resource,
        }
    }
}

/// A link with a node was made. How it ends is told by [`log_link_ended`]: both happen in order, and are for who looks closely.
pub(crate) fn log_link_made(node: NodeId, peer: NodeId, link: u64) {
    debug!(target: TARGET, node = node.0, peer = peer.0, link, "a link to node {} was made", peer.0);
}

/// A link with a node is over.
pub(crate) fn log_link_ended(node: NodeId, peer: NodeId, link: u64, cause: DownCause) {
    debug!(target: TARGET, node = node.0, peer = peer.0, link, ?cause, "the link to node {} is over", peer.0);
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::LinkFailed { peer, why } => write!(f, "the link to node {} ended: {why}", peer.0),
            Event::NameRefused { peer, identity, is_dialled, before } => {
                let who = Shown(*identity);
                match is_dialled {
                    true => write!(f, "a link was refused: {who} answers where node {} is dialled", peer.0)?,
                    false => write!(f, "a link was refused: {who} may not be heard as node {}", peer.0)?,
                }
                write_before(f, *before)
            }
            Event::RefusedByDialler { before } => {
                f.write_str(
                    "who has dialled this node looked for another one: it knows a wrong address of that",
                )?;
                write_before(f, *before)
            }
            Event::NotConnected { why, from, before, .. } => {
                f.write_str("a connection ")?;
                from.map_or(Ok(()), |from| write!(f, "from {} ", from.ip()))?;
                match before {
                    0 => write!(f, "was not made: {why}"),
                    before => write!(f, "was not made, and {before} before it: {why}"),
                }
            }
            Event::TurnedAway { peer, why } => write!(f, "node {} does not let this one in: {why}", peer.0),
            Event::NotReached { peer } => write!(
                f,
                "node {} was dialled in vain for as long as its window allows, and is not dialled any more; see that it runs and listens, then dial it again",
                peer.0
            ),
            Event::NoNewLinks { why } => write!(f, "no new link for now: {why}"),
            Event::DiskFull { path, why } => write!(
                f,
                "{} cannot grow: {why}; what has to be written there waits until there is room",
                path.display()
            ),
            Event::DiskHasRoom { path } => write!(f, "{} grows again", path.display()),
        }
    }
}
