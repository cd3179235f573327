//! Links of a run that break, and what takes their place.

use super::Run;
use crate::check::{HANDSHAKE, Rule, Violation};
use crate::fault::Who;
use crate::network::SPACE_NODE;
use quintet_contract::{NodeId, OwnedFrame, Time};
use std::collections::{BTreeMap, BTreeSet};

/// What a run knows of its broken links.
#[derive(Default)]
pub(super) struct Links {
    /// When the manager (`true`) or a client was told that the link of this client is broken, for which there is no new one.
    told: BTreeMap<(Who, bool), Time>,
    /// Since when each client has its link, where that is whole and not the first.
    linked: BTreeMap<Who, Time>,
    /// Clients whose link broke after the handshake over it had ended.
    met: BTreeSet<Who>,
    /// First frames of links that the host of the manager (`true`) or of a client has made, and that did not stay.
    overtaken: Vec<(Who, bool, OwnedFrame)>,
}

/// The node of the manager and a client's, or the other way round.
fn sides(client: Who, at_space: bool) -> (NodeId, NodeId) {
    let at = NodeId(client);
    if at_space { (SPACE_NODE, at) } else { (at, SPACE_NODE) }
}

impl Run<'_> {
    pub(super) fn cut(&mut self, client: Who, to_space: bool, to_client: bool) {
        let client = NodeId(client);
        self.network.simulation.set_cut(client, SPACE_NODE, to_space);
        self.network.simulation.set_cut(SPACE_NODE, client, to_client);
    }

    /// The host of the manager, or else of the client, notices that the client's link is broken, and does away with it.
    pub(super) fn tell(&mut self, client: Who, at_space: bool) {
        self.cut(client, true, true);
        let (here, there) = sides(client, at_space);
        self.network.simulation.tell_cut(here, there);
        self.links.told.insert((client, at_space), self.network.simulation.now());
    }

    /// The link of a client breaks, after the handshake over it has ended or before.
    pub(super) fn break_link(&mut self, client: Who, to_space: bool, to_client: bool) {
        let linked = self.links.linked.remove(&client).unwrap_or_default();
        if self.network.simulation.now().since(linked) > HANDSHAKE {
            self.links.met.insert(client);
        } else {
            self.links.met.remove(&client);
        }
        self.cut(client, to_space, to_client);
    }

    /// A new link takes the place of a client's.
    pub(super) fn replace(&mut self, client: Who) {
        self.links.linked.insert(client, self.network.simulation.now());
        let link = self.plan.clients[usize::from(client) - 1].link;
        self.network.simulation.connect_again(SPACE_NODE, NodeId(client), link);
    }

    /// The host of the manager, or else of the client, makes a new link in the place of one that it knows to be broken. The other's host
    /// looks at it later.
    pub(super) fn dial(&mut self, client: Who, at_space: bool) {
        let (here, there) = sides(client, at_space);
        // Who heard nothing for too long has closed it, or lets the other know.
        if !self.network.simulation.is_closed(here, there) {
            self.keep_first_word(client, at_space);
            self.network.simulation.dial(here, there);
        }
    }

    /// A link that a host has made gives way to the next one: its first frame may be looked at all the same.
    fn keep_first_word(&mut self, client: Who, at_space: bool) {
        let (here, there) = sides(client, at_space);
        if let Some(word) = self.network.simulation.first_word(here, there) {
            self.links.overtaken.push((client, at_space, word.clone()));
        }
    }

    /// Who goes on with the session that lives on the other side over a link whose end that has not seen takes its place, at the
    /// first word.
    pub(super) fn check_taken_over(&mut self, client: Who) -> Result<(), Violation> {
        for at_space in [false, true] {
            let (here, there) = sides(client, at_space);
            let word = self.network.simulation.first_word(here, there);
            let is_resumed = word.map(|word| self.network.is_resumed_by(client, !at_space, word));
            if is_resumed == Some(false) && self.is_unseen(client, !at_space) {
                let (newcomer, other) = if at_space { ("the manager", "it") } else { ("it", "the manager") };
                let text = format!(
                    "client {client} has a session with the manager, its link broke, {newcomer} has made another, and {other} does not go on over it"
                );
                return Err(Violation::new(Rule::SessionsOutliveCuts, text));
            }
            self.keep_first_word(client, at_space);
        }
        Ok(())
    }

    /// Whether the manager, or else the client, is sure to be in the middle of the session that the two have, and not to know that their
    /// link is broken.
    fn is_unseen(&self, client: Who, at_space: bool) -> bool {
        let (here, there) = sides(client, at_space);
        let is_certain = self.plan.remembers(client) && !self.plan.is_stopped(client);
        is_certain
            && self.links.met.contains(&client)
            && !self.links.told.contains_key(&(client, at_space))
            && !self.network.simulation.is_closed(here, there)
            && self.network.has_session(client, at_space)
            && self.network.is_joined(client)
    }

    /// Whether both sides are sure to have met over the link that took a broken one's place, and to have heard each other's HELLO: on a
    /// narrow one what was under way before may leave no room for one of the two, which no new link of a live host does.
    fn is_linked_again(&self, client: Who) -> bool {
        let is_certain = self.plan.remembers(client) && !self.plan.is_stopped(client);
        let linked = self.links.linked.get(&client).copied().filter(|_| self.plan.is_good(client));
        is_certain && linked.is_some_and(|linked| self.network.simulation.now().since(linked) > HANDSHAKE)
    }

    /// What was said over a link that gave way to another one puts nothing in the place of that.
    pub(super) fn check_overtaken(&self) -> Result<(), Violation> {
        let resumes = |(client, at_space, word): &&(Who, bool, OwnedFrame)| {
            self.is_linked_again(*client) && self.network.is_resumed_by(*client, !at_space, word)
        };
        let Some((client, ..)) = self.links.overtaken.iter().find(resumes) else { return Ok(()) };
        let text = format!("the link of client {client} would give way to one that gave way to it");
        Err(Violation::new(Rule::SessionsOutliveCuts, text))
    }

    /// Whoever was told of a broken link has given its session up when the time to resume it has passed.
    pub(super) fn check_given_up(&mut self, client: Who) -> Result<(), Violation> {
        let now = self.network.simulation.now();
        let is_certain = self.plan.remembers(client) && !self.plan.is_stopped(client);
        for at_space in [false, true] {
            let Some(told) = self.links.told.remove(&(client, at_space)) else { continue };
            let is_over = now.since(told) > self.plan.resumed_until();
            if is_over && is_certain && self.network.has_session(client, at_space) {
                let side = if at_space { "the manager".to_owned() } else { format!("client {client}") };
                let text = format!(
                    "{side} was told at {told} that their link is broken, and has a session at {now}"
                );
                return Err(Violation::new(Rule::SessionsOutliveCuts, text));
            }
        }
        Ok(())
    }
}
