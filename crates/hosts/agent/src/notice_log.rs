//! What an agent has to tell, as events of `tracing`: their targets, levels and fields. The words are those of [`Notice`]'s own text.

use crate::log::Entry;
use crate::notice::{Notice, NoticeLine, Refused};
use quintet_contract::NodeId;
use quintet_membership::Suspicion;
use tracing::{debug, error, info, warn};

/// Who is in.
const CLUSTER: &str = "quintet::cluster";
/// Links, by the name that [`quintet_runtime::Event`]s have.
const LINK: &str = "quintet::link";
/// Certificates and tokens.
const IDENTITY: &str = "quintet::identity";
/// The cluster's space.
const SPACE: &str = "quintet::space";

impl NoticeLine {
    /// Tells whoever listens to `tracing` in this process, on behalf of the agent of that node.
    pub fn log(&self, node: NodeId) {
        match self {
            NoticeLine::Notice(notice, times) => {
                let notice = notice.clone().happened(*times);
                if notice.times() == *times {
                    notice.log(node);
                } else {
                    notice.log_repeated(node.0, *times);
                }
            }
            NoticeLine::Others(count) => {
                warn!(target: CLUSTER, node = node.0, count, "{count} more were not told apart");
            }
        }
    }
}

impl Notice {
    /// Tells whoever listens to `tracing` in this process, on behalf of the agent of that node.
    pub fn log(&self, node: NodeId) {
        match self {
            Notice::Host(event) | Notice::Space(event) | Notice::KeptSpace(_, event) => {
                event.log_as(node, self);
            }
            Notice::Came { .. }
            | Notice::Left { .. }
            | Notice::Suspected { .. }
            | Notice::Back { .. }
            | Notice::Stale(_)
            | Notice::Ready
            | Notice::Ends => self.log_of_cluster(node.0),
            Notice::Renewed(_)
            | Notice::NotRenewed { .. }
            | Notice::Trouble { .. }
            | Notice::NotEnrolled(_)
            | Notice::NotLaunched(_)
            | Notice::NotPut(_)
            | Notice::NotUsed(_) => self.log_of_identity(node.0),
            Notice::ServesSpace { .. }
            | Notice::SpaceNotServed { .. }
            | Notice::SpaceEnded
            | Notice::KeepsSpace { .. }
            | Notice::SpaceNotKept { .. }
            | Notice::SpaceLog { .. }
            | Notice::SpaceLeader { .. }
            | Notice::SpaceRemoved { .. } => self.log_of_space(node.0),
        }
    }

    /// What was counted for a while, so many times.
    fn log_repeated(&self, node: u16, times: u64) {
        let text = self.text();
        match self {
            Notice::Host(_) | Notice::Space(_) | Notice::KeptSpace(..) => {
                warn!(target: LINK, node, times, "{text} ({times} times)");
            }
            Notice::SpaceNotServed { .. } | Notice::SpaceNotKept { .. } => {
                error!(target: SPACE, node, times, "{text} ({times} times)")
            }
            _ => warn!(target: IDENTITY, node, times, "{text} ({times} times)"),
        }
    }

    fn log_of_cluster(&self, node: u16) {
        match self {
            Notice::Came { name, node: member, view } | Notice::Left { name, node: member, view } => {
                info!(target: CLUSTER, node, member = member.0, name, view, "{self}");
            }
            Notice::Suspected { name, suspect } => {
                let (member, cause) = (suspect.node.0, word(suspect.cause));
                warn!(target: CLUSTER, node, member, name, cause, "{self}");
            }
            Notice::Back { name, node: member } => {
                info!(target: CLUSTER, node, member = member.0, name, "{self}");
            }
            Notice::Stale(true) => warn!(target: CLUSTER, node, stale = true, "{self}"),
            Notice::Stale(false) => info!(target: CLUSTER, node, stale = false, "{self}"),
            _ => debug!(target: CLUSTER, node, "{self}"),
        }
    }

    fn log_of_identity(&self, node: u16) {
        match self {
            Notice::NotRenewed { ends_in: Some(left), .. } => {
                error!(target: IDENTITY, node, ends_in_s = left.as_secs(), "{self}");
            }
            Notice::NotEnrolled(Refused { what, name, code, .. })
            | Notice::NotLaunched(Refused { what, name, code, .. })
            | Notice::NotPut(Refused { what, name, code, .. })
            | Notice::NotUsed(Refused { what, name, code, .. }) => {
                warn!(target: IDENTITY, node, what, name, code = code.name(), "{self}");
            }
            Notice::NotRenewed { .. } | Notice::Trouble { .. } => warn!(target: IDENTITY, node, "{self}"),
            _ => info!(target: IDENTITY, node, "{self}"),
        }
    }

    fn log_of_space(&self, node: u16) {
        match self {
            Notice::ServesSpace { places } => info!(target: SPACE, node, places, "{self}"),
            Notice::SpaceNotServed { .. } => error!(target: SPACE, node, "{self}"),
            Notice::KeepsSpace { name, places } => info!(target: SPACE, node, name, places, "{self}"),
            Notice::SpaceLog { name, .. } => info!(target: SPACE, node, name, "{self}"),
            Notice::SpaceLeader { name, machine: Some(machine) } => {
                info!(target: SPACE, node, name, machine, "{self}");
            }
            Notice::SpaceNotKept { name, .. } => error!(target: SPACE, node, name, "{self}"),
            Notice::SpaceRemoved { folder } => info!(target: SPACE, node, folder, "{self}"),
            _ => warn!(target: SPACE, node, "{self}"),
        }
    }
}

/// How a suspicion is called where programs read it.
fn word(cause: Suspicion) -> &'static str {
    match cause {
        Suspicion::Silent => "silent",
        Suspicion::Died => "died",
        Suspicion::Closed => "closed",
        Suspicion::Misbehaved => "misbehaved",
        Suspicion::Refused => "refused",
    }
}
