//! What a host does for its own sake, for whoever wants to know: protocols learn only the kind of a link's end.

use core::fmt;
use quintet_contract::NodeId;
use quintet_link::{BootstrapError, LinkError};
use std::sync::Arc;

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
    /// A connection was not made. The listener is as good as before. Told at most once a second for each listener.
    NotConnected {
        /// Why.
        why: BootstrapError,
        /// Those before it that were not told of.
        before: u64,
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
}

/// Takes the events of a host, on the thread that runs it: it must not wait.
pub type EventSink = Arc<dyn Fn(&Event) + Send + Sync>;

/// Lets them pass.
pub(crate) fn no_sink() -> EventSink {
    Arc::new(|_| {})
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::LinkFailed { peer, why } => write!(f, "the link to node {} ended: {why}", peer.0),
            Event::NotConnected { why, before: 0 } => write!(f, "a connection was not made: {why}"),
            Event::NotConnected { why, before } => {
                write!(f, "a connection was not made, and {before} before it: {why}")
            }
            Event::NotReached { peer } => write!(
                f,
                "node {} was dialled in vain for as long as its window allows, and is not dialled any more; see that it runs and listens, then dial it again",
                peer.0
            ),
            Event::NoNewLinks { why } => write!(f, "no new link for now: {why}"),
        }
    }
}
