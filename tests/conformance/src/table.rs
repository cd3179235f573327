//! Front ends by placements: what was played in each cell, what was left out there and why.

use crate::behaviour::Behaviour;
use crate::placement::Placement;
use crate::player::{Played, Player};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What came of one front end on one placement.
pub struct Cell {
    /// The front end.
    pub front_end: String,
    /// The placement.
    pub placement: String,
    /// Behaviours that held.
    pub held: usize,
    /// Reasons why others were left out, and how many for each.
    pub left_out: BTreeMap<String, usize>,
    /// How many of those were left out because the driver cannot say them.
    pub unsaid: usize,
    /// Steps that came to something else.
    pub failures: Vec<String>,
    /// How long it took.
    pub took: Duration,
}

/// Plays all these behaviours in one cell. `tell` is told of each failure at once: one that waits for what never comes takes long.
pub fn play(
    front_end: &str,
    player: &mut Player,
    placement: &mut dyn Placement,
    behaviours: &[Behaviour],
    tell: &dyn Fn(&str),
) -> Cell {
    let since = Instant::now();
    let (mut held, mut unsaid, mut left_out, mut failures) = (0, 0, BTreeMap::new(), Vec::new());
    for behaviour in behaviours {
        match player.play(behaviour, placement) {
            Ok(Played::Held) => held += 1,
            Ok(Played::LeftOut(reason)) => *left_out.entry(reason).or_default() += 1,
            Ok(Played::CannotSay(reason)) => {
                unsaid += 1;
                *left_out.entry(reason).or_default() += 1;
            }
            Err(failure) => {
                tell(&failure);
                failures.push(failure);
            }
        }
    }
    let (front_end, placement) = (front_end.to_owned(), placement.name().to_owned());
    Cell { front_end, placement, held, left_out, unsaid, failures, took: since.elapsed() }
}

/// The table, as text: a row a front end, a column a placement; then what was left out, and what failed.
#[must_use]
pub fn table(cells: &[Cell]) -> String {
    let mut placements: Vec<&str> = Vec::new();
    let mut front_ends: Vec<&str> = Vec::new();
    for cell in cells {
        for (names, name) in [(&mut placements, &cell.placement), (&mut front_ends, &cell.front_end)] {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
    }
    let mut text = format!("{:14}", "");
    placements.iter().for_each(|placement| text.push_str(&format!("{placement:>15}")));
    for front_end in &front_ends {
        text.push_str(&format!("\n{front_end:14}"));
        for placement in &placements {
            let cell = cells.iter().find(|cell| cell.front_end == *front_end && cell.placement == *placement);
            text.push_str(&format!("{:>15}", cell.map_or("-".to_owned(), Cell::brief)));
        }
    }
    text.push('\n');
    text.push_str(&reasons(cells));
    text.extend(cells.iter().flat_map(Cell::failed));
    text
}

/// Why behaviours were left out, and where.
fn reasons(cells: &[Cell]) -> String {
    let mut reasons: BTreeMap<(&str, usize), Vec<String>> = BTreeMap::new();
    for cell in cells {
        for (reason, count) in &cell.left_out {
            let places = reasons.entry((reason, *count)).or_default();
            places.push(format!("{} {}", cell.front_end, cell.placement));
        }
    }
    let lines = reasons
        .into_iter()
        .map(|((reason, count), places)| format!("left out, {count}: {reason} ({})\n", places.join(", ")));
    lines.collect()
}

impl Cell {
    /// Whether everything held, and no more than a third is what the driver cannot say: one that cannot say anything shows nothing.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.failures.is_empty() && self.held > 0 && self.held >= 2 * self.unsaid
    }

    /// A line a failure.
    fn failed(&self) -> impl Iterator<Item = String> {
        let Cell { front_end, placement, failures, .. } = self;
        failures.iter().map(move |failure| format!("failed: {front_end} {placement}: {failure}\n"))
    }

    /// `52`, or `50 of 52` where some failed.
    fn brief(&self) -> String {
        match self.failures.len() {
            0 => self.held.to_string(),
            failed => format!("{} of {}", self.held, self.held + failed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_seen_in_the_table() {
        let cell = |front_end: &str, failures: &[&str]| Cell {
            front_end: front_end.to_owned(),
            placement: "unix".to_owned(),
            held: 2,
            left_out: BTreeMap::from([("no such value".to_owned(), 1)]),
            unsaid: 1,
            failures: failures.iter().map(|text| (*text).to_owned()).collect(),
            took: Duration::ZERO,
        };
        let text = table(&[cell("rust", &[]), cell("c", &["it came to nothing"])]);
        let rows: Vec<&str> = text.lines().map(str::trim_end).collect();
        assert!(rows[1].starts_with("rust") && rows[1].ends_with(" 2"), "{text}");
        assert!(rows[2].starts_with("c ") && rows[2].ends_with("2 of 3"), "{text}");
        assert_eq!(rows[3], "left out, 1: no such value (rust unix, c unix)");
        assert_eq!(rows[4..], ["failed: c unix: it came to nothing"]);
    }

    #[test]
    fn a_driver_that_says_little_is_no_good_one() {
        let cell = |held: usize, unsaid: usize, failures: &[&str]| Cell {
            front_end: "rust".to_owned(),
            placement: "unix".to_owned(),
            held,
            left_out: BTreeMap::from([("it cannot".to_owned(), unsaid), ("nobody can".to_owned(), 7)]),
            unsaid,
            failures: failures.iter().map(|text| (*text).to_owned()).collect(),
            took: Duration::ZERO,
        };
        assert!(cell(4, 2, &[]).is_good());
        assert!(!cell(3, 2, &[]).is_good());
        assert!(!cell(0, 0, &[]).is_good());
        assert!(!cell(4, 0, &["it came to nothing"]).is_good());
    }
}
