//! Which names there are, at a place of the program.

use crate::types::Type;
use std::collections::{BTreeMap, HashMap};

/// What a name stands for.
#[derive(Clone, Debug)]
pub(crate) enum Symbol {
    /// A function, or a variable that all its calls share.
    Object(Type),
    /// A variable that each call of its function has for itself.
    Local(Type),
    /// A type.
    Typedef(Type),
    /// One of an enumeration, with its value if that is known.
    Constant(Option<i64>),
}

/// A struct or a union.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    /// `struct point`, or `struct (line 12)`.
    pub(crate) name: String,
    /// None where it is only announced.
    pub(crate) members: Option<BTreeMap<String, Type>>,
}

#[derive(Default, Debug)]
struct Scope {
    names: HashMap<String, Symbol>,
    tags: HashMap<String, usize>,
}

/// The scopes around a place, and all records.
#[derive(Debug)]
pub(crate) struct Scopes {
    scopes: Vec<Scope>,
    pub(crate) records: Vec<Record>,
}

impl Scopes {
    /// Those of a file.
    pub(crate) fn new() -> Scopes {
        Scopes { scopes: vec![Scope::default()], records: Vec::new() }
    }

    pub(crate) fn push(&mut self) {
        self.scopes.push(Scope::default());
    }

    /// Whether what is declared here is declared for the whole file.
    pub(crate) fn is_file(&self) -> bool {
        self.scopes.len() == 1
    }

    /// Leaves the innermost scope; the file's stays.
    pub(crate) fn pop(&mut self) {
        if self.scopes.len() > 1 {
            self.scopes.pop();
        }
    }

    fn innermost(&mut self) -> &mut Scope {
        self.scopes.last_mut().expect("the file's scope stays")
    }

    pub(crate) fn declare(&mut self, name: &str, symbol: Symbol) {
        self.innermost().names.insert(name.to_owned(), symbol);
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Symbol> {
        self.scopes.iter().rev().find_map(|scope| scope.names.get(name))
    }

    /// The record of this tag: the one that is known, unless `is_new` and it belongs to an outer scope.
    pub(crate) fn record(&mut self, tag: &str, kind: &str, is_new: bool) -> usize {
        let known = match is_new {
            true => self.innermost().tags.get(tag).copied(),
            false => self.scopes.iter().rev().find_map(|scope| scope.tags.get(tag).copied()),
        };
        known.unwrap_or_else(|| {
            let index = self.add_record(format!("{kind} {tag}"));
            self.innermost().tags.insert(tag.to_owned(), index);
            index
        })
    }

    pub(crate) fn add_record(&mut self, name: String) -> usize {
        self.records.push(Record { name, members: None });
        self.records.len() - 1
    }
}
