//! A figure: lines of points.

use core::fmt;
use serde_json::{Value, json};

/// One line: its name, and its points.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// What it is of.
    pub name: String,
    /// Whether the study printed it; else it was simulated.
    pub is_printed: bool,
    /// Across and up.
    pub points: Vec<(f64, f64)>,
}

/// A figure of the study, or one beyond it.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    /// Its number in the study; beyond it, a letter.
    pub number: &'static str,
    /// Whether the study has none like it.
    pub is_beyond: bool,
    /// What it shows.
    pub title: &'static str,
    /// What is across, with its unit.
    pub across: &'static str,
    /// What is up, with its unit.
    pub up: &'static str,
    /// Its lines.
    pub lines: Vec<Line>,
}

impl Figure {
    pub(super) const fn study(
        number: &'static str,
        title: &'static str,
        across: &'static str,
        up: &'static str,
    ) -> Figure {
        Figure { number, is_beyond: false, title, across, up, lines: Vec::new() }
    }

    pub(super) fn beyond(
        number: &'static str,
        title: &'static str,
        across: &'static str,
        up: &'static str,
    ) -> Figure {
        Figure { is_beyond: true, ..Figure::study(number, title, across, up) }
    }

    /// With one more line, of a value at each place.
    pub(super) fn simulated(
        mut self,
        name: impl Into<String>,
        places: &[usize],
        value: impl FnMut(usize) -> f64,
    ) -> Figure {
        let across = places.iter().map(|place| *place as f64);
        let points = across.zip(places.iter().copied().map(value)).collect();
        self.lines.push(Line { name: name.into(), is_printed: false, points });
        self
    }

    /// With the printed values that there are.
    pub(super) fn printed(mut self, name: &str, points: &[(usize, Option<f64>)]) -> Figure {
        let there = points.iter().filter_map(|(place, value)| Some((*place as f64, (*value)?)));
        self.lines.push(Line { name: name.to_owned(), is_printed: true, points: there.collect() });
        self
    }

    /// The value of a simulated line at a place.
    #[must_use]
    pub fn value(&self, line: &str, across: f64) -> Option<f64> {
        let line = self.lines.iter().find(|one| one.name == line)?;
        line.points.iter().find(|(at, _)| *at == across).map(|(_, value)| *value)
    }

    /// One object a line.
    pub(super) fn objects(&self) -> impl Iterator<Item = Value> {
        self.lines.iter().map(|line| {
            let points: Vec<Value> = line.points.iter().map(|(across, up)| json!([across, up])).collect();
            json!({
                "figure": self.number, "beyond": self.is_beyond, "title": self.title, "across": self.across, "up": self.up,
                "line": line.name, "printed": line.is_printed, "points": points,
            })
        })
    }

    /// Where its lines have points, ascending.
    fn places(&self) -> Vec<f64> {
        let mut places: Vec<f64> =
            self.lines.iter().flat_map(|line| line.points.iter().map(|(across, _)| *across)).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        places
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  figure {}: {} ({})", self.number, self.title, self.up)?;
        let places = self.places();
        write!(f, "    {:44}", self.across)?;
        places.iter().try_for_each(|place| write!(f, " {place:>9}"))?;
        writeln!(f)?;
        for line in &self.lines {
            write!(f, "    {:44}", line.name)?;
            for place in &places {
                match line.points.iter().find(|(across, _)| across == place) {
                    Some((_, value)) => write!(f, " {value:>9.2}")?,
                    None => write!(f, " {:>9}", "")?,
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
