//! The quota, the reserve for results, and the requests that wait for room.
//!
//! Results of an acknowledgement need room even where the space is full of tasks, or nothing would ever end. They find it in what their
//! own tuple leaves, in what is free of the quota, or in a reserve beyond the quota that only results may use. Acknowledgements that wait
//! wait for the reserve, which is emptied by taking results: no tuple that was put by an `out` can keep it full. (docs/design/0011.)

mod saved;

use super::SpaceConfig;
use super::group::Ends;
use super::index::MAX_FURTHER_INDEXES;
use super::store::NewIndex;
use crate::codec::{KeptTuples, PreparedAt, PutTuples};
use quintet_contract::{Address, Span, Time, Token};
use std::collections::BTreeMap;

/// What something takes of the quota.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Size {
    pub(super) bytes: u64,
    pub(super) tuples: u64,
}

/// Where a tuple counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Account {
    /// The quota.
    Quota,
    /// The reserve: it came as a result for which the quota had no room.
    Reserve,
}

/// What tuples count for, in each account.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Counted {
    pub(super) quota: Size,
    pub(super) reserve: Size,
}

/// What a tuple takes beside its head and bulk: its place (40 bytes, up to twice that while the places grow), its head's allocation, and
/// its entries in two indexes, one of some fields and one of all tuples in order.
pub const TUPLE_BYTES: u64 = 160;

/// What a tuple that expires takes beyond that: where its time is kept, and its entry among what is due.
pub const EXPIRY_BYTES: u64 = 136;

/// What a tuple's entry in each further index takes, the empty places of its table included.
pub(super) const INDEX_ENTRY_BYTES: u64 = 48;

/// What a tuple's entries in all further indexes take that there may be.
pub const MAX_INDEX_BYTES: u64 = MAX_FURTHER_INDEXES * INDEX_ENTRY_BYTES;

/// What a request that waits takes beside its template or its tuples.
const WAITING_BYTES: u64 = 256;

/// The reserve is this part of the quota.
const RESERVE_SHARE: u64 = 4;

/// Orders the requests that wait for room: acknowledgements first, as they free the room of the tuple they end, then
/// by age.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct ParkedKey {
    pub(super) is_out: bool,
    pub(super) order: u64,
}

/// A put that waits for room, whole.
#[derive(Debug)]
pub(super) struct Parked {
    pub(super) address: Address,
    pub(super) token: Token,
    /// What it ends, if it is an acknowledgement or a group's.
    pub(super) ends: Ends,
    pub(super) since: Time,
    pub(super) due: Option<Time>,
    pub(super) waits: Span,
    pub(super) size: Size,
    tuples: KeptTuples,
    /// Of a part of what several managers do: the others' parts, if they were told to this one, which brings them together then.
    pub(super) others: Option<Vec<PreparedAt>>,
}

/// The quota and its use.
#[derive(Debug)]
pub(super) struct Room {
    limit: Size,
    used: Size,
    /// Of results for which the quota had no room.
    reserve_used: Size,
    /// Entries of tuples in further indexes, which count in the quota.
    index_entries: u64,
    /// The most further indexes that a signature has had: a tuple that is put may need an entry in each.
    most_indexes: u64,
    /// Takes that may still be undone: no longer counted as used, bounded by the quota once more.
    unsettled: Size,
    parked: BTreeMap<ParkedKey, Parked>,
    /// Bytes of all requests that wait, for a tuple or for room; and how many there may be.
    waiting_bytes: u64,
    max_waiting_bytes: u64,
    /// Something was freed since parked requests were last looked at.
    freed: bool,
}

impl Parked {
    pub(super) fn new(
        address: Address,
        token: Token,
        ends: Ends,
        waits: Span,
        tuples: &PutTuples<'_>,
    ) -> Parked {
        let (size, tuples) = (Size::of(tuples), tuples.keep());
        Parked { address, token, ends, since: Time::ZERO, due: None, waits, size, tuples, others: None }
    }

    pub(super) fn tuples(&self) -> PutTuples<'_> {
        self.tuples.borrow()
    }

    /// Bytes for which it counts while it waits.
    pub(super) fn kept_bytes(&self) -> u64 {
        self.tuples().kept_bytes() + self.ends.bytes()
    }
}

impl Counted {
    /// With one more tuple.
    pub(super) fn add(&mut self, size: Size, account: Account) {
        let counted = match account {
            Account::Quota => &mut self.quota,
            Account::Reserve => &mut self.reserve,
        };
        *counted = counted.plus(size);
    }
}

impl Size {
    pub(super) fn of(tuples: &PutTuples<'_>) -> Size {
        let (number, expiring) = (u64::from(tuples.len()), u64::from(tuples.expiring()));
        Size { bytes: tuples.total_bytes() + number * TUPLE_BYTES + expiring * EXPIRY_BYTES, tuples: number }
    }

    /// With an entry for each tuple in so many further indexes.
    fn indexed(self, indexes: u64) -> Size {
        Size { bytes: self.bytes + self.tuples * indexes * INDEX_ENTRY_BYTES, ..self }
    }

    /// Whether it needs no more than what goes, if anything does.
    fn leaves(self, going: Size) -> bool {
        going.tuples > 0 && self.is_within(going)
    }

    fn is_within(self, limit: Size) -> bool {
        self.bytes <= limit.bytes && self.tuples <= limit.tuples
    }

    pub(super) fn plus(self, other: Size) -> Size {
        // What lies in memory, or came in one request: far from the end of 64 bits.
        Size { bytes: self.bytes + other.bytes, tuples: self.tuples + other.tuples }
    }

    fn minus(self, other: Size) -> Size {
        let (bytes, tuples) =
            (self.bytes.saturating_sub(other.bytes), self.tuples.saturating_sub(other.tuples));
        Size { bytes, tuples }
    }
}

impl Room {
    pub(super) fn new(config: &SpaceConfig) -> Room {
        Room {
            limit: Size { bytes: config.max_bytes, tuples: config.max_tuples },
            used: Size::default(),
            reserve_used: Size::default(),
            index_entries: 0,
            most_indexes: 0,
            unsettled: Size::default(),
            parked: BTreeMap::new(),
            waiting_bytes: 0,
            max_waiting_bytes: config.max_waiting_bytes,
            freed: false,
        }
    }

    /// What an account counts.
    pub(super) fn used(&self, account: Account) -> Size {
        match account {
            Account::Quota => self.used,
            Account::Reserve => self.reserve_used,
        }
    }

    /// What both accounts count.
    pub(super) fn held(&self) -> Size {
        self.used.plus(self.reserve_used)
    }

    /// What the takes hold that may still be undone.
    pub(super) fn unsettled(&self) -> Size {
        self.unsettled
    }

    /// A tuple of so many bytes was taken, and may return.
    pub(super) fn add_unsettled(&mut self, bytes: u64) {
        self.unsettled = self.unsettled.plus(Size { bytes, tuples: 1 });
    }

    /// Such a take was undone, or cannot be undone any more.
    pub(super) fn free_unsettled(&mut self, bytes: u64) {
        self.unsettled = self.unsettled.minus(Size { bytes, tuples: 1 });
    }

    /// Whether it could ever fit, however many indexes there may be.
    pub(super) fn could_fit(&self, size: Size) -> bool {
        size.indexed(MAX_FURTHER_INDEXES).is_within(self.limit)
    }

    /// Whether it fits the quota now.
    pub(super) fn fits(&self, size: Size) -> bool {
        self.fits_beside(self.used, size)
    }

    /// Whether it fits the quota beside what is used and the indexes.
    fn fits_beside(&self, used: Size, size: Size) -> bool {
        let indexes = Size { bytes: self.index_bytes(), tuples: 0 };
        used.plus(indexes).plus(size.indexed(self.most_indexes)).is_within(self.limit)
    }

    /// Bytes of the entries in further indexes.
    pub(super) fn index_bytes(&self) -> u64 {
        self.index_entries * INDEX_ENTRY_BYTES
    }

    #[cfg(test)]
    pub(super) fn most_indexes(&self) -> u64 {
        self.most_indexes
    }

    /// Bytes of the quota that are free for one more index.
    #[inline]
    pub(super) fn free_bytes(&self) -> u64 {
        self.limit.bytes.saturating_sub(self.used.bytes + self.index_bytes())
    }

    /// Further indexes were made, with so many entries, of a signature whose tuples have so many now.
    #[inline]
    pub(super) fn index_made(&mut self, made: Option<NewIndex>) {
        if let Some(NewIndex { entries, further }) = made {
            self.index_entries += entries;
            self.most_indexes = self.most_indexes.max(further);
        }
    }

    /// A tuple was entered in so many further indexes.
    pub(super) fn indexed(&mut self, entries: u64) {
        self.index_entries += entries;
    }

    /// A tuple was taken from so many further indexes.
    pub(super) fn unindexed(&mut self, entries: u64) {
        self.index_entries -= entries;
        self.freed |= entries > 0;
    }

    /// Where the results of a new acknowledgement find room once the tuple that it ends is gone; none: it has to wait, behind those that
    /// wait already.
    pub(super) fn for_results(&self, results: Size, ending: Counted) -> Option<Account> {
        let is_first = !self.has_parked_results();
        self.without_reserve(results, ending)
            .or_else(|| self.in_reserve(results, ending).filter(|_| is_first))
    }

    /// The account in which results find room without taking of the reserve: none of them, whoever waits, is kept from that.
    fn without_reserve(&self, results: Size, ending: Counted) -> Option<Account> {
        // Or they need no more than they leave.
        if self.fits_beside(self.used.minus(ending.quota), results) || results.leaves(ending.quota) {
            return Some(Account::Quota);
        }
        results.leaves(ending.reserve).then_some(Account::Reserve)
    }

    /// Whether results find room in the reserve. An empty one takes any request, so that none waits for ever.
    fn in_reserve(&self, results: Size, ending: Counted) -> Option<Account> {
        let left = self.reserve_used.minus(ending.reserve);
        let reserve =
            Size { bytes: self.limit.bytes / RESERVE_SHARE, tuples: self.limit.tuples / RESERVE_SHARE };
        let fits =
            left == Size::default() && self.could_fit(results) || left.plus(results).is_within(reserve);
        fits.then_some(Account::Reserve)
    }

    /// Counts one tuple. A tuple that returns is counted also where it does not fit: it was here before.
    pub(super) fn add(&mut self, bytes: u64, account: Account) {
        let used = self.account(account);
        *used = used.plus(Size { bytes, tuples: 1 });
    }

    /// Counts one tuple less.
    pub(super) fn free(&mut self, bytes: u64, account: Account) {
        let used = self.account(account);
        *used = used.minus(Size { bytes, tuples: 1 });
        self.freed = true;
    }

    /// Counts so much before it comes.
    pub(super) fn reserve(&mut self, size: Size, account: Account) {
        let used = self.account(account);
        *used = used.plus(size);
    }

    /// What was counted comes now, or does not come.
    pub(super) fn release(&mut self, size: Size, account: Account) {
        let used = self.account(account);
        *used = used.minus(size);
        self.freed = true;
    }

    fn account(&mut self, account: Account) -> &mut Size {
        match account {
            Account::Quota => &mut self.used,
            Account::Reserve => &mut self.reserve_used,
        }
    }

    /// That so much never finds room, for an error.
    pub(super) fn never_fits(&self, size: Size) -> String {
        let Size { bytes, tuples } = self.limit;
        format!(
            "{} tuples of {} bytes never fit a space of {tuples} tuples and {bytes} bytes",
            size.tuples, size.bytes
        )
    }

    /// How full it is, for an error.
    pub(super) fn describe(&self) -> String {
        let Room { limit, used, .. } = self;
        format!(
            "it holds {} of {} bytes and {} of {} tuples",
            used.bytes + self.index_bytes(),
            limit.bytes,
            used.tuples,
            limit.tuples
        )
    }

    fn has_parked_results(&self) -> bool {
        self.parked.first_key_value().is_some_and(|(key, _)| !key.is_out)
    }

    /// Whether a request waits for room: a later `out` must not overtake it.
    pub(super) fn has_parked(&self) -> bool {
        !self.parked.is_empty()
    }

    /// Whether a put waits for room.
    pub(super) fn has_parked_out(&self) -> bool {
        self.parked.last_key_value().is_some_and(|(key, _)| key.is_out)
    }

    /// Counts the bytes of a request that is to wait. False: there is no memory for it.
    #[must_use]
    pub(super) fn keep(&mut self, bytes: u64) -> bool {
        let sum = self.waiting_bytes.saturating_add(bytes.saturating_add(WAITING_BYTES));
        let fits = sum <= self.max_waiting_bytes;
        if fits {
            self.waiting_bytes = sum;
        }
        fits
    }

    /// Counts the bytes of a request that waits no more.
    pub(super) fn unkeep(&mut self, bytes: u64) {
        self.waiting_bytes -= bytes + WAITING_BYTES;
    }

    /// Bytes of all requests that wait.
    pub(super) fn waiting_bytes(&self) -> u64 {
        self.waiting_bytes
    }

    /// Adds a request that waits for room. Its bytes have been counted.
    pub(super) fn park(&mut self, key: ParkedKey, parked: Parked) {
        self.parked.insert(key, parked);
    }

    pub(super) fn unpark(&mut self, key: ParkedKey) -> Option<Parked> {
        let parked = self.parked.remove(&key)?;
        self.unkeep(parked.kept_bytes());
        // Whoever comes next may fit where this one did not.
        self.freed = true;
        Some(parked)
    }

    /// Those who wait for room, from that one on, in the order in which they are served.
    pub(super) fn parked_from(&self, from: ParkedKey) -> impl Iterator<Item = (ParkedKey, &Parked)> {
        self.parked.range(from..).map(|(key, parked)| (*key, parked))
    }

    pub(super) fn parked(&self) -> usize {
        self.parked.len()
    }

    /// The request to serve next, and where it finds room: any acknowledgement for which the quota has room, or the oldest, for which
    /// the reserve has; where none waits, the oldest put if it fits. `ending` says what the end of leases gives back. Looks only if
    /// something was freed since it last found none.
    pub(super) fn next_parked(&mut self, ending: impl Fn(&Ends) -> Counted) -> Option<(ParkedKey, Account)> {
        if !self.freed {
            return None;
        }
        let next = match self.parked.first_key_value() {
            Some((key, parked)) if key.is_out => self.fits(parked.size).then_some((*key, Account::Quota)),
            Some(_) => self.next_results(ending),
            None => None,
        };
        self.freed = next.is_some();
        next
    }

    fn next_results(&self, ending: impl Fn(&Ends) -> Counted) -> Option<(ParkedKey, Account)> {
        let waiting = self.parked.iter().take_while(|(key, _)| !key.is_out);
        let mut waiting = waiting.map(|(key, parked)| (*key, parked.size, ending(&parked.ends)));
        let (oldest, size, freed) = waiting.next()?;
        let without = |(key, size, freed)| Some((key, self.without_reserve(size, freed)?));
        without((oldest, size, freed))
            .or_else(|| Some((oldest, self.in_reserve(size, freed)?)))
            .or_else(|| waiting.find_map(without))
    }
}
