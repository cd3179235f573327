//! Who is let in over TLS: members, machines that were enrolled a moment ago, and, to be enrolled, who holds a token. And under which
//! number each of them is heard.

use core::net::SocketAddr;
use quintet_contract::{Identity, NodeId};
use quintet_identity::outstanding;
use quintet_link::Proof;
use quintet_membership::FIRST_CLIENT;
use quintet_tuple_space::CodeGrants;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
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
    known: Mutex<Known>,
}

/// What is known of those who are let in, beside that.
#[derive(Default)]
struct Known {
    /// Who may put what others run into the cluster's space.
    code: CodeGrants,
    names: BTreeMap<Identity, String>,
    /// From where each of them has connected last.
    seen_from: BTreeMap<Identity, SocketAddr>,
}

/// So many are remembered of whom is known from where they came: of more, members only.
const MOST_SEEN: usize = 1024;

impl Admission {
    /// For the agent with this folder: tokens lie there, on a machine that has the authority's key.
    pub(crate) fn new(folder: PathBuf, members: Members) -> Admission {
        let members = RwLock::new(members);
        let (doubtful, known) = (AtomicBool::new(false), Mutex::default());
        Admission(Arc::new(Shared { folder, members, doubtful, known }))
    }

    /// From now on these are members, and nobody else.
    pub(crate) fn set(&self, members: Members) {
        *self.0.members.write().unwrap_or_else(PoisonError::into_inner) = members;
    }

    fn members(&self) -> RwLockReadGuard<'_, Members> {
        self.0.members.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// What members are called.
    pub(crate) fn set_names(&self, names: BTreeMap<Identity, String>) {
        self.known().names = names;
    }

    /// What the member with that identity is called.
    pub(crate) fn name(&self, identity: &Identity) -> Option<String> {
        self.known().names.get(identity).cloned()
    }

    /// From now on these may put what others run into the cluster's space.
    pub(crate) fn set_code(&self, identities: BTreeSet<Identity>) {
        self.known().code.identities = identities;
    }

    /// Whether this user's processes on this machine may.
    pub(crate) fn set_own_code(&self, may: bool) {
        self.known().code.own_machine = may;
    }

    /// Who may put what others run into the cluster's space: of others nobody, before a majority has said who is in.
    pub(crate) fn code(&self) -> CodeGrants {
        self.known().code.clone()
    }

    /// From where the newest connection of that identity came, of those that were let in.
    pub(crate) fn seen_from(&self, identity: &Identity) -> Option<SocketAddr> {
        self.known().seen_from.get(identity).copied()
    }

    /// Remembers from where somebody comes who has proved who he is.
    fn see(&self, proof: &Proof) {
        let Some(from) = proof.from else { return };
        let mut known = self.known();
        if known.seen_from.len() >= MOST_SEEN {
            let members = self.members();
            known.seen_from.retain(|identity, _| members.contains_key(identity));
        }
        known.seen_from.insert(proof.identity, from);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the members may be those of an old view. Then they are let in to agree on the latest one, and to nothing else.
    pub(crate) fn set_doubtful(&self, doubtful: bool) {
        self.0.doubtful.store(doubtful, Ordering::SeqCst);
    }

    /// Whether a peer is a member now, and no doubt is about that.
    pub(crate) fn is_member(&self, proof: &Proof) -> bool {
        let is_member = proof.is_of_cluster && self.has(&proof.identity);
        if is_member {
            self.see(proof);
        }
        is_member
    }

    /// Whether a member has that identity now, and no doubt is about that.
    pub(crate) fn has(&self, identity: &Identity) -> bool {
        !self.0.doubtful.load(Ordering::SeqCst) && self.is_listed(identity)
    }

    /// Whether the view has a member with that identity, be there a doubt about it or not.
    pub(crate) fn is_listed(&self, identity: &Identity) -> bool {
        self.members().contains_key(identity)
    }

    /// Whether a peer is let in, by what it has proved. A certificate of the cluster is not enough: who was removed has one.
    pub(crate) fn admits(&self, proof: &Proof) -> bool {
        let is_admitted = match proof.is_of_cluster {
            true => self.is_listed(&proof.identity),
            false => outstanding(&self.0.folder, &proof.identity.0, SystemTime::now()).is_ok(),
        };
        if is_admitted {
            self.see(proof);
        }
        is_admitted
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
