//! What the manager remembers of each address that asks.

use super::slab::Slab;
use super::stores::Place;
use crate::keyed::HashKey;
use bytes::Bytes;
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
    /// One who watches, of this age.
    Watcher(u64),
    /// A part of what several managers do, of this number: it is prepared, and may have been answered so.
    Prepared(u64),
}

/// A tuple of a plain take that was answered and may still be undone. Those of one collected page have the same token.
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
    /// Of a tuple that was given by what several managers did.
    pub(super) bulk: Bytes,
}

/// One address.
#[derive(Debug, Default)]
pub(super) struct Sender {
    pub(super) unanswered: BTreeMap<Token, Unanswered>,
    /// By token; those of one token in the order in which they were given.
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

    /// Where the first tuple stands of an answered take with this token, or would stand. Tokens usually grow: then it is O(1).
    fn position(&self, token: Token) -> Result<usize, usize> {
        match self.unsettled.back() {
            Some(last) if last.token >= token => {
                let at = self.unsettled.partition_point(|unsettled| unsettled.token < token);
                if self.unsettled[at].token == token { Ok(at) } else { Err(at) }
            }
            _ => Err(self.unsettled.len()),
        }
    }

    /// Remembers a tuple of an answered take, behind those that it has already.
    pub(super) fn hold(&mut self, token: Token, place: Place) {
        let at = match self.unsettled.back() {
            Some(last) if last.token > token => {
                self.unsettled.partition_point(|unsettled| unsettled.token <= token)
            }
            _ => self.unsettled.len(),
        };
        self.unsettled.insert(at, Unsettled { token, place });
    }

    /// Takes out the first tuple of the answered take with this token.
    pub(super) fn undo(&mut self, token: Token) -> Option<Unsettled> {
        let at = self.position(token).ok()?;
        self.unsettled.remove(at)
    }

    /// Takes out the first tuple of the answered take with the lowest token, if that lies below `token`.
    pub(super) fn settle_below(&mut self, token: Token) -> Option<Unsettled> {
        let first = self.unsettled.front()?;
        if first.token < token { self.unsettled.pop_front() } else { None }
    }

    /// Takes out the first tuple of the answered take with the lowest token other than `kept`.
    pub(super) fn settle_oldest_but(&mut self, kept: Token) -> Option<Unsettled> {
        let at = self.unsettled.iter().position(|unsettled| unsettled.token != kept)?;
        self.unsettled.remove(at)
    }
}

/// All addresses with something unfinished, and a few without.
#[derive(Debug)]
pub(super) struct Senders {
    list: Slab<Sender>,
    by_address: HashMap<Address, u32, HashKey>,
    /// The sender that was changed last, which is looked up several times a request.
    latest: Option<(Address, u32)>,
    /// Addresses with nothing unfinished are forgotten when there are this many.
    sweep_at: usize,
}

const KEPT_SENDERS: usize = 256;

impl Senders {
    pub(super) fn new(key: HashKey) -> Self {
        let (list, by_address) = (Slab::new(), HashMap::with_hasher(key));
        Senders { list, by_address, latest: None, sweep_at: KEPT_SENDERS }
    }

    #[inline(always)]
    fn find(&self, address: Address) -> Option<u32> {
        match self.latest {
            Some((latest, place)) if latest == address => Some(place),
            _ => self.look_up(address),
        }
    }

    #[cold]
    fn look_up(&self, address: Address) -> Option<u32> {
        self.by_address.get(&address).copied()
    }

    #[inline]
    pub(super) fn get(&self, address: Address) -> Option<&Sender> {
        self.find(address).map(|place| &self.list[place])
    }

    #[inline]
    pub(super) fn get_mut(&mut self, address: Address) -> Option<&mut Sender> {
        let place = self.find(address)?;
        self.latest = Some((address, place));
        Some(&mut self.list[place])
    }

    pub(super) fn get_or_add(&mut self, address: Address) -> &mut Sender {
        let place = self.find(address).unwrap_or_else(|| self.add(address));
        self.latest = Some((address, place));
        &mut self.list[place]
    }

    fn add(&mut self, address: Address) -> u32 {
        if self.list.len() >= self.sweep_at {
            self.sweep();
        }
        let place = self.list.add(Sender::default());
        self.by_address.insert(address, place);
        place
    }

    fn sweep(&mut self) {
        let list = &mut self.list;
        self.by_address.retain(|_, place| {
            let is_idle = list[*place].is_idle();
            if is_idle {
                list.remove(*place);
            }
            !is_idle
        });
        self.by_address.shrink_to_fit();
        self.latest = None;
        self.sweep_at = KEPT_SENDERS.max(self.list.len() * 2);
    }

    pub(super) fn remove(&mut self, address: Address) -> Option<Sender> {
        self.latest = None;
        self.by_address.remove(&address).map(|place| self.list.remove(place))
    }

    /// All of them with their addresses, in no particular order.
    pub(super) fn addressed(&self) -> impl Iterator<Item = (Address, &Sender)> {
        self.by_address.iter().map(|(address, place)| (*address, &self.list[*place]))
    }

    /// All of them, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Sender> {
        self.list.iter().map(|(_, sender)| sender)
    }
}
