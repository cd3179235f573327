//! Which kinds of tuples a program has, and how it uses each: from all its operations together.
//!
//! Operations belong to one partition if a tuple of the one may be found by the other, directly or by way of others. Fields in which all of them have the
//! same constant tell partitions apart, and need not be looked at within one. What is left decides the class (N. Carriero, D. Gelernter: *The S/Net's Linda
//! kernel*, 1986, and the paper's TS managers).

use crate::diagnostic::{Diagnostic, Place, Severity};
use crate::field::Field;
use crate::note::Noted;
use crate::operation::Verb;
use crate::whole::Whole;
use std::fmt;

/// How the tuples of a partition can be kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// They have nothing to carry: a number says how many there are.
    CountingSemaphore,
    /// Every template takes any of them: first in, first out.
    Queue,
    /// Every template gives a value for this field, counted from 1: it is the key.
    Hash(usize),
    /// Templates give values for different fields.
    Search,
}

impl Class {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Class::CountingSemaphore => "counting semaphore",
            Class::Queue => "queue",
            Class::Hash(_) => "hash",
            Class::Search => "search",
        }
    }

    /// The field that is the key, counted from 1.
    #[must_use]
    pub fn key(self) -> Option<usize> {
        match self {
            Class::Hash(key) => Some(key),
            _ => None,
        }
    }
}

/// An operation, as it stands in the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Used {
    /// What it does.
    pub verb: Verb,
    /// Where it stands.
    pub place: Place,
    /// Its words, on one line.
    pub text: String,
}

/// Tuples that may be found by the same templates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partition {
    fields: Vec<String>,
    class: Class,
    operations: Vec<Used>,
}

impl Partition {
    /// Its fields: the constant that all have, or their type.
    #[must_use]
    pub fn fields(&self) -> &[String] {
        &self.fields
    }

    /// How its tuples can be kept.
    #[must_use]
    pub fn class(&self) -> Class {
        self.class
    }

    /// Whether the program ever takes its tuples: else they stay.
    #[must_use]
    pub fn is_taken(&self) -> bool {
        self.operations.iter().any(|used| matches!(used.verb, Verb::In | Verb::Inp))
    }

    /// The operations on it.
    #[must_use]
    pub fn operations(&self) -> &[Used] {
        &self.operations
    }
}

/// The partitions of a program, in the order in which it first names them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Analysis {
    partitions: Vec<Partition>,
}

impl Analysis {
    /// Every partition.
    #[must_use]
    pub fn partitions(&self) -> &[Partition] {
        &self.partitions
    }
}

impl fmt::Display for Analysis {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, partition) in self.partitions.iter().enumerate() {
            let separator = if number == 0 { "" } else { "\n" };
            write!(out, "{separator}({}): {}", partition.fields.join(", "), partition.class.name())?;
            if let Some(key) = partition.class.key() {
                write!(out, " on field {key}")?;
            }
            if !partition.is_taken() {
                write!(out, ", never taken")?;
            }
            for operation in &partition.operations {
                write!(out, "\n    {}: {}", operation.place, operation.text)?;
            }
        }
        Ok(())
    }
}

/// Whether a tuple of one operation may be found by a template of the other.
fn meet(one: &Noted, other: &Noted) -> bool {
    let fields = || one.fields.iter().zip(&other.fields);
    one.verb.is_producer() != other.verb.is_producer()
        && one.fields.len() == other.fields.len()
        && fields().all(|(one, two)| difference(one, two).is_none())
}

/// Why two fields cannot agree.
fn difference(put: &Field, wanted: &Field) -> Option<String> {
    let constants = put.constant().zip(wanted.constant());
    match constants {
        _ if !put.may_match(wanted) => Some(format!("it is {}, wanted is {}", put.wire(), wanted.wire())),
        Some((one, other)) if one != other => Some(format!("it is {one}, wanted is {other}")),
        _ => None,
    }
}

/// Sorts the operations of a program into partitions.
pub(crate) fn analyse(program: &Whole) -> Analysis {
    let all: Vec<&Noted> = program.operations().collect();
    let mut group: Vec<usize> = (0..all.len()).collect();
    for one in 0..all.len() {
        for other in 0..one {
            // What puts the same tuples belongs together also where nobody takes them.
            let are_alike = all[one].fields == all[other].fields;
            if group[one] != group[other] && (are_alike || meet(all[one], all[other])) {
                let (from, to) = (group[one].max(group[other]), group[one].min(group[other]));
                group.iter_mut().filter(|group| **group == from).for_each(|group| *group = to);
            }
        }
    }
    let members = |first: usize| -> Vec<&Noted> {
        all.iter().zip(&group).filter(|(_, group)| **group == first).map(|(one, _)| *one).collect()
    };
    let firsts = (0..all.len()).filter(|index| group[*index] == *index);
    Analysis { partitions: firsts.map(|first| partition(&members(first))).collect() }
}

fn partition(members: &[&Noted]) -> Partition {
    let count = members[0].fields.len();
    let column = |index: usize| members.iter().map(move |member| &member.fields[index]);
    let constant = |index: usize| {
        let first = members[0].fields[index].constant()?;
        column(index).all(|field| field.constant() == Some(first)).then(|| first.to_owned())
    };
    let fields: Vec<String> =
        (0..count).map(|index| constant(index).unwrap_or_else(|| column_type(column(index)))).collect();
    let left: Vec<usize> = (0..count).filter(|index| constant(*index).is_none()).collect();
    let templates: Vec<&&Noted> = members.iter().filter(|member| !member.verb.is_producer()).collect();
    let is_formal = |template: &&&Noted, index: usize| template.fields[index].is_formal();
    let class = match left.as_slice() {
        [] => Class::CountingSemaphore,
        left if left.iter().all(|index| templates.iter().all(|template| is_formal(template, *index))) => {
            Class::Queue
        }
        left => {
            let is_key = |index: &&usize| templates.iter().all(|template| !is_formal(template, **index));
            left.iter().find(is_key).map_or(Class::Search, |key| Class::Hash(key + 1))
        }
    };
    let used = |member: &&Noted| Used {
        verb: member.verb,
        place: member.spot.place.clone(),
        text: member.words.clone(),
    };
    Partition { fields, class, operations: members.iter().map(used).collect() }
}

/// The type of a field in all of them: the one that says least, where some say lengths.
fn column_type<'a>(column: impl Iterator<Item = &'a Field>) -> String {
    column.map(Field::wire).min_by_key(String::len).unwrap_or_default()
}

/// Templates that no tuple of the program can ever match.
pub(crate) fn unmatched(program: &Whole) -> Vec<Diagnostic> {
    let all: Vec<&Noted> = program.operations().collect();
    let is_lonely =
        |wanted: &&&Noted| !wanted.verb.is_producer() && !all.iter().any(|other| meet(other, wanted));
    all.iter().filter(is_lonely).map(|wanted| lonely(wanted, &all)).collect()
}

fn lonely(wanted: &Noted, all: &[&Noted]) -> Diagnostic {
    let verb = wanted.verb;
    let happens = match verb.is_predicate() {
        true => "it finds none, ever",
        false => "it waits without end",
    };
    let message =
        format!("no out or eval of the program makes a tuple for this `{}`: {happens}", verb.name());
    let hint = nearest(wanted, all).unwrap_or_else(|| {
        format!(
            "no operation puts {} fields; put the tuple, or compile the file that does as well",
            wanted.fields.len()
        )
    });
    wanted.spot.diagnostic(Severity::Warning, message, Some(&hint))
}

/// The tuple that differs in the fewest fields, and how.
fn nearest(wanted: &Noted, all: &[&Noted]) -> Option<String> {
    let fields = &wanted.fields;
    let same_length =
        all.iter().filter(|other| other.verb.is_producer() && other.fields.len() == fields.len());
    let differences = |other: &Noted| -> Vec<(usize, String)> {
        let pairs = other.fields.iter().zip(fields).enumerate();
        pairs.filter_map(|(index, (put, wanted))| Some((index + 1, difference(put, wanted)?))).collect()
    };
    let (other, found) =
        same_length.map(|other| (other, differences(other))).min_by_key(|(_, found)| found.len())?;
    let (field, why) = found.first()?;
    Some(format!("the nearest one, at {}, differs in field {field}: {why}", other.spot.place))
}
