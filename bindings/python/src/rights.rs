//! Who may use a space.

use crate::error::raise;
use pyo3::prelude::*;
use quintet::{Code, Error, Identity, Lab, Policy, SpaceRights};
use std::collections::BTreeSet;

/// A machine, as Python names it.
#[derive(FromPyObject)]
pub(crate) enum Machine {
    /// By its name in the cluster.
    Name(String),
    /// By its identity: by what it proves who it is over TLS.
    Identity(Vec<u8>),
}

/// What is said of who may use a space.
pub(crate) struct Users {
    names: Vec<String>,
    identities: BTreeSet<Identity>,
}

impl Users {
    /// # Errors
    /// `BadValue`: an identity has not 32 bytes.
    pub(crate) fn new(machines: Vec<Machine>) -> PyResult<Users> {
        let mut users = Users { names: Vec::new(), identities: BTreeSet::new() };
        for machine in machines {
            match machine {
                Machine::Name(name) => users.names.push(name),
                Machine::Identity(bytes) => {
                    let identity = <[u8; 32]>::try_from(bytes).map_err(|bytes| {
                        let text = format!("an identity has 32 bytes, not {}", bytes.len());
                        raise(Error::new(Code::BadValue, text))
                    })?;
                    users.identities.insert(Identity(identity));
                }
            }
        }
        Ok(users)
    }

    /// As rights of a space of that policy; whoever is named by a name is asked of the lab's cluster.
    ///
    /// # Errors
    /// As of the library's `Lab::rights_of`.
    pub(crate) fn rights(self, lab: &Lab, policy: Policy) -> Result<SpaceRights, Error> {
        let mut rights = match &self.names[..] {
            [] => SpaceRights { own_machine: false, identities: BTreeSet::new() },
            names => lab.rights_of(names, policy)?,
        };
        rights.identities.extend(self.identities);
        Ok(rights)
    }
}
