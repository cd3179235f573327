//! A peer's node that is up.

use super::pair::{ABSENT, LEFT, Parting, PortPair};
use crate::Role;
use quintet_contract::{Address, DownCause, Incarnation, Kind, LinkInfo, Outbox, PeerChange, Port, Token};
use quintet_wire::registry::serves_tokens;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Pairs of ports that two nodes may join. A peer that names more is refused them.
pub(super) const MAX_PAIRS: usize = 32;

/// The same with a node that passes on the frames of others.
pub(super) const MAX_PAIRS_OF_KERNEL: usize = 1024;

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
    role: Role,
    /// Each with its instance, and its place in the order in which those were told.
    known: BTreeMap<PortPair, (usize, u64)>,
    told: u64,
    /// The last frame's pair, and its instance.
    last: Option<Known>,
    /// Pairs that this side has ended, until the node has said so too: what still comes of them is for nobody.
    parted: BTreeSet<PortPair>,
    /// Instances that found no room, and the ports they wanted to send to, each once.
    refused: VecDeque<(usize, Port)>,
    /// What the layer itself has to say, when there is room, and of which pair.
    owed: VecDeque<(PortPair, Word)>,
}

/// What the layer itself says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Word {
    Absent,
    Left(Parting),
}

impl Node {
    pub(super) fn new(incarnation: Incarnation, link: LinkInfo, role: Role) -> Node {
        Node {
            incarnation,
            link,
            role,
            known: BTreeMap::new(),
            told: 0,
            last: None,
            parted: BTreeSet::new(),
            refused: VecDeque::new(),
            owed: VecDeque::new(),
        }
    }

    /// What an instance is told of a port of this node.
    pub(super) fn up(&self) -> PeerChange {
        PeerChange::Up { incarnation: self.incarnation, link: self.link }
    }

    fn max_pairs(&self) -> usize {
        if self.role == Role::KERNEL { MAX_PAIRS_OF_KERNEL } else { MAX_PAIRS }
    }

    /// How the pairs end of a node whose session has ended like this. One that passes frames on says farewell for itself alone: who is behind it may come
    /// back another way.
    pub(super) fn end_of_pairs(&self, cause: DownCause) -> DownCause {
        match cause {
            DownCause::Closed if self.role == Role::KERNEL => DownCause::Died,
            other => other,
        }
    }

    /// Whether the node may send to this port: who holds a token and is no member may to few.
    pub(super) fn may_ask(&self, port: Port) -> bool {
        !self.link.holds_token || serves_tokens(port)
    }

    /// The instance that a frame with this pair is for, if it knows its sender.
    #[inline]
    pub(super) fn instance(&mut self, pair: PortPair) -> Option<usize> {
        match self.last {
            Some(known) if known.pair == pair => Some(known.instance),
            _ => self.search(pair),
        }
    }

    fn search(&mut self, pair: PortPair) -> Option<usize> {
        let (instance, _) = *self.known.get(&pair)?;
        self.last = Some(Known { pair, instance });
        Some(instance)
    }

    /// Adds a pair that is not known so far. False if there are too many.
    pub(super) fn add(&mut self, known: Known) -> bool {
        let has_room = self.known.len() + self.parted.len() < self.max_pairs();
        if has_room {
            self.told += 1;
            self.known.insert(known.pair, (known.instance, self.told));
        }
        has_room
    }

    /// Forgets a pair. The instance that knew it, if one did.
    pub(super) fn remove(&mut self, pair: PortPair) -> Option<usize> {
        let (instance, _) = self.known.remove(&pair)?;
        self.last = None;
        self.refused.retain(|who| *who != (instance, pair.from));
        Some(instance)
    }

    /// All pairs, in the order in which the instances were told.
    pub(super) fn known(&self) -> impl Iterator<Item = Known> {
        let mut known: Vec<_> = self.known.iter().collect();
        known.sort_unstable_by_key(|(_, (_, told))| *told);
        known.into_iter().map(|(pair, (instance, _))| Known { pair: *pair, instance: *instance })
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

    /// Whether this side has ended the pair, and the node has not said so too.
    pub(super) fn is_parted(&self, pair: PortPair) -> bool {
        self.parted.contains(&pair)
    }

    /// Ends a pair that an instance here has broken with, and says so. The instance, if it knew it.
    pub(super) fn part(
        &mut self,
        at: Address,
        pair: PortPair,
        how: Parting,
        out: &mut dyn Outbox,
    ) -> Option<usize> {
        let instance = self.remove(pair)?;
        self.parted.insert(pair);
        self.owe(at, pair.turned(), Word::Left(how), out);
        Some(instance)
    }

    /// The node has ended a pair: it hears that this is known.
    pub(super) fn hear_left(&mut self, at: Address, pair: PortPair, out: &mut dyn Outbox) {
        self.parted.remove(&pair);
        self.owe(at, pair.turned(), Word::Left(Parting::Heard), out);
    }

    /// Answers a frame that was for nobody, as soon as there is room.
    pub(super) fn answer_absent(&mut self, at: Address, asked: PortPair, out: &mut dyn Outbox) {
        self.owe(at, asked.turned(), Word::Absent, out);
    }

    /// Says it as soon as there is room. Of what was for nobody no more is kept than a node may want: who asks in earnest asks once a port. That a pair is
    /// over is not left out, or it would be so for one side only.
    fn owe(&mut self, at: Address, pair: PortPair, word: Word, out: &mut dyn Outbox) {
        let most = match word {
            Word::Absent => self.max_pairs(),
            Word::Left(_) => usize::from(u16::MAX),
        };
        if self.owed.len() < most {
            self.owed.push_back((pair, word));
        }
        self.send_owed(at, out);
    }

    /// Sends what is owed to the node whose session is at this address, as far as there is room.
    pub(super) fn send_owed(&mut self, at: Address, out: &mut dyn Outbox) {
        while let Some((pair, word)) = self.owed.front() {
            let send = |kind: Kind, body: &[u8], out: &mut dyn Outbox| out.send(at, kind, Token(0), body);
            let sent = match word {
                Word::Absent => send(ABSENT, &pair.to_bytes(), out),
                Word::Left(parting) => send(LEFT, &parting.to_bytes(*pair), out),
            };
            if sent.is_err() {
                return;
            }
            self.owed.pop_front();
        }
    }
}
