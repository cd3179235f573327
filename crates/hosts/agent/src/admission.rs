//! Who is let in over TLS: members, machines that were enrolled a moment ago, and, to be enrolled, who holds a token.

use quintet_contract::Identity;
use quintet_identity::outstanding;
use quintet_link::Proof;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

/// Who is let in. Cheap to clone; all clones are one.
#[derive(Clone)]
pub(crate) struct Admission(Arc<Shared>);

struct Shared {
    folder: PathBuf,
    members: RwLock<BTreeSet<Identity>>,
}

impl Admission {
    /// For the agent with this folder: tokens lie there, on a machine that has the authority's key.
    pub(crate) fn new(folder: PathBuf, members: impl IntoIterator<Item = Identity>) -> Admission {
        let members = RwLock::new(members.into_iter().collect());
        Admission(Arc::new(Shared { folder, members }))
    }

    /// From now on these are members, and nobody else.
    pub(crate) fn set(&self, members: BTreeSet<Identity>) {
        *self.0.members.write().unwrap_or_else(PoisonError::into_inner) = members;
    }

    /// Whether a peer is a member now.
    pub(crate) fn is_member(&self, proof: &Proof) -> bool {
        proof.is_of_cluster && self.has(&proof.identity)
    }

    /// Whether a member has that identity now.
    pub(crate) fn has(&self, identity: &Identity) -> bool {
        self.0.members.read().unwrap_or_else(PoisonError::into_inner).contains(identity)
    }

    /// Whether a peer is let in, by what it has proved. A certificate of the cluster is not enough: who was removed has one.
    pub(crate) fn admits(&self, proof: &Proof) -> bool {
        if proof.is_of_cluster {
            return self.is_member(proof);
        }
        outstanding(&self.0.folder, &proof.identity.0, SystemTime::now()).is_ok()
    }
}
