//! Which manager a tuple is at.

use crate::Signature;
use crate::codec::{Class, Routes, View};
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
        Placement { key: HashKey::from_seed(seed), seed, managers, epoch: 0, classes: BTreeMap::new() }
    }

    /// As a directory has said.
    pub(crate) fn of_routes(routes: &Routes) -> Placement {
        let managers = u8::try_from(routes.addresses.len()).expect("at most MAX_MANAGERS");
        let classes = routes.classes.iter().cloned().collect();
        Placement { epoch: routes.epoch, classes, ..Placement::new(routes.seed, managers) }
    }

    /// What a directory says; where each manager listens it has to know.
    pub(crate) fn routes(&self, addresses: Vec<String>) -> Routes {
        let classes = self.classes.iter().map(|(signature, class)| (signature.clone(), *class)).collect();
        Routes { epoch: self.epoch, seed: self.seed, addresses, classes }
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

    /// From an epoch on a signature has another class.
    pub(crate) fn change(&mut self, epoch: u64, signature: Signature, class: Class) {
        self.epoch = epoch;
        self.classes.insert(signature, class);
    }

    /// The manager that has a tuple, or a template with a value in its key.
    pub(crate) fn of_tuple(&self, tuple: &View<'_>) -> u8 {
        let mut hasher = self.key.build_hasher();
        hasher.write(tuple.signature());
        if let Class::Hash(field) = self.class(tuple.signature()) {
            hasher.write_u64(tuple.hash(1 << field, &self.key));
        }
        u8::try_from(hasher.finish() % u64::from(self.managers)).expect("there are fewer managers")
    }

    /// Where what a template matches is.
    pub(crate) fn of_template(&self, template: &View<'_>) -> Home {
        match self.class(template.signature()) {
            Class::Hash(field) if template.actuals() >> field & 1 == 0 => Home::Any,
            _ => Home::One(self.of_tuple(template)),
        }
    }
}
