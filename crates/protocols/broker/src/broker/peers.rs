//! What each peer has asked and was not answered, and until when it waits.

use crate::codec::{Answer, Place};
use crate::limits::MAX_UNSENT;
use quintet_contract::{Address, Time, Token};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What waits for an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Asked {
    /// The reply to this call.
    Call(u64),
    /// The next call of this handler.
    Next(u64),
    /// A handler at this place.
    Await(Place),
}

/// One address that asks.
#[derive(Debug, Default)]
pub(super) struct Peer {
    pub(super) asked: BTreeMap<Token, (Asked, Option<Time>)>,
    pub(super) handlers: BTreeSet<u64>,
    /// Calls that its handlers were given and have not answered.
    pub(super) given: BTreeSet<u64>,
    /// Answers for which its link had no room.
    pub(super) unsent: VecDeque<(Token, Answer)>,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Peers {
    list: BTreeMap<Address, Peer>,
    timers: BTreeSet<(Time, Address, Token)>,
    /// Who waits for a handler, by where.
    awaits: BTreeSet<(Place, Address, Token)>,
}

impl Peers {
    pub(super) fn get(&self, address: Address) -> Option<&Peer> {
        self.list.get(&address)
    }

    pub(super) fn get_mut(&mut self, address: Address) -> Option<&mut Peer> {
        self.list.get_mut(&address)
    }

    pub(super) fn get_or_add(&mut self, address: Address) -> &mut Peer {
        self.list.entry(address).or_default()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Address, &Peer)> {
        self.list.iter().map(|(address, peer)| (*address, peer))
    }

    /// What was asked under a token, if it is not answered.
    pub(super) fn asked(&self, from: Address, token: Token) -> Option<&Asked> {
        self.list.get(&from)?.asked.get(&token).map(|(asked, _)| asked)
    }

    /// Something waits for its answer, to the end given.
    pub(super) fn ask(&mut self, from: Address, token: Token, asked: Asked, end: Option<Time>) {
        if let Asked::Await(place) = &asked {
            self.awaits.insert((place.clone(), from, token));
        }
        self.timers.extend(end.map(|end| (end, from, token)));
        self.get_or_add(from).asked.insert(token, (asked, end));
    }

    /// It waits no more.
    pub(super) fn end(&mut self, from: Address, token: Token) -> Option<Asked> {
        let (asked, end) = self.list.get_mut(&from)?.asked.remove(&token)?;
        self.forget(from, token, &asked, end);
        Some(asked)
    }

    fn forget(&mut self, from: Address, token: Token, asked: &Asked, end: Option<Time>) {
        if let Asked::Await(place) = asked {
            self.awaits.remove(&(place.clone(), from, token));
        }
        end.into_iter().for_each(|end| _ = self.timers.remove(&(end, from, token)));
    }

    /// Who waits for a handler exactly there.
    pub(super) fn awaiting(&self, place: &Place) -> Vec<(Address, Token)> {
        let first = (place.clone(), Address::new(0, 0), Token(0));
        let there = self.awaits.range(first..).take_while(|(other, ..)| other == place);
        there.map(|(_, from, token)| (*from, *token)).collect()
    }

    /// When the first of them has waited long enough.
    pub(super) fn deadline(&self) -> Option<Time> {
        self.timers.first().map(|(at, ..)| *at)
    }

    /// One that has waited long enough.
    pub(super) fn due(&self, now: Time) -> Option<(Address, Token)> {
        self.timers.first().filter(|(at, ..)| *at <= now).map(|(_, from, token)| (*from, *token))
    }

    /// Keeps an answer until there is room for it. A peer that asks without regard to the room that it has gets no more than so many of them.
    pub(super) fn keep(&mut self, to: Address, token: Token, answer: Answer) {
        let unsent = &mut self.get_or_add(to).unsent;
        if unsent.len() < MAX_UNSENT {
            unsent.push_back((token, answer));
        }
    }

    /// The peer is gone, with what it waits for.
    pub(super) fn remove(&mut self, address: Address) -> Option<Peer> {
        let peer = self.list.remove(&address)?;
        for (token, (asked, end)) in &peer.asked {
            self.forget(address, *token, asked, *end);
        }
        Some(peer)
    }
}
