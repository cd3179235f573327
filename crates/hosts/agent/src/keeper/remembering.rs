//! What a machine keeps on its disk of what the view says: who is in, which spaces there are, and those that it keeps itself.

use super::{Keeper, Purpose};
use crate::notice::Notice;
use crate::record::Peer;
use quintet_identity::AgentSpace;
use quintet_membership::{Request, View};

impl Keeper {
    /// Keeps on the disk who else is in. Where that takes nothing the agent goes on, and tries again with the next view, and now and then:
    /// who is in stands in the membership's log, too.
    pub(super) fn remember(&mut self) {
        let others = self.view.members.iter().filter(|(node, _)| **node != self.record.node);
        let peers: Vec<Peer> = others
            .map(|(node, member)| Peer {
                node: *node,
                identity: member.identity,
                address: member.address.clone(),
            })
            .collect();
        let view = self.view.number;
        let spaces = spaces_of(&self.view);
        let is_same = (&self.record.peers, &self.record.spaces) == (&peers, &spaces);
        if self.record.founding || self.record.view != view || !is_same {
            (self.record.founding, self.record.view) = (false, view);
            (self.record.peers, self.record.spaces) = (peers, spaces);
            self.write_record();
        }
    }

    /// The others have removed this machine: the next agent here says so at once.
    pub(crate) fn remember_removal(&mut self) {
        self.record.removed = true;
        self.write_record();
    }

    pub(super) fn write_record(&mut self) {
        let trouble = self.record.write(&self.folder).err().map(|error| error.to_string());
        if let Some(text) = trouble.clone().filter(|_| trouble != self.unwritten) {
            let text = format!("{text}; it is tried again every minute");
            (self.told)(&Notice::Trouble { text });
        }
        self.unwritten = trouble;
    }

    /// This machine keeps the spaces that the view says, unless that is older than what is remembered, or is not remembered: the next agent here would follow the
    /// view before, and be a replica with those that were replaced since.
    pub(super) fn keep_spaces(&mut self) {
        let (own, is_latest, is_behind) = (self.record.node, self.is_current(), self.is_behind());
        let is_remembered = self.unwritten.is_none();
        if let Some(kept) = self.kept.as_mut().filter(|_| !is_behind && is_remembered) {
            kept.follow(own, &self.view, is_latest);
        }
    }

    /// Has the view say which of the replicas that this machine keeps in another's place have their logs by now.
    pub(super) fn say_ready(&mut self) {
        let own = self.record.node;
        let awaited = self.view.spaces.iter().find_map(|(name, space)| {
            let place = space.awaited().filter(|place| space.place(own) == Some(*place))?;
            let since = space.since(place);
            self.votes.contains(&since).then(|| (name.clone(), since))
        });
        let is_asked = self.open.values().any(|purpose| matches!(purpose, Purpose::Ready));
        if let (Some((name, since)), false) = (awaited, is_asked) {
            self.ask(Purpose::Ready, &Request::ReplicaReady { name, since });
        }
    }
}

/// The spaces that members keep, as they are remembered.
fn spaces_of(view: &View) -> Vec<AgentSpace> {
    let spaces = view.spaces.iter().map(|(name, space)| AgentSpace {
        name: name.clone(),
        number: space.number,
        slot: space.slot,
        replicas: space.replicas.iter().map(|node| node.0).collect(),
        max_bytes: space.max_bytes,
        max_tuples: space.max_tuples,
        allow: space.allow.as_ref().map(|nodes| nodes.iter().map(|node| node.0).collect()),
    });
    spaces.collect()
}
