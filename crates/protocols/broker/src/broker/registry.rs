//! Handlers by their names, the calls that wait for them, and which call goes to whom.

use crate::codec::Place;
use crate::config::HandlerLimits;
use quintet_contract::{Address, Token};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// One handler.
#[derive(Debug)]
pub(super) struct Handler {
    pub(super) owner: Address,
    pub(super) place: Place,
    /// Its requests for calls, oldest first, each with when it came.
    asks: VecDeque<(u64, Token)>,
    /// Calls that it was given and has not answered.
    given: u32,
}

/// The handlers of one name.
#[derive(Debug)]
struct Group {
    limits: HandlerLimits,
    /// With their ranks in front.
    handlers: BTreeSet<(Option<u32>, u64)>,
    /// Calls that wait, by the rank that they are for.
    waiting: BTreeMap<Option<u32>, BTreeSet<u64>>,
    count: u32,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Registry {
    handlers: BTreeMap<u64, Handler>,
    groups: BTreeMap<Arc<str>, Group>,
    /// Requests for calls so far: their order.
    asked: u64,
}

impl Group {
    /// Those that may take what is for this rank.
    fn at(&self, rank: Option<u32>) -> impl DoubleEndedIterator<Item = u64> {
        let all = match rank {
            None => self.handlers.range(..),
            Some(_) => self.handlers.range((rank, 0)..=(rank, u64::MAX)),
        };
        all.map(|(_, handler)| *handler)
    }

    fn remove_waiting(&mut self, rank: Option<u32>, call: u64) {
        let Some(queue) = self.waiting.get_mut(&rank) else { return };
        self.count -= u32::from(queue.remove(&call));
        if queue.is_empty() {
            self.waiting.remove(&rank);
        }
    }

    /// Takes out the calls that no handler is left for.
    fn take_orphans(&mut self) -> Vec<u64> {
        let ranks: Vec<_> =
            self.waiting.keys().copied().filter(|rank| self.at(*rank).next().is_none()).collect();
        let orphans: Vec<u64> = ranks.iter().filter_map(|rank| self.waiting.remove(rank)).flatten().collect();
        self.count -= u32::try_from(orphans.len()).expect("they were counted in 32 bits");
        orphans
    }
}

impl Registry {
    pub(super) fn len(&self) -> usize {
        self.handlers.len()
    }

    /// Calls that wait, of all names.
    pub(super) fn waiting(&self) -> u64 {
        self.groups.values().map(|group| u64::from(group.count)).sum()
    }

    pub(super) fn get(&self, handler: u64) -> Option<&Handler> {
        self.handlers.get(&handler)
    }

    /// The handlers at a place.
    pub(super) fn at(&self, place: &Place) -> Vec<u64> {
        self.groups.get(&place.name).map_or_else(Vec::new, |group| group.at(place.rank).collect())
    }

    /// What the handlers of a name take, if there are any.
    pub(super) fn limits(&self, name: &str) -> Option<HandlerLimits> {
        self.groups.get(name).map(|group| group.limits)
    }

    /// Whether a handler is at the place.
    pub(super) fn has(&self, place: &Place) -> bool {
        self.groups.get(&place.name).is_some_and(|group| group.at(place.rank).next().is_some())
    }

    /// Whether as many calls of the name wait as may.
    pub(super) fn is_full(&self, name: &str) -> bool {
        self.groups.get(name).is_none_or(|group| group.count >= group.limits.waiting)
    }

    pub(super) fn add(&mut self, number: u64, owner: Address, place: Place, limits: HandlerLimits) {
        let group = self.groups.entry(Arc::clone(&place.name)).or_insert_with(|| Group {
            limits,
            handlers: BTreeSet::new(),
            waiting: BTreeMap::new(),
            count: 0,
        });
        group.handlers.insert((place.rank, number));
        self.handlers.insert(number, Handler { owner, place, asks: VecDeque::new(), given: 0 });
    }

    /// The handler is gone: its requests for calls, and the calls that nobody is left for.
    pub(super) fn remove(&mut self, number: u64) -> Option<(Vec<Token>, Vec<u64>)> {
        let handler = self.handlers.remove(&number)?;
        let group = self.groups.get_mut(&handler.place.name)?;
        group.handlers.remove(&(handler.place.rank, number));
        let orphans = group.take_orphans();
        if group.handlers.is_empty() {
            self.groups.remove(&handler.place.name);
        }
        Some((handler.asks.into_iter().map(|(_, token)| token).collect(), orphans))
    }

    /// A handler asks for a call.
    pub(super) fn ask(&mut self, handler: u64, token: Token) {
        self.asked += 1;
        let asked = self.asked;
        self.handlers
            .get_mut(&handler)
            .into_iter()
            .for_each(|handler| handler.asks.push_back((asked, token)));
    }

    /// It asks no more.
    pub(super) fn take_back(&mut self, handler: u64, token: Token) {
        if let Some(handler) = self.handlers.get_mut(&handler) {
            handler.asks.retain(|(_, other)| *other != token);
        }
    }

    fn can_take(&self, number: u64) -> Option<&Handler> {
        let handler = self.handlers.get(&number)?;
        let at_once = self.limits(&handler.place.name)?.at_once;
        (!handler.asks.is_empty() && handler.given < at_once).then_some(handler)
    }

    /// Whose a rank is: the newest process there took the place of an earlier one, of which it may not be known yet that it has ended.
    fn owner_of(&self, group: &Group, rank: u32) -> Option<Address> {
        let newest = group.at(Some(rank)).next_back()?;
        self.handlers.get(&newest).map(|handler| handler.owner)
    }

    /// The handler at a place that has waited longest for a call and may take one. Linear in the handlers there.
    pub(super) fn idlest(&self, place: &Place) -> Option<u64> {
        let group = self.groups.get(&place.name)?;
        let owner = place.rank.and_then(|rank| self.owner_of(group, rank));
        let able = group.at(place.rank).filter_map(|number| {
            let handler =
                self.can_take(number).filter(|handler| owner.is_none_or(|owner| owner == handler.owner))?;
            Some((handler.asks.front()?.0, number))
        });
        able.min().map(|(_, number)| number)
    }

    /// The oldest call that a handler may take now.
    pub(super) fn oldest_for(&self, number: u64) -> Option<u64> {
        let handler = self.can_take(number)?;
        let group = self.groups.get(&handler.place.name)?;
        let oldest = |rank: Option<u32>| group.waiting.get(&rank).and_then(BTreeSet::first).copied();
        let rank = handler.place.rank.filter(|rank| self.owner_of(group, *rank) == Some(handler.owner));
        [oldest(None), rank.and_then(|rank| oldest(Some(rank)))].into_iter().flatten().min()
    }

    /// The token of the request for a call that is to be answered next.
    pub(super) fn next_ask(&self, handler: u64) -> Option<Token> {
        self.handlers.get(&handler)?.asks.front().map(|(_, token)| *token)
    }

    /// The handler was given a call, for the oldest of its requests.
    pub(super) fn give(&mut self, handler: u64) {
        if let Some(handler) = self.handlers.get_mut(&handler) {
            handler.asks.pop_front();
            handler.given += 1;
        }
    }

    /// It is done with one.
    pub(super) fn done(&mut self, handler: u64) {
        self.handlers.get_mut(&handler).into_iter().for_each(|handler| handler.given -= 1);
    }

    pub(super) fn enqueue(&mut self, place: &Place, call: u64) {
        if let Some(group) = self.groups.get_mut(&place.name) {
            group.count += u32::from(group.waiting.entry(place.rank).or_default().insert(call));
        }
    }

    pub(super) fn dequeue(&mut self, place: &Place, call: u64) {
        self.groups.get_mut(&place.name).into_iter().for_each(|group| group.remove_waiting(place.rank, call));
    }
}
