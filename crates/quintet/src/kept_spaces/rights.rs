//! Who may use a space that machines keep: named when it is created, and changed by those who may.

use super::{KeptSpaces, PAUSE, SETTLING_LIMIT, known, refused};
use crate::{Error, Policy, SpaceName, SpaceRights};
use quintet_agent::{Client, Membership};
use quintet_contract::{Identity, NodeId};
use quintet_errors::Code;
use quintet_membership::{MAX_ALLOWED, NewRights, Request};
use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::Instant;

impl KeptSpaces {
    /// The rights of the programs of these machines of the cluster, named as `quintet status` shows them: for [`SpaceSettings::allow`](crate::SpaceSettings::allow) of a space of that policy, and of one that machines keep for
    /// [`KeptSpaces::allow`]. Where the machine that serves the volatile spaces is one of them, its programs, which come to these without a proof, may use such a space as well.
    ///
    /// # Errors
    /// [`Code::BadValue`]: a name is no machine's of the cluster; the text says which of them it is, and what names there are. [`Code::Unreachable`]: this machine's agent does not run.
    pub fn rights_of(&self, machines: &[impl AsRef<str>], policy: Policy) -> Result<SpaceRights, Error> {
        let agent = Client::local(&self.folder).map_err(refused)?;
        let members = known(&agent).map_err(refused)?.view.members;
        let mut rights = SpaceRights { own_machine: false, identities: BTreeSet::new() };
        for (place, wanted) in machines.iter().enumerate() {
            let wanted = wanted.as_ref();
            let found = members.values().enumerate().find(|(_, member)| member.name == wanted);
            let Some((order, member)) = found else {
                let names: Vec<&str> = members.values().map(|member| member.name.as_str()).collect();
                let (number, names) = (place + 1, names.join(", "));
                let text = format!("machine {number}: {wanted:?} is not in the cluster; there are: {names}");
                return Err(Error::new(Code::BadValue, text));
            };
            // The machine with the lowest number serves the volatile spaces, and its own processes come to it over links that ask for no proof.
            rights.own_machine |= order == 0 && policy == Policy::Volatile;
            rights.identities.insert(member.identity);
        }
        Ok(rights)
    }

    /// Lets the programs of some machines use the space of this name from now on, and those of others no more: what these wait for is refused with [`Code::NotAllowed`], and leases that they hold end in their time. Of several
    /// who say that at once each has what he said. Only a space that was created for some machines has such rights, and only those change them that have them; any machine, once none of those is left in the cluster. Returns once this machine's agent knows it; who leads the space hears it at
    /// about the same time.
    ///
    /// # Errors
    /// [`Code::NoSuchSpace`]. [`Code::BadValue`]: the space is for all machines, nobody would be left, an identity is no machine's of the cluster, or more than 32 were named.
    /// [`Code::NotAllowed`]: it is for other machines than this one. [`Code::Unreachable`]: this machine's agent does not run, or no majority agrees.
    pub fn allow(
        &self,
        name: &SpaceName,
        granted: &BTreeSet<Identity>,
        revoked: &BTreeSet<Identity>,
    ) -> Result<(), Error> {
        let agent = Client::local(&self.folder).map_err(refused)?;
        let membership = agent.membership(true).map_err(refused)?;
        let Some(space) = membership.view.spaces.get(name.as_str()) else {
            let text = format!("the cluster's machines keep no space {name}");
            return Err(Error::new(Code::NoSuchSpace, text));
        };
        let number = space.number;
        let (granted, revoked) = (members(&membership, granted)?, members(&membership, revoked)?);
        let rights = NewRights { name: name.as_str().to_owned(), number, granted, revoked };
        agent.ask_member(&Request::SetRights(rights)).map_err(refused)?;
        let view = agent.membership(true).map_err(refused)?.view;
        drop(agent);
        let Some(space) = view.spaces.get(name.as_str()) else { return Ok(()) };
        let agreed = space.allow.as_ref().map(|nodes| nodes.iter().map(|node| node.0).collect::<Vec<_>>());
        let until = Instant::now() + SETTLING_LIMIT;
        // A later change is as good: whoever made that has waited for it.
        let is_old = |file: &quintet_identity::AgentFile| {
            let kept = file.spaces.iter().find(|space| space.number == number);
            kept.is_some_and(|kept| kept.allow != agreed)
        };
        while is_old(&self.written()?) && Instant::now() < until {
            sleep(PAUSE);
        }
        Ok(())
    }
}

/// The members that are to use a new space. Clients of a space that is kept all prove who they are.
pub(super) fn allowed(membership: &Membership, allow: &SpaceRights) -> Result<BTreeSet<NodeId>, Error> {
    let bad = |text: String| Err(Error::new(Code::BadValue, text));
    if allow.own_machine {
        return bad("whoever comes to a space that machines of a cluster keep proves who he is: name the identity of the machine".to_owned());
    }
    if !(1..=MAX_ALLOWED).contains(&allow.identities.len()) {
        return bad(format!(
            "a space that machines of a cluster keep is for all of them, or for 1 to {MAX_ALLOWED}, not for {}",
            allow.identities.len()
        ));
    }
    members(membership, &allow.identities)
}

/// The members that these identities are.
fn members(membership: &Membership, identities: &BTreeSet<Identity>) -> Result<BTreeSet<NodeId>, Error> {
    if identities.len() > MAX_ALLOWED {
        let text = format!("{} machines are too many: name {MAX_ALLOWED} at most", identities.len());
        return Err(Error::new(Code::BadValue, text));
    }
    let members = &membership.view.members;
    let node = |identity: &Identity| {
        let found = members.iter().find(|(_, member)| member.identity == *identity);
        found.map(|(node, _)| *node).ok_or_else(|| {
            let hex: String = identity.0.iter().map(|byte| format!("{byte:02x}")).collect();
            Error::new(Code::BadValue, format!("no machine of the cluster has the identity {hex}"))
        })
    };
    identities.iter().map(node).collect()
}
