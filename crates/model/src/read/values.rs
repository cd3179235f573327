//! Reading single values: quantities, lists, distributions.

use super::{Entry, Reader};
use crate::model::Value;
use crate::nearest::nearest;
use crate::problem::ProblemKind;
use crate::quantity::{Draw, Quantity};
use std::collections::BTreeMap;
use toml::de::{DeArray, DeTable, DeValue};

/// The distributions and their parameters; those that end with `?` may be missing.
const DISTRIBUTIONS: [(&str, &[&str]); 9] = [
    ("uniform", &["low", "high"]),
    ("normal", &["mean", "deviation"]),
    ("exponential", &["mean"]),
    ("poisson", &["mean"]),
    ("gamma", &["shape", "scale"]),
    ("beta", &["a", "b", "low", "high"]),
    ("weibull", &["shape", "scale"]),
    ("pareto", &["shape", "minimum", "maximum?"]),
    ("log_normal", &["mean", "deviation"]),
];

impl Reader {
    /// The text of a quantity or a word; none with a problem reported.
    fn plain(&mut self, path: &str, entry: &Entry<'_>, expected: &str) -> Option<String> {
        match entry.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            DeValue::Integer(integer) => match i64::from_str_radix(integer.as_str(), integer.radix()) {
                Ok(number) => Some(number.to_string()),
                Err(_) => {
                    let (found, expected) = (integer.as_str().to_owned(), "a number below 2^63".to_owned());
                    self.problem(entry.span().start, path, ProblemKind::OutOfRange { found, expected });
                    None
                }
            },
            DeValue::Float(float) => Some(float.as_str().to_owned()),
            _ => {
                self.wrong_kind(path, entry, expected);
                None
            }
        }
    }

    pub(super) fn text(&mut self, path: &str, entry: &Entry<'_>) -> String {
        self.plain(path, entry, "text").unwrap_or_default()
    }

    pub(super) fn quantity(&mut self, path: &str, entry: &Entry<'_>) -> Quantity {
        self.plain(path, entry, "a number or a text with a unit").unwrap_or_default().into()
    }

    pub(super) fn value(&mut self, path: &str, entry: &Entry<'_>) -> Option<Value> {
        match entry.get_ref() {
            DeValue::Boolean(value) => Some(Value::Switch(*value)),
            DeValue::Array(list) => {
                let quantity =
                    |entry| self.plain(path, entry, "numbers or texts with a unit").map(Quantity::from);
                list.iter().map(quantity).collect::<Option<Vec<_>>>().map(Value::List)
            }
            _ => self.plain(path, entry, "a number, text, true or false, or a list").map(Value::from),
        }
    }

    pub(super) fn list<'a, 'b>(&mut self, path: &str, entry: &'b Entry<'a>) -> Option<&'b DeArray<'a>> {
        match entry.get_ref() {
            DeValue::Array(list) => Some(list),
            _ => {
                self.wrong_kind(path, entry, "a list");
                None
            }
        }
    }

    pub(super) fn names(&mut self, path: &str, entry: &Entry<'_>) -> Vec<String> {
        let Some(list) = self.list(path, entry) else { return Vec::new() };
        list.iter().filter_map(|entry| self.plain(path, entry, "names")).collect()
    }

    pub(super) fn quantities(&mut self, path: &str, table: &DeTable<'_>) -> BTreeMap<String, Quantity> {
        let mut quantities = BTreeMap::new();
        for (name, entry) in table {
            let path = format!("{path}.{}", name.get_ref());
            self.lines.insert(path.clone(), self.line(name.span().start));
            quantities.insert(name.get_ref().to_string(), self.quantity(&path, entry));
        }
        quantities
    }

    /// The texts of these keys, in their order; a name that ends with `?` may be missing. None if one is, with a problem.
    pub(super) fn texts(&mut self, path: &str, table: &DeTable<'_>, names: &[&str]) -> Option<Vec<String>> {
        let plain_names = || names.iter().map(|name| name.trim_end_matches('?'));
        for (key, _) in table {
            if !plain_names().any(|name| name == key.get_ref()) {
                let nearest = nearest(key.get_ref(), plain_names());
                self.problem(
                    key.span().start,
                    &format!("{path}.{}", key.get_ref()),
                    ProblemKind::UnknownKey { nearest },
                );
            }
        }
        let mut texts = Some(Vec::new());
        for (name, plain) in names.iter().zip(plain_names()) {
            let key = format!("{path}.{plain}");
            let text = match table.get(plain) {
                Some(entry) => self.plain(&key, entry, "text or a number"),
                None if name.ends_with('?') => continue,
                None => {
                    let line = self.lines.get(path).copied();
                    let kind = ProblemKind::Missing { expected: "text or a number".to_owned() };
                    let file = Some(self.file.clone());
                    self.problems.push(crate::problem::Problem { file, line, key, kind });
                    None
                }
            };
            texts = texts.zip(text).map(|(mut texts, text)| {
                texts.push(text);
                texts
            });
        }
        texts
    }

    /// A quantity, or a table with the name of a distribution.
    pub(super) fn draw(&mut self, path: &str, entry: &Entry<'_>) -> Draw {
        let nothing = || Draw::Constant("".into());
        let DeValue::Table(table) = entry.get_ref() else {
            return Draw::Constant(self.quantity(path, entry));
        };
        let mut keys = table.iter();
        let (Some((key, entry)), None) = (keys.next(), keys.next()) else {
            self.wrong_kind(path, entry, "a table with one key, the name of a distribution");
            return nothing();
        };
        let (name, path) = (key.get_ref().as_ref(), format!("{path}.{}", key.get_ref()));
        self.lines.insert(path.clone(), self.line(key.span().start));
        match name {
            "constant" => return Draw::Constant(self.quantity(&path, entry)),
            "empirical" => return self.empirical(&path, entry).unwrap_or_else(nothing),
            _ => {}
        }
        let Some((name, parameters)) = DISTRIBUTIONS.into_iter().find(|(known, _)| *known == name) else {
            let nearest = nearest(
                name,
                DISTRIBUTIONS.map(|(known, _)| known).into_iter().chain(["constant", "empirical"]),
            );
            let kind = ProblemKind::UnknownName { what: "distribution", name: name.to_owned(), nearest };
            self.problem(key.span().start, &path, kind);
            return nothing();
        };
        let Some(inner) = self.table(&path, entry) else { return nothing() };
        if name == "log_normal" && ["median", "sigma"].iter().any(|key| inner.contains_key(*key)) {
            let texts = self.texts(&path, inner, &["median", "sigma"]);
            return texts
                .and_then(|texts| distribution("log_normal by its median", texts))
                .unwrap_or_else(nothing);
        }
        let texts = self.texts(&path, inner, parameters);
        texts.and_then(|texts| distribution(name, texts)).unwrap_or_else(nothing)
    }

    fn empirical(&mut self, path: &str, entry: &Entry<'_>) -> Option<Draw> {
        let table = self.table(path, entry)?;
        if table.contains_key("file") {
            return self.sample(path, entry.span().start, table);
        }
        let mut keys = table.iter();
        let (Some((key, lines)), None) = (keys.next(), keys.next()) else {
            self.wrong_kind(path, entry, "a table with one key, values or cumulative, or with file and unit");
            return None;
        };
        let mut pairs = Vec::new();
        for line in self.list(path, lines)? {
            match line.get_ref() {
                DeValue::Array(pair) if pair.len() == 2 => {
                    let mut pair = pair.iter().map(|entry| self.quantity(path, entry));
                    pairs.extend(pair.next().zip(pair.next()));
                }
                _ => self.wrong_kind(path, line, "a list of two values"),
            }
        }
        match key.get_ref().as_ref() {
            "values" => Some(Draw::Weighted(pairs)),
            "cumulative" => Some(Draw::Cumulative(pairs)),
            other => {
                let nearest = nearest(other, ["values", "cumulative", "file"]);
                self.problem(
                    key.span().start,
                    &format!("{path}.{other}"),
                    ProblemKind::UnknownKey { nearest },
                );
                None
            }
        }
    }
}

/// The distribution of this name, its parameters in the order of [`DISTRIBUTIONS`].
fn distribution(name: &str, texts: Vec<String>) -> Option<Draw> {
    let mut texts = texts.into_iter().map(Quantity::from);
    let mut next = || texts.next();
    Some(match name {
        "uniform" => Draw::Uniform { low: next()?, high: next()? },
        "normal" => Draw::Normal { mean: next()?, deviation: next()? },
        "exponential" => Draw::Exponential { mean: next()? },
        "poisson" => Draw::Poisson { mean: next()? },
        "gamma" => Draw::Gamma { shape: next()?, scale: next()? },
        "weibull" => Draw::Weibull { shape: next()?, scale: next()? },
        "pareto" => Draw::Pareto { shape: next()?, minimum: next()?, maximum: next() },
        "log_normal" => Draw::LogNormal { mean: next()?, deviation: next()? },
        "log_normal by its median" => Draw::LogNormalMedian { median: next()?, sigma: next()? },
        _ => Draw::Beta { a: next()?, b: next()?, low: next()?, high: next()? },
    })
}
