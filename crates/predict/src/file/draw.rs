//! Reading distributions.

use super::{File, Section};
use quintet_model::{Dimension, ProblemKind, nearest};
use quintet_simulate::Distribution;
use toml::de::{DeTable, DeValue};

/// The distributions and their parameters; those that are numbers end with `#`.
const DISTRIBUTIONS: [(&str, &[&str]); 5] = [
    ("uniform", &["low", "high"]),
    ("normal", &["mean", "deviation"]),
    ("exponential", &["mean"]),
    ("gamma", &["shape#", "scale"]),
    ("beta", &["a#", "b#", "low", "high"]),
];

impl Section<'_, '_> {
    /// A quantity, or a table with the name of a distribution; none with a problem reported.
    pub(super) fn distribution(&self, name: &str, dimension: Dimension) -> Option<Distribution> {
        let (path, key) = (self.path_of(name), self.key(name));
        let Some(entry) = self.entry(name) else {
            self.file.missing(self.at, &path, &key.takes.text());
            return None;
        };
        let at = entry.span().start;
        let found = match entry.get_ref() {
            DeValue::Table(table) => named(self.file, at, &path, table, dimension)?,
            _ => {
                let text = self.file.text(&path, entry, &key.takes.text())?;
                Distribution::Constant(self.file.evaluate(at, &path, &text, dimension)?)
            }
        };
        if let Err(error) = found.check() {
            self.file.problem(at, &path, ProblemKind::Distribution(error));
            return None;
        }
        Some(found)
    }
}

fn named(
    file: &File<'_>,
    at: usize,
    path: &str,
    table: &DeTable<'_>,
    dimension: Dimension,
) -> Option<Distribution> {
    let mut keys = table.iter();
    let (Some((key, entry)), None) = (keys.next(), keys.next()) else {
        let (found, expected) = ("a table".to_owned(), "one key, the name of a distribution".to_owned());
        file.problem(at, path, ProblemKind::WrongKind { found, expected });
        return None;
    };
    let (name, path) = (key.get_ref().as_ref(), format!("{path}.{}", key.get_ref()));
    let Some((_, parameters)) = DISTRIBUTIONS.into_iter().find(|(known, _)| *known == name) else {
        let nearest = nearest(name, DISTRIBUTIONS.map(|(known, _)| known));
        let kind = ProblemKind::UnknownName { what: "distribution", name: name.to_owned(), nearest };
        file.problem(key.span().start, &path, kind);
        return None;
    };
    let inner = file.table(&path, entry)?;
    file.check_parameters(&path, inner, parameters);
    let values: Vec<_> = parameters
        .iter()
        .map(|name| parameter(file, entry.span().start, &path, inner, name, dimension))
        .collect();
    let values = values.into_iter().collect::<Option<Vec<_>>>()?;
    Some(match (name, &*values) {
        ("uniform", [low, high]) => Distribution::Uniform { low: *low, high: *high },
        ("normal", [mean, deviation]) => Distribution::Normal { mean: *mean, deviation: *deviation },
        ("gamma", [shape, scale]) => Distribution::Gamma { shape: *shape, scale: *scale },
        ("beta", [a, b, low, high]) => Distribution::Beta { a: *a, b: *b, low: *low, high: *high },
        _ => Distribution::Exponential { mean: *values.first()? },
    })
}

/// The value of a parameter; none with a problem reported.
fn parameter(
    file: &File<'_>,
    at: usize,
    path: &str,
    table: &DeTable<'_>,
    name: &str,
    dimension: Dimension,
) -> Option<f64> {
    let (name, dimension) = match name.strip_suffix('#') {
        Some(name) => (name, Dimension::NUMBER),
        None => (name, dimension),
    };
    let path = format!("{path}.{name}");
    let Some(entry) = table.get(name) else {
        file.missing(at, &path, &dimension.to_string());
        return None;
    };
    let text = file.text(&path, entry, &dimension.to_string())?;
    file.evaluate(entry.span().start, &path, &text, dimension)
}

impl File<'_> {
    fn check_parameters(&self, path: &str, table: &DeTable<'_>, parameters: &[&str]) {
        let names = || parameters.iter().map(|name| name.trim_end_matches('#'));
        for (key, _) in table {
            let name = key.get_ref().as_ref();
            if !names().any(|known| known == name) {
                let nearest = nearest(name, names());
                self.problem(
                    key.span().start,
                    &format!("{path}.{name}"),
                    ProblemKind::UnknownKey { nearest },
                );
            }
        }
    }
}
