//! What a layer keeps about each of its peers.

use crate::Address;

/// A map by address, for layers that look the same peer up several times a frame: it remembers where it looked last. Small
/// and sorted, so that iteration goes in the order of the addresses. A look at the peer looked at last costs a comparison,
/// another one a binary search; inserting and removing move the entries behind.
///
/// ```
/// use quintet_contract::{Address, PeerMap};
///
/// let mut peers = PeerMap::new();
/// peers.insert(Address::new(2, 16), "two");
/// peers.insert(Address::new(1, 16), "one");
/// assert_eq!(peers.get(Address::new(2, 16)), Some(&"two"));
/// assert_eq!(peers.values().copied().collect::<Vec<_>>(), ["one", "two"]);
/// ```
#[derive(Clone, Debug)]
pub struct PeerMap<T> {
    /// By address.
    entries: Vec<(Address, T)>,
    /// Where the last look for change ended. Only a guess: what lies there may have moved, or be gone.
    last: usize,
}

impl<T> PeerMap<T> {
    /// No peers.
    #[must_use]
    pub const fn new() -> Self {
        PeerMap { entries: Vec::new(), last: 0 }
    }

    /// How many peers there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Where a peer stands, or would stand.
    #[inline]
    fn find(&self, address: Address) -> Result<usize, usize> {
        match self.entries.get(self.last) {
            Some((there, _)) if *there == address => Ok(self.last),
            _ => self.search(address),
        }
    }

    #[cold]
    fn search(&self, address: Address) -> Result<usize, usize> {
        self.entries.binary_search_by_key(&address.to_bits(), |(there, _)| there.to_bits())
    }

    /// Whether there is such a peer.
    #[must_use]
    pub fn contains(&self, address: Address) -> bool {
        self.find(address).is_ok()
    }

    /// What is kept about a peer.
    #[inline]
    #[must_use]
    pub fn get(&self, address: Address) -> Option<&T> {
        let at = self.find(address).ok()?;
        Some(&self.entries[at].1)
    }

    /// What is kept about a peer, to be changed.
    #[inline]
    pub fn get_mut(&mut self, address: Address) -> Option<&mut T> {
        self.last = self.find(address).ok()?;
        Some(&mut self.entries[self.last].1)
    }

    /// Keeps `value` about a peer. What was kept before, if there was anything.
    pub fn insert(&mut self, address: Address, value: T) -> Option<T> {
        match self.find(address) {
            Ok(at) => Some(core::mem::replace(&mut self.entries[at].1, value)),
            Err(at) => {
                self.entries.insert(at, (address, value));
                None
            }
        }
    }

    /// Forgets a peer. What was kept about it, if there was anything.
    pub fn remove(&mut self, address: Address) -> Option<T> {
        let at = self.find(address).ok()?;
        Some(self.entries.remove(at).1)
    }

    /// All peers, in the order of their addresses.
    pub fn iter(&self) -> impl Iterator<Item = (Address, &T)> {
        self.entries.iter().map(|(address, value)| (*address, value))
    }

    /// Their addresses, in order.
    pub fn addresses(&self) -> impl Iterator<Item = Address> {
        self.iter().map(|(address, _)| address)
    }

    /// What is kept about them, in the order of their addresses.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.iter().map(|(_, value)| value)
    }
}

impl<T> Default for PeerMap<T> {
    fn default() -> Self {
        PeerMap::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Insert(u16),
        Remove(u16),
        Get(u16),
        Change(u16),
    }

    /// Addresses that are few enough to meet again, of several nodes and ports.
    fn address(n: u16) -> Address {
        Address::new(n / 4, n % 4)
    }

    fn step(peers: u16) -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => (0..peers).prop_map(Step::Insert),
            2 => (0..peers).prop_map(Step::Remove),
            3 => (0..peers).prop_map(Step::Get),
            3 => (0..peers).prop_map(Step::Change),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: if cfg!(miri) { 5 } else { 256 }, failure_persistence: None, ..ProptestConfig::default()
        })]

        #[test]
        fn it_is_a_map_in_the_order_of_addresses(
            steps in (1u16..400).prop_flat_map(|peers| proptest::collection::vec(step(peers), 1..300))
        ) {
            let (mut map, mut model) = (PeerMap::new(), BTreeMap::new());
            for (n, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Insert(at) => {
                        prop_assert_eq!(map.insert(address(at), n), model.insert(address(at), n));
                    }
                    Step::Remove(at) => prop_assert_eq!(map.remove(address(at)), model.remove(&address(at))),
                    Step::Get(at) => prop_assert_eq!(map.get(address(at)), model.get(&address(at))),
                    Step::Change(at) => {
                        let (mine, its) = (map.get_mut(address(at)), model.get_mut(&address(at)));
                        prop_assert_eq!(&mine, &its);
                        mine.into_iter().chain(its).for_each(|value| *value += 1000);
                    }
                }
                prop_assert!(map.iter().eq(model.iter().map(|(at, value)| (*at, value))));
                prop_assert_eq!((map.len(), map.is_empty()), (model.len(), model.is_empty()));
            }
            prop_assert!(map.addresses().eq(model.keys().copied()) && map.values().eq(model.values()));
            prop_assert!(model.keys().all(|at| map.contains(*at)));
        }
    }
}
