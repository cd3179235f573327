//! Which manager a tuple is at.

use crate::Signature;
use crate::codec::{Class, Relocation, Routes, View};
use crate::keyed::HashKey;
use core::hash::{BuildHasher, Hasher};
use std::collections::BTreeMap;

/// Where the tuples of each signature are, as of an epoch.
#[derive(Clone, Debug)]
pub(crate) struct Placement {
    key: HashKey,
    seed: u64,
    managers: u8,
    pub(crate) epoch: u64,
    /// Those that are no queues.
    classes: BTreeMap<Signature, Class>,
    /// At which epoch each of them moved last, all of it or a key.
    moved: BTreeMap<Signature, u64>,
    /// Of hashes, the keys that are elsewhere than their values say.
    moved_keys: BTreeMap<Signature, BTreeMap<u64, u8>>,
}

/// Where what a template matches is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Home {
    /// At this manager.
    One(u8),
    /// Anywhere: it does not give the key.
    Any,
}

impl Placement {
    /// Over so many managers, all signatures being queues.
    pub(crate) fn new(seed: u64, managers: u8) -> Placement {
        let (classes, moved, moved_keys) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Placement { key: HashKey::from_seed(seed), seed, managers, epoch: 0, classes, moved, moved_keys }
    }

    /// As a directory has said.
    pub(crate) fn of_routes(routes: &Routes) -> Placement {
        let managers = u8::try_from(routes.addresses.len()).expect("at most MAX_MANAGERS");
        let mut placement = Placement::new(routes.seed, managers);
        routes.relocations.iter().for_each(|relocation| placement.change(routes.epoch, relocation));
        Placement { epoch: routes.epoch, ..placement }
    }

    /// What a directory says to who asks without a kernel; where each manager listens it has to know.
    pub(crate) fn routes(&self, addresses: Vec<String>) -> Routes {
        let classes = self.classes.iter();
        let mut relocations: Vec<Relocation> =
            classes.map(|(signature, class)| Relocation::Class(signature.clone(), *class)).collect();
        for (signature, keys) in &self.moved_keys {
            let moved = |(key, manager): (&u64, &u8)| Relocation::Key {
                signature: signature.clone(),
                key: *key,
                manager: *manager,
            };
            relocations.extend(keys.iter().map(moved));
        }
        Routes { epoch: self.epoch, seed: self.seed, addresses, are_beside: false, relocations }
    }

    /// Keys the hash that says where a tuple is.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// The class of a signature.
    pub(crate) fn class(&self, signature: &[u8]) -> Class {
        if self.classes.is_empty() {
            return Class::Queue;
        }
        self.classes.get(signature).copied().unwrap_or(Class::Queue)
    }

    /// How many signatures are no queues.
    pub(crate) fn classes(&self) -> usize {
        self.classes.len()
    }

    /// From an epoch on tuples are somewhere else. A key that is to be where its value says is no exception any more, and a signature that is gathered has none.
    pub(crate) fn change(&mut self, epoch: u64, relocation: &Relocation) {
        self.epoch = epoch;
        self.moved.insert(relocation.signature().clone(), epoch);
        match relocation {
            Relocation::Class(signature, class) => {
                self.moved_keys.remove(signature);
                self.classes.insert(signature.clone(), *class);
            }
            Relocation::Key { signature, key, manager } if *manager < self.managers => {
                let keys = self.moved_keys.entry(signature.clone()).or_default();
                keys.insert(*key, *manager);
                if self.home_by_value(&signature.0, Some(*key)) == *manager {
                    self.forget_key(signature, *key);
                }
            }
            // No manager says that.
            Relocation::Key { .. } => {}
        }
    }

    fn forget_key(&mut self, signature: &Signature, key: u64) {
        let Some(keys) = self.moved_keys.get_mut(signature) else { return };
        keys.remove(&key);
        if keys.is_empty() {
            self.moved_keys.remove(signature);
        }
    }

    /// At which epoch a signature moved last, all of it or a key; 0 if it never did.
    pub(crate) fn moved_at(&self, signature: &[u8]) -> u64 {
        self.moved.get(signature).copied().unwrap_or_default()
    }

    /// As it is, of one signature alone.
    pub(crate) fn of_signature(&self, signature: &Signature) -> Placement {
        let mut placement = Placement::new(self.seed, self.managers);
        if let Some(class) = self.classes.get(signature) {
            placement.classes.insert(signature.clone(), *class);
        }
        if let Some(keys) = self.moved_keys.get(signature) {
            placement.moved_keys.insert(signature.clone(), keys.clone());
        }
        placement
    }

    /// Keys that are elsewhere than their values say.
    pub(crate) fn moved_keys(&self) -> impl Iterator<Item = (&Signature, u64)> {
        self.moved_keys.iter().flat_map(|(signature, keys)| keys.keys().map(move |key| (signature, *key)))
    }

    /// The hash of the key of a tuple, or of a template that gives it, if its signature is a hash.
    pub(crate) fn key_of(&self, view: &View<'_>) -> Option<u64> {
        match self.class(view.signature()) {
            Class::Hash(field) if view.actuals() >> field & 1 == 1 => Some(view.hash(1 << field, &self.key)),
            _ => None,
        }
    }

    /// Whether a tuple or a template is among what a relocation is about. A template without the key is about every key.
    pub(crate) fn concerns(&self, signature: &[u8], key: Option<u64>, view: &View<'_>) -> bool {
        view.signature() == signature && key.is_none_or(|key| self.key_of(view).is_none_or(|own| own == key))
    }

    /// The manager that has a tuple, or a template with a value in its key.
    pub(crate) fn of_tuple(&self, tuple: &View<'_>) -> u8 {
        self.of_key(tuple.signature(), self.key_of(tuple))
    }

    /// The manager that has what is of this signature, and of this key if it is a hash.
    pub(crate) fn of_key(&self, signature: &[u8], key: Option<u64>) -> u8 {
        if let Some(key) = key
            && !self.moved_keys.is_empty()
            && let Some(manager) = self.moved_keys.get(signature).and_then(|keys| keys.get(&key))
        {
            return *manager;
        }
        self.home_by_value(signature, key)
    }

    /// The manager of a signature and a key, as their values say.
    pub(crate) fn home_by_value(&self, signature: &[u8], key: Option<u64>) -> u8 {
        let mut hasher = self.key.build_hasher();
        hasher.write(signature);
        key.into_iter().for_each(|key| hasher.write_u64(key));
        u8::try_from(hasher.finish() % u64::from(self.managers)).expect("there are fewer managers")
    }

    /// Where all of a signature is, or all of a key of it.
    pub(crate) fn of_all(&self, signature: &[u8], key: Option<u64>) -> Home {
        match self.class(signature) {
            Class::Hash(_) if key.is_none() => Home::Any,
            _ => Home::One(self.of_key(signature, key)),
        }
    }

    /// Where what a template matches is.
    pub(crate) fn of_template(&self, template: &View<'_>) -> Home {
        match self.class(template.signature()) {
            Class::Hash(field) if template.actuals() >> field & 1 == 0 => Home::Any,
            _ => Home::One(self.of_tuple(template)),
        }
    }
}
