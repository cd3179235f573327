//! Another machine in the place of one that keeps a space.

use super::kept::Cluster;
use crate::commands::cluster::refused;
use quintet::{Code, Error, SpaceName};
use quintet_agent::Membership;
use quintet_contract::NodeId;
use quintet_membership::{KeptSpace, Replacement, Request};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long the command waits until the new machine has the tuples.
const COPYING_LIMIT: Duration = Duration::from_secs(60);
/// How long this machine's agent may take to write where the space is then.
const WRITING_LIMIT: Duration = Duration::from_secs(10);
/// Between two looks at either.
const PAUSE: Duration = Duration::from_millis(20);

impl Cluster {
    /// Has `to` keep a space in the place of `from`, and waits until it has the tuples.
    ///
    /// # Errors
    /// No such machines, or they cannot be replaced; no majority agrees; the others do not give it the tuples in time, and go on.
    pub(super) fn replace_replica(&self, name: &SpaceName, from: &str, to: &str) -> Result<(), Error> {
        let agent = self.agent()?;
        let membership = agent.membership(true).map_err(refused)?;
        let space = self.agreed(&membership, name)?;
        let (from_node, to_node) = (member(&membership, from)?, member(&membership, to)?);
        // That it was replaced by this very one before would be as good as done to the members.
        if space.place(from_node).is_none() {
            let text =
                format!("{from} does not keep {name}: quintet space show {name} says which machines do");
            return Err(Error::new(Code::BadValue, text));
        }
        if membership.news.suspects.iter().any(|suspect| suspect.node == to_node) {
            let text = format!("{to} is not up: start its agent with quintet up, or choose another machine");
            return Err(Error::new(Code::Unreachable, text));
        }
        let replacement = Replacement {
            name: name.as_str().to_owned(),
            number: space.number,
            from: from_node,
            to: to_node,
        };
        agent.ask_member(&Request::ReplaceReplica(replacement)).map_err(refused)?;
        self.wait_until_copied(name, space.number, to_node, to)
    }

    fn wait_until_copied(&self, name: &SpaceName, number: u64, node: NodeId, to: &str) -> Result<(), Error> {
        let until = Instant::now() + COPYING_LIMIT;
        loop {
            let membership = self.agent()?.membership(false).map_err(refused)?;
            let space = membership.view.spaces.get(name.as_str()).filter(|space| space.number == number);
            let Some(space) = space else {
                return Err(Error::new(Code::NoSuchSpace, format!("{name} was removed meanwhile")));
            };
            if space.place(node).is_some() && space.awaited() != space.place(node) {
                return self.wait_until_written(name, node);
            }
            if Instant::now() > until {
                let text = format!(
                    "{to} keeps {name} from now on, and has none of its tuples after {} s: the other machines that keep it have to be up, and their agent.log say what is wrong; it gets them as soon as they can",
                    COPYING_LIMIT.as_secs()
                );
                return Err(Error::new(Code::TimedOut, text));
            }
            sleep(PAUSE);
        }
    }

    /// What this machine's programs are told of where the space is follows the view.
    fn wait_until_written(&self, name: &SpaceName, node: NodeId) -> Result<(), Error> {
        let until = Instant::now() + WRITING_LIMIT;
        while !self.space(name)?.is_some_and(|space| space.replicas.contains(&node.0)) {
            if Instant::now() > until {
                let text =
                    format!("this machine's agent does not write where {name} is: its agent.log says why");
                return Err(Error::new(Code::TimedOut, text));
            }
            sleep(PAUSE);
        }
        Ok(())
    }

    fn agreed(&self, membership: &Membership, name: &SpaceName) -> Result<KeptSpace, Error> {
        membership.view.spaces.get(name.as_str()).cloned().ok_or_else(|| {
            Error::new(Code::NoSuchSpace, format!("the cluster keeps no space {name} any more"))
        })
    }
}

/// The number of the machine with that name.
fn member(membership: &Membership, name: &str) -> Result<NodeId, Error> {
    let members = &membership.view.members;
    members.iter().find(|(_, member)| member.name == name).map(|(node, _)| *node).ok_or_else(|| {
        let known: Vec<&str> = members.values().map(|member| member.name.as_str()).collect();
        let text = format!("{name:?} is no machine of the cluster; there are: {}", known.join(", "));
        Error::new(Code::BadValue, text)
    })
}
