//! What one look at a space finds.

use super::class::{Class, title};
use crate::activity::{Activity, Names, leased_tuples, tuple};
use quintet::{
    Address, Code, Error, Glimpse, HotKey, ListedTuple, Partition, Signature, Space, Type, WaitingRequest,
};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Rows that are read of those who wait, as of leases: beyond them, the counts of partitions say how many there are.
const MOST_READ: usize = 10_000;
/// Of each field of what is waited for, and of what is leased, so many bytes.
const FIELD_BYTES: u32 = 40;

/// One look.
pub(super) struct Picture {
    pub(super) activity: Activity,
    /// Those with the most tuples first.
    pub(super) partitions: Vec<Row>,
    /// By template, the longest wait first.
    pub(super) waits: Vec<Waits>,
    /// By who holds them, the oldest first.
    pub(super) leases: Vec<Leases>,
    pub(super) hot_keys: Vec<HotKey>,
    at: Instant,
}

/// A partition.
pub(super) struct Row {
    pub(super) partition: Partition,
    pub(super) title: String,
    pub(super) class: Class,
    /// Of its tuples.
    pub(super) leased: u64,
    pub(super) waiters: u64,
    pub(super) oldest_waiter: Option<Duration>,
    /// Tuples put and delivered to takes a second since the last look; none at the first.
    pub(super) rates: Option<(f64, f64)>,
    /// Since when nobody was given one, if that is long.
    pub(super) leak: Option<Leak>,
}

/// Tuples that nobody seems to want.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Leak {
    pub(super) tuples: u64,
    /// Whether anybody has asked for such.
    pub(super) was_asked: bool,
    pub(super) since: Duration,
}

/// Requests with the same template that wait.
pub(super) struct Waits {
    pub(super) template: String,
    pub(super) count: u64,
    pub(super) oldest: Duration,
    /// Who waits longest.
    pub(super) first: String,
}

/// Leases of one client on tuples of one partition.
pub(super) struct Leases {
    pub(super) who: String,
    pub(super) client: Address,
    pub(super) partition: String,
    pub(super) count: u64,
    pub(super) oldest: Duration,
}

/// What the next look wants to know of this one.
pub(super) struct Last {
    at: Instant,
    counts: BTreeMap<Key, (u64, u64)>,
}

/// Names a partition.
type Key = (Signature, Option<String>);

impl Picture {
    /// Looks at a space.
    ///
    /// # Errors
    /// The space is gone; [`Code::Malformed`]: it is served by a version that keeps no partitions.
    pub(super) fn take(
        space: &Space,
        now: Instant,
        last: Option<&Last>,
        leak_after: Duration,
    ) -> Result<Picture, Error> {
        let partitions = space.partitions().collect::<Result<Vec<_>, _>>().map_err(of_older_server)?;
        let activity = Activity::read(space)?;
        let waiting =
            space.waiting().field_bytes(FIELD_BYTES).take(MOST_READ).collect::<Result<Vec<_>, _>>()?;
        let leased = leased_tuples(space, None, FIELD_BYTES)?;
        let mut rows: Vec<Row> = partitions
            .iter()
            .map(|partition| {
                let waits = waiting.iter().filter(|row| is_of(row.template.as_deref(), partition));
                let waited: Vec<Duration> = waits.map(|row| row.waited.into()).collect();
                let others = partitions.iter().find(|other| is_others(other, partition));
                let leased = leased.iter().filter(|row| is_of(Some(&row.fields), partition)).count() as u64;
                Row {
                    partition: partition.clone(),
                    title: title(partition.name.as_deref(), partition.signature.types()),
                    class: Class::of(partition, others),
                    leased,
                    waiters: waited.len() as u64,
                    oldest_waiter: waited.into_iter().max(),
                    rates: last.and_then(|last| last.rates(partition, now)),
                    leak: leak(partition, others, leased, leak_after),
                }
            })
            .collect();
        rows.sort_by(|a, b| b.partition.tuples.cmp(&a.partition.tuples).then_with(|| a.title.cmp(&b.title)));
        Ok(Picture {
            waits: waits(&waiting, &activity),
            leases: leases(&leased, &activity),
            partitions: rows,
            hot_keys: space.hot_keys().collect::<Result<_, _>>()?,
            activity,
            at: now,
        })
    }

    /// What the next look wants to know.
    pub(super) fn last(&self) -> Last {
        let counts = self.partitions.iter().map(|row| {
            let Partition { put, taken, .. } = row.partition;
            (key(&row.partition), (put, taken))
        });
        Last { at: self.at, counts: counts.collect() }
    }
}

impl Last {
    fn rates(&self, partition: &Partition, now: Instant) -> Option<(f64, f64)> {
        let (put, taken) = self.counts.get(&key(partition)).copied().unwrap_or((0, 0));
        let seconds = now.duration_since(self.at).as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "a rate is shown with one decimal")]
        let rate = |count: u64, before: u64| {
            (seconds > 0.0).then(|| count.checked_sub(before).map(|more| more as f64 / seconds))?
        };
        // Counts that have gone down are those of another life of the space.
        Some((rate(partition.put, put)?, rate(partition.taken, taken)?))
    }
}

fn key(partition: &Partition) -> Key {
    (partition.signature.clone(), partition.name.clone())
}

/// Whether `other` stands for all names beside that of `partition`.
fn is_others(other: &Partition, partition: &Partition) -> bool {
    other.name.is_none() && partition.name.is_some() && other.signature == partition.signature
}

/// Whether tuples or a template with these fields are counted in this partition.
fn is_of(fields: Option<&[Glimpse]>, partition: &Partition) -> bool {
    let Some(fields) = fields else { return false };
    let name = match fields.first().and_then(Glimpse::value) {
        Some(quintet::Value::Text(text)) => Some(&**text),
        _ => None,
    };
    name == partition.name.as_deref()
        && fields.len() == partition.signature.types().count()
        && fields.iter().map(field_type).eq(partition.signature.types())
}

/// A field's type, as signatures have it: with all dimensions free.
fn field_type(field: &Glimpse) -> Type {
    let found = match field {
        Glimpse::Value(value) => value.value_type(),
        Glimpse::Beginning { field, .. } | Glimpse::Formal(field) => field.clone(),
    };
    match found {
        Type::Array { element, dimensions } => {
            Type::Array { element, dimensions: vec![None; dimensions.len()] }
        }
        other => other,
    }
}

fn leak(partition: &Partition, others: Option<&Partition>, leased: u64, after: Duration) -> Option<Leak> {
    let tuples = partition.tuples.saturating_sub(leased);
    let filled: Duration = partition.filled?.into();
    let since = partition.since_delivery.map_or(filled, |since| filled.min(since.into()));
    let was_asked = partition.asked > 0 || others.is_some_and(|others| others.asked > 0);
    (tuples > 0 && since >= after).then_some(Leak { tuples, was_asked, since })
}

fn waits(waiting: &[WaitingRequest], activity: &Activity) -> Vec<Waits> {
    let mut found: BTreeMap<String, Waits> = BTreeMap::new();
    for row in waiting {
        let (template, waited) = (crate::activity::wanted(row), row.waited.into());
        let who = || activity.name(row.client, &Names::default());
        let new = || Waits { template: template.clone(), count: 0, oldest: waited, first: who() };
        let waits = found.entry(template.clone()).or_insert_with(new);
        waits.count += 1;
        if waited > waits.oldest {
            (waits.oldest, waits.first) = (waited, who());
        }
    }
    let mut waits: Vec<Waits> = found.into_values().collect();
    waits.sort_by_key(|waits| std::cmp::Reverse(waits.oldest));
    waits
}

fn leases(leased: &[ListedTuple], activity: &Activity) -> Vec<Leases> {
    let mut found: BTreeMap<(Address, String), Leases> = BTreeMap::new();
    for row in leased {
        let Some(lease) = row.lease else { continue };
        let partition = partition_title(&row.fields);
        let new = || Leases {
            who: activity.name(lease.holder, &Names::default()),
            client: lease.holder,
            partition: partition.clone(),
            count: 0,
            oldest: Duration::ZERO,
        };
        let leases = found.entry((lease.holder, partition.clone())).or_insert_with(new);
        leases.count += 1;
        leases.oldest = leases.oldest.max(lease.held.into());
    }
    let mut leases: Vec<Leases> = found.into_values().collect();
    leases.sort_by_key(|leases| std::cmp::Reverse(leases.oldest));
    leases
}

fn partition_title(fields: &[Glimpse]) -> String {
    match fields.first().and_then(Glimpse::value) {
        Some(quintet::Value::Text(name)) => title(Some(name), fields.iter().map(field_type)),
        _ => title(None, fields.iter().map(field_type)),
    }
}

fn of_older_server(error: Error) -> Error {
    if error.code() != Code::Malformed {
        return error;
    }
    let text = "the space is served by an older version, which does not say how it is used: quintet status and quintet peek show what it can tell";
    Error::new(Code::VersionMismatch, text.to_owned())
}

/// A key as a person reads it.
pub(super) fn shown(key: &HotKey) -> String {
    tuple(&key.fields)
}
