//! Checks that the parts of a space agree: for tests and fuzzing. It changes nothing.

use super::Space;
use super::sender::Unanswered;

impl Space {
    /// # Panics
    /// If they do not.
    pub(crate) fn verify(&self) {
        self.verify_tuples();
        self.verify_requests();
    }

    fn verify_tuples(&self) {
        let (mut bytes, mut tuples) = (0, 0);
        for store in self.stores.iter() {
            store.verify();
            for (_, entry) in store.entries().filter(|(_, entry)| entry.is_shown()) {
                bytes += entry.bytes();
                tuples += 1;
            }
        }
        for lease in self.leases.values() {
            let entry = self.stores.entry(lease.place);
            assert!(!entry.is_shown(), "a leased tuple is hidden");
            bytes += entry.bytes();
            tuples += 1;
        }
        let used = self.room.used();
        assert_eq!((used.bytes, used.tuples), (bytes, tuples), "the quota counts shown and leased tuples");
        let unsettled = self.senders.iter().flat_map(|sender| &sender.unsettled);
        let (mut unsettled_bytes, mut hidden) = (0, self.leases.len());
        for unsettled in unsettled {
            let entry = self.stores.entry(unsettled.place);
            assert!(!entry.is_shown(), "a tuple in delivery is hidden");
            unsettled_bytes += entry.bytes();
            hidden += 1;
        }
        assert_eq!(self.room.unsettled_bytes, unsettled_bytes);
        let hidden_in_stores: usize = self.stores.iter().map(super::store::Store::hidden).sum();
        assert_eq!(hidden_in_stores, hidden, "each hidden tuple is leased or in delivery");
    }

    fn verify_requests(&self) {
        let mut waiters = 0;
        let mut parked = 0;
        let mut filed = 0;
        for sender in self.senders.iter() {
            for unanswered in sender.unanswered.values() {
                match unanswered {
                    Unanswered::Waiter(place) => {
                        let waiter = &self.waiters[*place];
                        let is_blocked = sender.blocked.get(&waiter.order) == Some(place);
                        assert_ne!(
                            waiter.filed.is_some(),
                            is_blocked,
                            "a waiter waits for a tuple or for its link"
                        );
                        waiters += 1;
                        filed += usize::from(!is_blocked);
                    }
                    Unanswered::Parked(_) => parked += 1,
                }
            }
        }
        assert_eq!(self.waiters.len(), waiters);
        assert_eq!(self.room.parked(), parked);
        assert_eq!(self.stores.iter().map(super::store::Store::waiters).sum::<usize>(), filed);
    }
}
