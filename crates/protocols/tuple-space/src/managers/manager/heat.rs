//! When a key of a hash moves to another manager because most of what its own is asked is about it: the first manager decides.
//!
//! A key moves if it takes the load from the manager that has most to the one that has least, and does not make that one as loaded as the other was: at
//! most three quarters of it. So the same loads never take it back: that would need three quarters of what it came from. It has to be so in two periods
//! that follow each other, and afterwards nothing moves before loads of after the move are known, nor the same key for [`RESTS_FOR`] periods.

use super::Manager;
use crate::Signature;
use crate::codec::{Load, MAX_MOVED_KEYS, ROUTE, Relocation, Route};
use bytes::Bytes;
use quintet_contract::{Outbox, OwnedFrame, Span, Time};
use quintet_wire::encode_to_vec;
use std::collections::BTreeMap;

/// When keys of hashes move because of what is asked of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HotKeysConfig {
    /// Over so long a time requests are counted; 0: no key moves.
    pub period: Span,
    /// A manager that was asked less in a period keeps its keys.
    pub requests: u64,
}

impl Default for HotKeysConfig {
    fn default() -> Self {
        HotKeysConfig { period: Span::from_millis(250), requests: 2_000 }
    }
}

/// A key is hot if one in so many requests of its manager is about it.
const HOT_SHARE: u64 = 8;
/// Periods for which a key that has moved stays.
const RESTS_FOR: u64 = 16;
/// Periods after a move before loads are compared again: what is heard in the first is of before in part.
const SETTLES_FOR: u64 = 2;

/// A key of a hash.
type Key = (Signature, u64);

/// What the first manager knows of all managers' loads.
#[derive(Debug)]
pub(super) struct Heat {
    config: HotKeysConfig,
    /// What each told last, and when.
    loads: BTreeMap<u8, (Time, Load)>,
    /// What each would have been relieved of at its last period.
    suspects: BTreeMap<u8, Key>,
    /// Nothing is compared before.
    settled_at: Time,
    /// When keys were moved that are not where their values say.
    moved: BTreeMap<Key, Time>,
}

impl Heat {
    pub(super) fn new(config: HotKeysConfig) -> Heat {
        let (loads, suspects) = (BTreeMap::new(), BTreeMap::new());
        Heat { config, loads, suspects, settled_at: Time::ZERO, moved: BTreeMap::new() }
    }

    fn periods(&self, number: u64) -> Span {
        Span(self.config.period.0.saturating_mul(number))
    }

    /// What a manager is asked now: nothing, if it has told nothing lately.
    fn load(&self, now: Time, manager: u8) -> u64 {
        let is_fresh = |told: &&(Time, Load)| now.since(told.0) < self.periods(2);
        self.loads.get(&manager).filter(is_fresh).map_or(0, |(_, load)| load.requests)
    }

    /// The key that this manager is to be relieved of, and who has least to do.
    fn relief(&self, now: Time, from: u8, managers: u8) -> Option<(Key, u8)> {
        let (_, load) = self.loads.get(&from)?;
        if load.requests < self.config.requests {
            return None;
        }
        let (least, to) = (0..managers).map(|manager| (self.load(now, manager), manager)).min()?;
        let is_better =
            |requests: u64| (least + requests).saturating_mul(4) <= load.requests.saturating_mul(3);
        let rests =
            |key: &Key| self.moved.get(key).is_some_and(|moved| now.since(*moved) < self.periods(RESTS_FOR));
        let hot =
            load.keys.iter().filter(|(.., requests)| requests.saturating_mul(HOT_SHARE) >= load.requests);
        let keys = hot.filter(|(.., requests)| is_better(*requests));
        let mut keys = keys.map(|(signature, key, _)| (signature.clone(), *key));
        keys.find(|key| !rests(key)).map(|key| (key, to))
    }

    /// Which of the keys that were moved is asked for least: it was moved first of those that nobody tells of.
    fn coldest(&self) -> Option<Key> {
        let is_told = |of: &Key| {
            let mut keys = self.loads.values().flat_map(|(_, load)| &load.keys);
            keys.any(|(signature, key, _)| *signature == of.0 && *key == of.1)
        };
        let cold = self.moved.iter().filter(|(key, _)| !is_told(key));
        cold.min_by_key(|(_, moved)| **moved).map(|(key, _)| key.clone())
    }
}

impl Manager {
    /// Tells the first manager what there was to do in a period that has ended.
    pub(super) fn tell_load(&mut self, now: Time, out: &mut dyn Outbox) {
        let Some(load) = self.loads.ended(now) else { return };
        if self.directory.is_some() {
            return self.hear_load(now, self.me, load, out);
        }
        let token = self.ask(super::Sent::Load);
        let body = encode_to_vec(&Route::Load(load)).into();
        self.tell(0, OwnedFrame { kind: ROUTE, token, body, bulk: Bytes::new() }, out);
    }

    /// What a manager was asked in a period: if one of its keys is better elsewhere, and was in the period before, it moves.
    pub(super) fn hear_load(&mut self, now: Time, from: u8, load: Load, out: &mut dyn Outbox) {
        let managers = u8::try_from(self.managers.len()).expect("at most MAX_MANAGERS");
        let Some(directory) = &mut self.directory else { return };
        let is_busy = directory.is_busy();
        let heat = &mut directory.heat;
        heat.loads.insert(from, (now, load));
        if is_busy || now < heat.settled_at {
            heat.suspects.clear();
            return;
        }
        let relief = heat.relief(now, from, managers);
        let suspect = relief.as_ref().map(|(key, _)| key.clone());
        let before = match &suspect {
            Some(key) => heat.suspects.insert(from, key.clone()),
            None => heat.suspects.remove(&from),
        };
        if suspect == before
            && let Some((key, to)) = relief
        {
            self.move_key(now, key, to, out);
        }
    }

    /// Moves a key, or, if as many as may be have been moved, the coldest of those to where its value says.
    fn move_key(&mut self, now: Time, key: Key, to: u8, out: &mut dyn Outbox) {
        self.forget_unmoved();
        let Some(heat) = self.directory.as_mut().map(|directory| &mut directory.heat) else { return };
        heat.settled_at = now + heat.periods(SETTLES_FOR);
        heat.suspects.clear();
        let is_full = heat.moved.len() >= MAX_MOVED_KEYS && !heat.moved.contains_key(&key);
        let (signature, key, manager) = if is_full {
            let Some((signature, key)) = heat.coldest() else { return };
            let home = self.placement().home_by_value(&signature.0, Some(key));
            (signature, key, home)
        } else {
            heat.moved.insert(key.clone(), now);
            (key.0, key.1, to)
        };
        self.want(Relocation::Key { signature, key, manager });
        self.direct(now, out);
    }

    /// Keys that are where their values say, or whose signature is no hash any more, are not known as moved.
    fn forget_unmoved(&mut self) {
        let placement = self.placement();
        let moved: Vec<Key> =
            placement.moved_keys().map(|(signature, key)| (signature.clone(), key)).collect();
        if let Some(directory) = &mut self.directory {
            directory.heat.moved.retain(|key, _| moved.binary_search(key).is_ok());
        }
    }
}
