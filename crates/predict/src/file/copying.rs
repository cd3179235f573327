//! Reading what copying takes.

use super::{Entry, File, Section};
use crate::copying::Copying;
use crate::keys::{COPIED, COPY_RATE};
use quintet_model::{Dimension, ProblemKind};
use std::ops::RangeInclusive;
use toml::de::DeValue;

const PAIR: &str = "a size and a data rate";

impl Section<'_, '_> {
    /// A rate for every size, or a list of sizes with their rates; none with a problem reported.
    pub(super) fn copying(&self, name: &str) -> Option<Copying> {
        let path = self.path_of(name);
        if let Some(entry) = self.entry(name)
            && let DeValue::Array(list) = entry.get_ref()
        {
            let sizes: Vec<_> = list.iter().map(|pair| self.file.size(&path, pair)).collect();
            let sizes = sizes.into_iter().collect::<Option<Vec<_>>>()?;
            return self.file.by_size(&path, entry, &sizes);
        }
        let (text, at) = self.text(name)?;
        let rate = self.file.within(at, &path, &text, Dimension::DATA_RATE, &COPY_RATE)?;
        Some(Copying::at_rate(rate))
    }
}

impl File<'_> {
    /// A size in bytes and how long it takes.
    fn size(&self, path: &str, pair: &Entry<'_>) -> Option<(u64, f64)> {
        let DeValue::Array(both) = pair.get_ref() else {
            self.wrong_kind(pair, path, PAIR);
            return None;
        };
        let (Some(size), Some(rate), 2) = (both.first(), both.get(1), both.len()) else {
            let (found, expected) = (format!("a list of {}", both.len()), PAIR.to_owned());
            self.problem(pair.span().start, path, ProblemKind::WrongKind { found, expected });
            return None;
        };
        let quantity = |entry: &Entry<'_>, expected: Dimension, range| {
            let text = self.text(path, entry, PAIR)?;
            self.within(entry.span().start, path, &text, expected, range)
        };
        let bytes = quantity(size, Dimension::DATA, &COPIED);
        let rate = quantity(rate, Dimension::DATA_RATE, &COPY_RATE)?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
        let bytes = bytes?.round() as u64;
        #[expect(clippy::cast_precision_loss, reason = "in range")]
        Some((bytes, bytes as f64 / rate))
    }

    /// Sizes that ascend, no larger one faster than a smaller one.
    fn by_size(&self, path: &str, entry: &Entry<'_>, sizes: &[(u64, f64)]) -> Option<Copying> {
        let problem = |found: &str, expected: &str| {
            let (found, expected) = (found.to_owned(), expected.to_owned());
            self.problem(entry.span().start, path, ProblemKind::OutOfRange { found, expected });
            None
        };
        if sizes.is_empty() {
            return problem("no sizes", "at least one");
        }
        if !sizes.is_sorted_by(|(small, _), (large, _)| small < large) {
            return problem("sizes in another order", "each larger than the one before");
        }
        if !sizes.is_sorted_by(|(_, short), (_, long)| short <= long) {
            return problem("a larger size that takes less time", "each to take as long as the one before");
        }
        Some(Copying::by_size(sizes.iter().copied()))
    }

    /// A quantity in base units and in its range; none with a problem reported.
    fn within(
        &self,
        at: usize,
        path: &str,
        text: &str,
        dimension: Dimension,
        range: &RangeInclusive<f64>,
    ) -> Option<f64> {
        let value = self.evaluate(at, path, text, dimension)?;
        if range.contains(&value) {
            return Some(value);
        }
        let expected = quintet_model::keys::Takes::Quantity(dimension, *range.start(), *range.end()).text();
        self.problem(at, path, ProblemKind::OutOfRange { found: format!("\"{text}\""), expected });
        None
    }
}
