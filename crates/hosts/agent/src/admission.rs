//! Who is let in over TLS: members, machines that were enrolled a moment ago, and, to be enrolled, who holds a token. And under which
//! number each of them is heard.

use quintet_contract::{Identity, NodeId};
use quintet_identity::outstanding;
use quintet_link::Proof;
use quintet_membership::FIRST_CLIENT;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::SystemTime;

/// The members by their identities, and their numbers.
pub(crate) type Members = BTreeMap<Identity, NodeId>;

/// Who is let in. Cheap to clone; all clones are one.
#[derive(Clone)]
pub(crate) struct Admission(Arc<Shared>);

struct Shared {
    folder: PathBuf,
    members: RwLock<Members>,
    /// Whether these are those of an old view, as far as is known.
    doubtful: AtomicBool,
}

impl Admission {
    /// For the agent with this folder: tokens lie there, on a machine that has the authority's key.
    pub(crate) fn new(folder: PathBuf, members: Members) -> Admission {
        let members = RwLock::new(members);
        Admission(Arc::new(Shared { folder, members, doubtful: AtomicBool::new(false) }))
    }

    /// From now on these are members, and nobody else.
    pub(crate) fn set(&self, members: Members) {
        *self.0.members.write().unwrap_or_else(PoisonError::into_inner) = members;
    }

    fn members(&self) -> RwLockReadGuard<'_, Members> {
        self.0.members.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the members may be those of an old view. Then they are let in to agree on the latest one, and to nothing else.
    pub(crate) fn set_doubtful(&self, doubtful: bool) {
        self.0.doubtful.store(doubtful, Ordering::SeqCst);
    }

    /// Whether a peer is a member now, and no doubt is about that.
    pub(crate) fn is_member(&self, proof: &Proof) -> bool {
        proof.is_of_cluster && self.has(&proof.identity)
    }

    /// Whether a member has that identity now, and no doubt is about that.
    pub(crate) fn has(&self, identity: &Identity) -> bool {
        !self.0.doubtful.load(Ordering::SeqCst) && self.is_listed(identity)
    }

    fn is_listed(&self, identity: &Identity) -> bool {
        self.members().contains_key(identity)
    }

    /// Whether a peer is let in, by what it has proved. A certificate of the cluster is not enough: who was removed has one.
    pub(crate) fn admits(&self, proof: &Proof) -> bool {
        if proof.is_of_cluster {
            return self.is_listed(&proof.identity);
        }
        outstanding(&self.0.folder, &proof.identity.0, SystemTime::now()).is_ok()
    }

    /// Whether who has proved to be that is heard under that number: a member under its own, and everybody under those that no member can
    /// have. So nobody keeps a member out by its number, also while it is away.
    pub(crate) fn may_be_named(&self, node: NodeId, proved: Option<Identity>) -> bool {
        node >= FIRST_CLIENT || proved.is_some_and(|identity| self.members().get(&identity) == Some(&node))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_members_number_is_its_own_and_the_upper_half_is_anybodys() {
        let [a, b, token] = [1, 2, 3].map(|byte| Identity([byte; 32]));
        let admission = Admission::new(PathBuf::new(), Members::from([(a, NodeId(0)), (b, NodeId(1))]));
        for (who, own) in [(Some(a), Some(0)), (Some(b), Some(1)), (Some(token), None), (None, None)] {
            for node in [0, 1, 2, FIRST_CLIENT.0 - 1, FIRST_CLIENT.0, u16::MAX] {
                let may = admission.may_be_named(NodeId(node), who);
                assert_eq!(may, node >= FIRST_CLIENT.0 || own == Some(node), "{who:?} as {node}");
            }
        }
        admission.set(Members::from([(a, NodeId(0))]));
        assert!(!admission.may_be_named(NodeId(1), Some(b)), "it was removed");
    }
}
