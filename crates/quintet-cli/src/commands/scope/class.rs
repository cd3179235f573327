//! How a partition can be kept, as far as the templates seen so far tell.

use quintet::{Partition, Type};
use std::fmt;

/// The classes of the Linda-LAN paper, and search for what is in none of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    /// There is nothing to carry.
    CountingSemaphore,
    /// Every template takes any.
    Queue,
    /// Every template has a value for this field, from 1.
    Hash(u32),
    Search,
    /// Nobody has asked.
    Unknown,
}

impl Class {
    /// That of a partition; `others`: the one of the same types that stands for all names, which is asked for by templates without a text in front.
    pub(super) fn of(partition: &Partition, others: Option<&Partition>) -> Class {
        let name = u64::from(partition.name.is_some());
        if name == 1 && partition.signature.types().count() == 1 {
            return Class::CountingSemaphore;
        }
        let asked: Vec<&Partition> = std::iter::once(partition).chain(others).collect();
        let mut keys = asked.iter().flat_map(|row| &row.shapes).map(|shape| shape.actuals & !name);
        let Some(first) = keys.next() else { return Class::Unknown };
        let (mut in_all, mut in_some) = (first, first);
        for key in keys {
            (in_all, in_some) = (in_all & key, in_some | key);
        }
        match (in_some, in_all) {
            _ if asked.iter().any(|row| row.other_shapes > 0) => Class::Search,
            (0, _) => Class::Queue,
            (_, 0) => Class::Search,
            (_, all) => Class::Hash(all.trailing_zeros() + 1),
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Class::CountingSemaphore => f.pad("counting semaphore"),
            Class::Queue => f.pad("queue"),
            Class::Hash(field) => f.pad(&format!("hash on {field}")),
            Class::Search => f.pad("search"),
            Class::Unknown => f.pad("-"),
        }
    }
}

/// A partition as one writes a template that takes any of it.
pub(super) fn title(name: Option<&str>, types: impl Iterator<Item = Type>) -> String {
    let fields = types.enumerate().map(|(at, field)| match name {
        Some(name) if at == 0 => format!("{name:?}"),
        _ => format!("?{field}"),
    });
    format!("({})", fields.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet::{Lab, Space, template, tuple};

    fn classes(space: &Space) -> Vec<String> {
        let rows: Vec<Partition> = space.partitions().collect::<Result<_, _>>().unwrap();
        let others = |row: &Partition| {
            rows.iter()
                .find(|other| other.name.is_none() && row.name.is_some() && other.signature == row.signature)
        };
        let shown = rows.iter().map(|row| {
            format!("{}: {}", title(row.name.as_deref(), row.signature.types()), Class::of(row, others(row)))
        });
        let mut shown: Vec<String> = shown.collect();
        shown.sort();
        shown
    }

    #[test]
    fn a_class_follows_from_the_templates_that_were_seen() {
        let space = Lab::embedded().space();
        space.out(tuple!["lock"]).unwrap();
        space.out(tuple!["job", 1i64]).unwrap();
        space.out(tuple!["row", 1i64, 2i64]).unwrap();
        space.out(tuple!["cell", 1i64, 2i64]).unwrap();
        space.out(tuple!["left", 1i64]).unwrap();
        space.take_if(&template!["job", ?i64]).unwrap();
        space.take_if(&template!["row", 1i64, ?i64]).unwrap();
        space.read_if(&template!["row", 1i64, 2i64]).unwrap();
        space.read_if(&template!["cell", 1i64, ?i64]).unwrap();
        space.read_if(&template!["cell", ?i64, 2i64]).unwrap();
        let expected = [
            "(\"cell\", ?i64, ?i64): search",
            "(\"job\", ?i64): queue",
            "(\"left\", ?i64): -",
            "(\"lock\"): counting semaphore",
            "(\"row\", ?i64, ?i64): hash on 2",
        ];
        assert_eq!(classes(&space), expected);
        // A template that names no text asks for each of them.
        space.read_if(&template![?str, ?i64, ?i64]).unwrap();
        let shown = classes(&space);
        assert!(shown.contains(&"(\"row\", ?i64, ?i64): search".to_owned()), "{shown:?}");
        assert!(shown.contains(&"(\"job\", ?i64): queue".to_owned()), "of other types: {shown:?}");
    }
}
