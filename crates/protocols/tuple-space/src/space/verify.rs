//! Checks that the parts of a space agree: for tests and fuzzing. It changes nothing.

use super::Space;
use super::room::{Account, INDEX_ENTRY_BYTES, Size};
use super::sender::Unanswered;
use super::store::Entry;
use super::timers::Timer;
use super::waiter::Operation;

impl Space {
    /// # Panics
    /// If they do not.
    pub(crate) fn verify(&self) {
        self.verify_tuples();
        self.verify_requests();
        self.verify_sought();
        assert!(!self.waits_without_grant(), "somebody waits with what he may not put");
    }

    fn verify_tuples(&self) {
        let mut counted = [Size::default(); 2];
        let mut count = |entry: &Entry| {
            let account = &mut counted[usize::from(entry.account() == Account::Reserve)];
            account.bytes += entry.bytes();
            account.tuples += 1;
        };
        self.stores.verify(&self.key);
        for (place, expiry, order) in self.stores.expiring() {
            assert!(self.timers.has(expiry, order, Timer::Tuple(place)), "a tuple leaves when it expires");
        }
        for store in self.stores.iter() {
            for (_, entry) in store.entries().filter(|(_, entry)| entry.is_shown()) {
                count(entry);
            }
        }
        for lease in self.leases.values() {
            let entry = self.stores.entry(lease.place);
            assert!(!entry.is_shown(), "a leased tuple is hidden");
            count(entry);
        }
        for (size, account) in self.reserved() {
            let account = &mut counted[usize::from(account == Account::Reserve)];
            *account = account.plus(size);
        }
        self.verify_usage();
        let entries = self.stores.iter().map(|store| store.further() * store.shown() as u64).sum::<u64>();
        assert_eq!(self.room.index_bytes(), entries * INDEX_ENTRY_BYTES);
        let accounts = [Account::Quota, Account::Reserve].map(|account| self.room.used(account));
        assert_eq!(accounts, counted, "quota and reserve count shown, leased and prepared tuples");
        let unsettled = self.senders.iter().flat_map(|sender| &sender.unsettled);
        let (mut held, mut hidden) = (Size::default(), self.leases.len());
        for unsettled in unsettled {
            let entry = self.stores.entry(unsettled.place);
            assert!(!entry.is_shown(), "a tuple in delivery is hidden");
            held = Size { bytes: held.bytes + entry.bytes(), tuples: held.tuples + 1 };
            hidden += 1;
        }
        assert_eq!(self.room.unsettled(), held);
        let hidden_in_stores: usize = self.stores.iter().map(super::store::Store::hidden).sum();
        assert_eq!(hidden_in_stores, hidden, "each hidden tuple is leased or in delivery");
    }

    /// Shown and leased tuples count for their partitions, those in delivery do not.
    fn verify_usage(&self) {
        for (number, store) in self.stores.iter_from(0) {
            let leased = self.leases.values().filter(|lease| lease.place.store == number);
            let leased = leased.map(|lease| store.entry(lease.place.entry));
            let shown = store.entries().map(|(_, entry)| entry).filter(|entry| entry.is_shown());
            store.usage().verify(leased.chain(shown).map(|entry| (entry.partition(), entry.bytes())));
        }
    }

    fn verify_requests(&self) {
        let mut waiters = 0;
        let (mut parked, mut watchers, mut prepared) = (0, 0, 0);
        let (mut filed, mut unindexed, mut scanning) = (0, 0, 0);
        for sender in self.senders.iter() {
            for unanswered in sender.unanswered.values() {
                match unanswered {
                    Unanswered::Waiter(place) => {
                        let waiter = &self.waiters[*place];
                        let is_blocked = sender.blocked.get(&waiter.order) == Some(place);
                        let is_unindexed = self.unindexed.get(&waiter.order) == Some(place);
                        let is_scanning = self.scans.contains(waiter.order, *place);
                        let reasons = [waiter.filed.is_some(), is_blocked, is_unindexed, is_scanning];
                        let count = reasons.into_iter().filter(|reason| *reason).count();
                        let only_puts = waiter.part.as_deref().is_some_and(|part| !part.is_here);
                        let expected = usize::from(!only_puts);
                        assert_eq!(count, expected, "a waiter waits for one thing: {reasons:?}");
                        waiters += 1;
                        filed += waiter.all_filed().count();
                        let puts = waiter.replacement().is_some();
                        assert_eq!(waiter.requester.operation == Operation::Replace, puts);
                        unindexed += usize::from(is_unindexed);
                        scanning += usize::from(is_scanning);
                    }
                    Unanswered::Parked(_) => parked += 1,
                    Unanswered::Watcher(order) => watchers += usize::from(self.watches.contains(*order)),
                    Unanswered::Prepared(_) => prepared += 1,
                }
            }
        }
        assert_eq!(self.waiters.len(), waiters);
        assert_eq!(self.unindexed.len(), unindexed);
        assert_eq!(self.scans.len(), scanning);
        let is_served = self.stores.has_unready() || self.retry_from.is_some();
        assert!(unindexed == 0 || is_served, "an index is waited for that nobody builds");
        assert_eq!(self.step_at.is_some(), self.has_steps());
        assert_eq!(self.room.parked(), parked);
        assert_eq!(self.reserved().count(), prepared, "what is prepared is its client's");
        assert_eq!(self.watches.len(), watchers, "who watches has asked for it");
        assert_eq!(self.stores.iter().map(super::store::Store::waiters).sum::<usize>(), filed);
    }
}
