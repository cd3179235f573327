//! What the manager remembers of each address that asks.

use super::store::Place;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use quintet_contract::{Address, Kind, Token};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A request that has no answer so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unanswered {
    /// A take or read, in this place among the waiters.
    Waiter(u32),
    /// A put that waits for room.
    Parked(super::room::ParkedKey),
}

/// A plain take that was answered and may still be undone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unsettled {
    pub(super) token: Token,
    pub(super) place: Place,
}

/// An answer for which the sender's link had no room.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) kind: Kind,
    pub(super) token: Token,
    pub(super) body: Vec<u8>,
}

/// One address.
#[derive(Debug, Default)]
pub(super) struct Sender {
    pub(super) unanswered: BTreeMap<Token, Unanswered>,
    /// By token.
    pub(super) unsettled: VecDeque<Unsettled>,
    pub(super) leases: BTreeSet<u64>,
    /// Waiters that found its link full, by age.
    pub(super) blocked: BTreeMap<u64, u32>,
    pub(super) replies: VecDeque<Reply>,
}

impl Sender {
    fn is_idle(&self) -> bool {
        self.unanswered.is_empty()
            && self.unsettled.is_empty()
            && self.leases.is_empty()
            && self.replies.is_empty()
    }

    /// Whether a request with this token is unanswered or unsettled.
    pub(super) fn uses(&self, token: Token) -> bool {
        self.unanswered.contains_key(&token) || self.position(token).is_ok()
    }

    fn position(&self, token: Token) -> Result<usize, usize> {
        self.unsettled.binary_search_by_key(&token, |unsettled| unsettled.token)
    }

    /// Remembers an answered take. Tokens usually grow: then it is O(1).
    pub(super) fn hold(&mut self, token: Token, place: Place) {
        let unsettled = Unsettled { token, place };
        match self.unsettled.back() {
            Some(last) if last.token >= token => {
                let at = self.position(token).unwrap_or_else(|at| at);
                self.unsettled.insert(at, unsettled);
            }
            _ => self.unsettled.push_back(unsettled),
        }
    }

    /// Takes out the answered take with this token.
    pub(super) fn undo(&mut self, token: Token) -> Option<Unsettled> {
        let at = self.position(token).ok()?;
        self.unsettled.remove(at)
    }

    /// Takes out the answered take with the lowest token, if that lies below `token`.
    pub(super) fn settle_below(&mut self, token: Token) -> Option<Unsettled> {
        let first = self.unsettled.front()?;
        if first.token < token { self.unsettled.pop_front() } else { None }
    }

    /// Takes out the answered take with the lowest token other than `kept`.
    pub(super) fn settle_oldest_but(&mut self, kept: Token) -> Option<Unsettled> {
        let at = self.unsettled.iter().position(|unsettled| unsettled.token != kept)?;
        self.unsettled.remove(at)
    }
}

/// All addresses with something unfinished, and a few without.
#[derive(Debug)]
pub(super) struct Senders {
    by_address: HashMap<Address, Sender, FixedState>,
    /// Addresses with nothing unfinished are forgotten when there are this many.
    sweep_at: usize,
}

const KEPT_SENDERS: usize = 256;

impl Senders {
    pub(super) fn new(key: FixedState) -> Self {
        Senders { by_address: HashMap::with_hasher(key), sweep_at: KEPT_SENDERS }
    }

    pub(super) fn get(&self, address: Address) -> Option<&Sender> {
        self.by_address.get(&address)
    }

    pub(super) fn get_mut(&mut self, address: Address) -> Option<&mut Sender> {
        self.by_address.get_mut(&address)
    }

    pub(super) fn get_or_add(&mut self, address: Address) -> &mut Sender {
        if self.by_address.len() >= self.sweep_at && !self.by_address.contains_key(&address) {
            self.by_address.retain(|_, sender| !sender.is_idle());
            self.sweep_at = KEPT_SENDERS.max(self.by_address.len() * 2);
        }
        self.by_address.entry(address).or_default()
    }

    pub(super) fn remove(&mut self, address: Address) -> Option<Sender> {
        self.by_address.remove(&address)
    }

    /// All of them, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Sender> {
        self.by_address.values()
    }
}
