//! How a space is used that several managers have, of whom each counts what it is asked: their rows as those of one space.

use super::{Listed, Listing};
use crate::{Error, Space};
use quintet_contract::{Address, Span};
use quintet_tuple_space::{
    ClientState, HotKey, MAX_TEMPLATE_SHAPES, PageSize, Partition, Signature, TemplateShape,
};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Hot keys that a space tells, as each manager does.
const MOST_HOT_KEYS: usize = 16;

/// The partitions of all managers, one of a name and types once.
///
/// # Errors
/// The space is gone.
pub(super) fn partitions(space: &Space, size: PageSize) -> Result<Vec<Partition>, Error> {
    let mut found: BTreeMap<(Signature, Option<String>), Partition> = BTreeMap::new();
    for row in by_manager::<Partition>(space, size)?.into_iter().flatten() {
        match found.get_mut(&(row.signature.clone(), row.name.clone())) {
            Some(partition) => add(partition, row),
            None => drop(found.insert((row.signature.clone(), row.name.clone()), row)),
        }
    }
    Ok(found.into_values().collect())
}

/// Who is connected with any manager, each once: a client is linked with all of them under one address.
///
/// # Errors
/// The space is gone.
pub(super) fn clients(space: &Space, size: PageSize) -> Result<Vec<ClientState>, Error> {
    let mut found: BTreeMap<Address, ClientState> = BTreeMap::new();
    for row in by_manager::<ClientState>(space, size)?.into_iter().flatten() {
        found.entry(row.client).and_modify(|client| add_client(client, &row)).or_insert(row);
    }
    Ok(found.into_values().collect())
}

/// The hot keys of all managers, the hottest first, each once.
///
/// A manager's counts are shares of what it was asked lately, which says nothing of how much that was: so they weigh as much as the questions
/// that it has had.
///
/// # Errors
/// The space is gone.
pub(super) fn hot_keys(space: &Space, size: PageSize) -> Result<Vec<HotKey>, Error> {
    let keys = by_manager::<HotKey>(space, size)?;
    let questions: Vec<u64> =
        by_manager::<Partition>(space, size)?.iter().map(|rows| rows.iter().map(for_values).sum()).collect();
    Ok(merged(keys, &questions))
}

fn by_manager<T: Listed>(space: &Space, size: PageSize) -> Result<Vec<Vec<T>>, Error> {
    let rows = |manager| Listing { size, ..Listing::new(space.clone(), None) }.of_manager(manager).collect();
    (0..space.managers()).map(rows).collect()
}

fn add_client(client: &mut ClientState, other: &ClientState) {
    client.connected = client.connected.max(other.connected);
    client.identity = client.identity.or(other.identity);
    client.waiting = client.waiting.saturating_add(other.waiting);
    client.leases = client.leases.saturating_add(other.leases);
    client.acknowledged = client.acknowledged.saturating_add(other.acknowledged);
    client.given_up = client.given_up.saturating_add(other.given_up);
    client.held = Span(client.held.0.saturating_add(other.held.0));
}

fn add(partition: &mut Partition, other: Partition) {
    let sums = [
        (&mut partition.tuples, other.tuples),
        (&mut partition.bytes, other.bytes),
        (&mut partition.put, other.put),
        (&mut partition.taken, other.taken),
        (&mut partition.read, other.read),
        (&mut partition.asked, other.asked),
        (&mut partition.other_shapes, other.other_shapes),
    ];
    sums.into_iter().for_each(|(sum, more)| *sum = sum.saturating_add(more));
    partition.filled = partition.filled.max(other.filled);
    partition.since_put = latest(partition.since_put, other.since_put);
    partition.since_delivery = latest(partition.since_delivery, other.since_delivery);
    partition.since_asked = latest(partition.since_asked, other.since_asked);
    for shape in other.shapes {
        add_shape(partition, shape);
    }
}

fn add_shape(partition: &mut Partition, TemplateShape { actuals, asked }: TemplateShape) {
    let count = match partition.shapes.iter().position(|known| known.actuals == actuals) {
        Some(at) => &mut partition.shapes[at].asked,
        None if partition.shapes.len() < MAX_TEMPLATE_SHAPES => {
            return partition.shapes.push(TemplateShape { actuals, asked });
        }
        None => &mut partition.other_shapes,
    };
    *count = count.saturating_add(asked);
}

/// How long ago what happened last happened.
fn latest(one: Option<Span>, other: Option<Span>) -> Option<Span> {
    one.into_iter().chain(other).min()
}

/// How often a partition was asked for with more than the text in front: among these questions are the hot keys.
fn for_values(partition: &Partition) -> u64 {
    let name = u64::from(partition.name.is_some());
    let shapes = partition.shapes.iter().filter(|shape| shape.actuals & !name != 0);
    sum(shapes.map(|shape| shape.asked)).saturating_add(partition.other_shapes)
}

/// What a manager has told.
struct Told {
    keys: Vec<HotKey>,
    /// The counts of its keys.
    counted: u64,
    questions: u64,
}

/// The keys of managers that have had so many questions.
fn merged(managers: Vec<Vec<HotKey>>, questions: &[u64]) -> Vec<HotKey> {
    let told = managers.into_iter().zip(questions).map(|(keys, questions)| Told {
        counted: sum(keys.iter().map(|key| key.asked)),
        questions: (*questions).max(1),
        keys,
    });
    let told: Vec<Told> = told.filter(|told| told.counted > 0).collect();
    let counted = u128::from(sum(told.iter().map(|told| told.counted)));
    let questions = u128::from(sum(told.iter().map(|told| told.questions)));
    let mut found: Vec<HotKey> = Vec::new();
    for Told { keys, counted: own, questions: asked } in told {
        let (times, among) = (u128::from(asked) * counted, u128::from(own) * questions);
        let weighed = |count: u64| {
            u64::try_from(u128::from(count).saturating_mul(times).div_ceil(among)).unwrap_or(u64::MAX)
        };
        for HotKey { asked, error, fields } in keys {
            add_key(&mut found, HotKey { asked: weighed(asked), error: weighed(error), fields });
        }
    }
    found.sort_by_key(|key| Reverse(key.asked));
    found.truncate(MOST_HOT_KEYS);
    found
}

fn add_key(found: &mut Vec<HotKey>, key: HotKey) {
    match found.iter_mut().find(|known| known.fields == key.fields) {
        Some(known) => {
            known.asked = known.asked.saturating_add(key.asked);
            known.error = known.error.saturating_add(key.error);
        }
        None => found.push(key),
    }
}

/// Counts come from a server, which may say anything.
fn sum(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_tuple_space::{Glimpse, Value};

    fn key(asked: u64, error: u64, name: &str) -> HotKey {
        HotKey { asked, error, fields: vec![Glimpse::Value(Value::from(name))] }
    }

    #[test]
    fn keys_weigh_as_much_as_their_managers_were_asked() {
        // Each has told a half of what it counted lately; the first had nine times as many questions.
        let managers = vec![vec![key(50, 2, "a"), key(50, 0, "b")], vec![key(60, 0, "b"), key(40, 0, "c")]];
        let expected = [key(102, 0, "b"), key(90, 4, "a"), key(8, 0, "c")];
        assert_eq!(merged(managers, &[9000, 1000]), expected);
    }

    #[test]
    fn sixteen_keys_at_most_are_told_and_any_number_is_taken() {
        let of = |letter: char| (0..16).map(|n| key(n + 1, 0, &format!("{letter}{n}"))).collect::<Vec<_>>();
        let all = merged(vec![of('a'), of('b'), Vec::new()], &[5, 5, 0]);
        assert_eq!((all.len(), all[0].asked, all[15].asked), (16, 16, 9));
        let huge = || vec![key(u64::MAX, u64::MAX, "a")];
        assert_eq!(merged(vec![huge(), huge()], &[u64::MAX, 0]).len(), 1);
    }
}
