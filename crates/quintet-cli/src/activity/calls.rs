//! Live tuples that workers in Rust and C make: which calls wait for a worker, and which are carried out (the tuples are those of [`quintet::Evals`]).

use super::{NAME_BYTES, leased, own_wait};
use quintet::{
    Address, EVAL, Error, Field, Glimpse, ListedTuple, Space, State, Template, Type, Value, WaitingRequest,
};
use std::collections::BTreeMap;

/// Of the calls that wait so many are looked at, for the names of their functions.
const MOST_NAMED: usize = 1_000;
/// Functions that are named in one line.
const MOST_SAID: usize = 5;

/// What workers are asked for.
#[derive(Default)]
pub(super) struct Calls {
    /// Calls that wait for a worker.
    pub(super) waiting: u64,
    /// The functions of those that were looked at, with how many of each.
    pub(super) functions: BTreeMap<String, u64>,
    /// Who carries out which.
    pub(super) taken: Vec<(Address, String)>,
}

impl Calls {
    /// Reads them from a space, of which `state` tells the types of its tuples.
    ///
    /// # Errors
    /// The space is gone.
    pub(super) fn read(space: &Space, state: &State) -> Result<Calls, Error> {
        let mut calls = Calls::default();
        for row in state.rows.iter().filter(|row| row.tuples + row.hidden > 0) {
            if let Some(call) = call(row.signature.types()) {
                calls.add(space, &call)?;
            }
        }
        Ok(calls)
    }

    /// Adds those with arguments of some types.
    fn add(&mut self, space: &Space, call: &Template) -> Result<(), Error> {
        self.taken.extend(leased(space, call)?.into_iter().map(|(holder, row)| (holder, function(&row))));
        self.waiting += space.count(call)?;
        let looked_at: u64 = self.functions.values().sum();
        let left = MOST_NAMED.saturating_sub(usize::try_from(looked_at).unwrap_or(MOST_NAMED));
        let rows = space.list(Some(call)).field_bytes(NAME_BYTES);
        let waits = |row: &Result<ListedTuple, Error>| row.as_ref().map_or(true, |row| row.lease.is_none());
        for row in rows.filter(waits).take(left) {
            *self.functions.entry(function(&row?)).or_default() += 1;
        }
        Ok(())
    }

    /// What keeps those that wait, of the requests that wait in the space.
    pub(super) fn stall(&self, requests: &[WaitingRequest]) -> Option<String> {
        let is_idle = |row: &WaitingRequest| own_wait(row) == Some(EVAL);
        // A client may carry out several, each in a thread of its own.
        let waits = |client: &Address| {
            let taken = self.taken.iter().filter(|(holder, _)| holder == client).count();
            requests.iter().filter(|row| row.client == *client && !is_idle(row)).count() >= taken
        };
        let why = match (self.waiting, requests.iter().any(is_idle)) {
            (0, _) => return None,
            (_, true) => "the workers that are idle have no function of that name with such arguments",
            (_, false) if self.taken.is_empty() => "no worker is there: start one that has their functions",
            (_, false) if self.taken.iter().all(|(holder, _)| waits(holder)) => {
                "every worker carries out one that waits for a tuple itself: serve with more threads or processes"
            }
            (_, false) => return None,
        };
        let (waiting, named) = (self.waiting, self.named());
        Some(format!("{waiting} calls for live tuples wait ({named}), and {why}"))
    }

    /// Those that wait by their functions, in words.
    fn named(&self) -> String {
        let named: Vec<String> =
            self.functions.iter().take(MOST_SAID).map(|(name, count)| format!("{count} of {name}")).collect();
        let others = if self.functions.len() > MOST_SAID { ", and others" } else { "" };
        named.join(", ") + others
    }
}

/// The template of calls whose tuples have fields of these types, if there can be such.
fn call(types: impl Iterator<Item = Type>) -> Option<Template> {
    let types: Vec<Type> = types.collect();
    let [Type::Text, arguments @ ..] = &types[..] else { return None };
    arguments.first().filter(|function| **function == Type::Text)?;
    let name = Field::Actual(Value::from(EVAL));
    Template::new([name].into_iter().chain(arguments.iter().cloned().map(Field::Formal)).collect()).ok()
}

/// Which function a call asks for.
fn function(row: &ListedTuple) -> String {
    match row.fields.get(1) {
        Some(Glimpse::Value(Value::Text(name))) => name.to_string(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}
