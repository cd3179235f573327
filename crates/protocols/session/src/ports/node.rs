//! A peer's node that is up.

use super::pair::{ABSENT, PortPair};
use quintet_contract::{Address, Incarnation, LinkInfo, Outbox, PeerChange, Port, Token};
use quintet_wire::registry::serves_tokens;
use std::collections::VecDeque;

/// Pairs of ports that two nodes may join. A peer that names more is refused them.
pub(super) const MAX_PAIRS: usize = 32;

/// Answers to frames for ports where nothing is that wait for room. Further ones are left out: who asks in earnest asks once a port.
const MAX_OWED: usize = MAX_PAIRS;

/// A port of that node which an instance of this one knows to be up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Known {
    /// As its frames name it.
    pub(super) pair: PortPair,
    /// The index of the instance.
    pub(super) instance: usize,
}

/// What is kept about a node while its session lives.
#[derive(Debug)]
pub(super) struct Node {
    incarnation: Incarnation,
    /// What the link is, as the instances see it.
    link: LinkInfo,
    /// In the order in which the instances were told.
    known: Vec<Known>,
    /// Where the last frame's pair was found.
    last: usize,
    /// Instances that found no room, and the ports they wanted to send to, each once.
    refused: VecDeque<(usize, Port)>,
    /// Frames that were for nobody, and are to be answered when there is room.
    owed: VecDeque<PortPair>,
}

impl Node {
    pub(super) fn new(incarnation: Incarnation, link: LinkInfo) -> Node {
        let (refused, owed) = (VecDeque::new(), VecDeque::new());
        Node { incarnation, link, known: Vec::new(), last: 0, refused, owed }
    }

    /// What an instance is told of a port of this node.
    pub(super) fn up(&self) -> PeerChange {
        PeerChange::Up { incarnation: self.incarnation, link: self.link }
    }

    /// Whether the node may send to this port: who holds a token and is no member may to few.
    pub(super) fn may_ask(&self, port: Port) -> bool {
        !self.link.holds_token || serves_tokens(port)
    }

    /// The instance that a frame with this pair is for, if it knows its sender.
    #[inline]
    pub(super) fn instance(&mut self, pair: PortPair) -> Option<usize> {
        match self.known.get(self.last) {
            Some(known) if known.pair == pair => Some(known.instance),
            _ => self.search(pair),
        }
    }

    fn search(&mut self, pair: PortPair) -> Option<usize> {
        self.last = self.known.iter().position(|known| known.pair == pair)?;
        Some(self.known[self.last].instance)
    }

    /// Adds a pair that is not known so far. False if there are too many.
    pub(super) fn add(&mut self, known: Known) -> bool {
        let has_room = self.known.len() < MAX_PAIRS;
        if has_room {
            self.known.push(known);
        }
        has_room
    }

    /// Forgets a pair. The instance that knew it, if one did.
    pub(super) fn remove(&mut self, pair: PortPair) -> Option<usize> {
        let at = self.known.iter().position(|known| known.pair == pair)?;
        let Known { instance, .. } = self.known.remove(at);
        self.refused.retain(|who| *who != (instance, pair.from));
        Some(instance)
    }

    /// All pairs, in the order in which the instances were told.
    pub(super) fn known(&self) -> impl Iterator<Item = Known> {
        self.known.iter().copied()
    }

    /// Notes who found no room.
    pub(super) fn note_refusal(&mut self, instance: usize, to: Port) {
        if !self.refused.contains(&(instance, to)) {
            self.refused.push_back((instance, to));
        }
    }

    /// How many found no room.
    pub(super) fn refusals(&self) -> usize {
        self.refused.len()
    }

    /// Takes the first who found no room.
    pub(super) fn next_refused(&mut self) -> Option<(usize, Port)> {
        self.refused.pop_front()
    }

    /// Answers a frame that was for nobody, as soon as there is room.
    pub(super) fn answer_absent(&mut self, at: Address, asked: PortPair, out: &mut dyn Outbox) {
        if self.owed.len() < MAX_OWED {
            self.owed.push_back(asked.turned());
        }
        self.send_owed(at, out);
    }

    /// Sends what is owed to the node whose session is at this address, as far as there is room.
    pub(super) fn send_owed(&mut self, at: Address, out: &mut dyn Outbox) {
        while let Some(pair) = self.owed.front() {
            if out.send(at, ABSENT, Token(0), &pair.to_bytes()).is_err() {
                return;
            }
            self.owed.pop_front();
        }
    }
}
