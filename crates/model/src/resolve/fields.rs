//! The keys of one table: values with their defaults.

use super::{Resolver, picos};
use crate::dimension::Dimension;
use crate::keys::{Key, Preset, Table, Takes};
use crate::model::{Attributes, Value};
use crate::nearest::nearest;
use crate::problem::ProblemKind;
use crate::quantity::Quantity;
use quintet_simulate::Picos;

/// One table of a model.
pub(super) struct Fields<'r, 'm> {
    pub(super) resolver: &'r mut Resolver<'m>,
    table: &'static Table,
    attributes: &'m Attributes,
    path: &'r str,
}

impl<'r, 'm> Fields<'r, 'm> {
    pub(super) fn new(
        resolver: &'r mut Resolver<'m>,
        table: &'static Table,
        attributes: &'m Attributes,
        path: &'r str,
    ) -> Self {
        Fields { resolver, table, attributes, path }
    }

    pub(super) fn key(&self, name: &str) -> String {
        format!("{}.{name}", self.path)
    }

    /// Reports attributes that the table does not have, and those that have another kind of value than it takes. Keys in
    /// `others` are not looked at.
    pub(super) fn check_keys(&mut self, others: &[&str]) {
        for (name, value) in self.attributes {
            let path = self.key(name);
            let Some(key) = self.table.find(name) else {
                let nearest = nearest(name, self.table.keys.iter().map(|key| key.name));
                self.resolver.problem(&path, ProblemKind::UnknownKey { nearest });
                continue;
            };
            let (good, found) = match (key.takes, value) {
                (Takes::Switch, Value::Switch(_)) | (Takes::List(_), Value::List(_)) => (true, ""),
                (Takes::Switch | Takes::List(_), Value::Text(_)) => (false, "text or a number"),
                (_, Value::Text(_)) => (true, ""),
                (_, Value::Switch(_)) => (false, "true or false"),
                (_, Value::List(_)) => (false, "a list"),
            };
            if !good && !others.contains(&name.as_str()) {
                let (found, expected) = (found.to_owned(), key.takes.text());
                self.resolver.problem(&path, ProblemKind::WrongKind { found, expected });
            }
        }
    }

    /// The key, and its value: the one given, or the default.
    fn find(&mut self, name: &str) -> Option<(&'static Key, Quantity)> {
        let key = self.table.find(name)?;
        match (self.attributes.get(name), key.default) {
            (Some(Value::Text(text)), _) => Some((key, text.clone())),
            (None, Preset::Value(text)) => Some((key, text.into())),
            (None, Preset::Required) => {
                let path = self.key(name);
                self.resolver.missing(&path, &key.takes.text());
                None
            }
            _ => None,
        }
    }

    pub(super) fn is_given(&self, name: &str) -> bool {
        self.attributes.contains_key(name)
    }

    /// In base units.
    pub(super) fn number(&mut self, name: &str) -> Option<f64> {
        let (key, text) = self.find(name)?;
        let path = self.key(name);
        let dimension =
            if let Takes::Quantity(dimension, ..) = key.takes { dimension } else { Dimension::NUMBER };
        let value = self.resolver.evaluate(&path, &text, dimension)?;
        self.resolver.in_range(&path, text.text(), value, key.takes)
    }

    /// An amount of data in whole bytes.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
    pub(super) fn bytes(&mut self, name: &str) -> Option<u64> {
        self.number(name).map(|bytes| bytes.round() as u64)
    }

    pub(super) fn time(&mut self, name: &str) -> Option<Picos> {
        self.number(name).map(picos)
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range and whole")]
    pub(super) fn count(&mut self, name: &str) -> Option<u64> {
        self.number(name).map(|value| value as u64)
    }

    /// A count of at most 2^32 - 1, as the table says.
    pub(super) fn count_u32(&mut self, name: &str) -> u32 {
        self.count(name).and_then(|count| u32::try_from(count).ok()).unwrap_or(1)
    }

    pub(super) fn switch(&mut self, name: &str) -> bool {
        match self.attributes.get(name) {
            Some(Value::Switch(value)) => *value,
            _ => self.find(name).is_some_and(|(_, text)| text.text() == "true"),
        }
    }

    /// One of the words that the key takes; its number among them.
    pub(super) fn word(&mut self, name: &str) -> usize {
        let Some((key, text)) = self.find(name) else { return 0 };
        let Takes::Word(words) = key.takes else { return 0 };
        let found = words.iter().position(|word| *word == text.text());
        found.unwrap_or_else(|| {
            let path = self.key(name);
            let (found, expected) = (format!("\"{text}\""), key.takes.text());
            self.resolver.problem(&path, ProblemKind::OutOfRange { found, expected });
            0
        })
    }

    /// A list with one quantity for each station.
    pub(super) fn list(&mut self, name: &str, stations: usize) -> Option<Vec<f64>> {
        let Some(Value::List(list)) = self.attributes.get(name) else { return None };
        let Some(Takes::List(dimension)) = self.table.find(name).map(|key| key.takes) else { return None };
        let path = self.key(name);
        if list.len() != stations {
            let (found, expected) =
                (format!("{} values", list.len()), format!("{stations}, one for each station"));
            self.resolver.problem(&path, ProblemKind::OutOfRange { found, expected });
        }
        let takes = Takes::Quantity(dimension, 0.0, 1e9);
        let mut value = |quantity: &Quantity| {
            let value = self.resolver.evaluate(&path, quantity, dimension)?;
            self.resolver.in_range(&path, quantity.text(), value, takes)
        };
        Some(list.iter().map(|quantity| value(quantity).unwrap_or(0.0)).collect())
    }

    /// The time of a cycle that carries `per_cycle` units of what `rate` counts, from `cycle` or `rate`.
    pub(super) fn cycle(&mut self, per_cycle: f64) -> Picos {
        if self.is_given("cycle") && self.is_given("rate") {
            let path = self.key("rate");
            self.resolver.contradiction(&path, "says the same as cycle; one of the two is enough".to_owned());
        }
        // A default for one of the two gives way to the other.
        let by_rate = !self.is_given("cycle")
            && (self.is_given("rate")
                || self.table.find("rate").is_some_and(|key| matches!(key.default, Preset::Value(_))));
        let seconds =
            if by_rate { self.number("rate").map(|rate| per_cycle / rate) } else { self.number("cycle") };
        if seconds.is_none() && !self.is_given("cycle") && !self.is_given("rate") {
            let path = self.key("rate");
            self.resolver.missing(&path, "cycle or rate, such as \"10 Mb/s\"");
        }
        seconds.map_or(Picos(1), |seconds| picos(seconds).max(Picos(1)))
    }
}
