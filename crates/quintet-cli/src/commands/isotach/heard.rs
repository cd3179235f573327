//! What is heard of all philosophers.

use super::told;
use quintet::isotach::{Pulse, View, Witnessed};
use quintet::{Error, NodeId};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// What was heard of all philosophers.
#[derive(Default)]
pub(super) struct Heard {
    pub(super) meals: BTreeMap<u16, u64>,
    /// Where the order is, once it has begun. Pulses begin anew with each view.
    pub(super) at: Option<(View, Pulse)>,
    /// The median of the times between the ends of two pulses, in microseconds, as who keeps the pulse says.
    pub(super) apart_us: f64,
    /// Histograms of these times, each of as long as was asked for.
    pub(super) reports: Vec<Report>,
    pub(super) said: BTreeMap<NodeId, Vec<Witnessed>>,
    /// Who has told all that it did.
    pub(super) complete: BTreeSet<u16>,
    /// Who was lost, and how.
    pub(super) lost: BTreeMap<u16, &'static str>,
    /// What those say who cannot go on.
    pub(super) halted: BTreeMap<u16, String>,
    pub(super) gone: BTreeSet<u16>,
    /// How many meals each had had when it did something first in the next view.
    pub(super) went_on: BTreeMap<u16, u64>,
    /// The longest time in which one of them executed nothing, in milliseconds.
    pub(super) stall_ms: f64,
    /// Forks without a value, as who had them was killed or a view ended.
    pub(super) repaired: u64,
    /// The topologies of all views.
    pub(super) views: BTreeMap<View, String>,
}

/// How far apart pulses were for some time.
pub(super) struct Report {
    /// For a person: lines.
    pub(super) histogram: String,
    /// For a program: for how long it was looked, and how many there were of which length.
    pub(super) object: Value,
}

impl Heard {
    /// A line of one of them.
    ///
    /// # Errors
    /// It says what none does.
    pub(super) fn hear(&mut self, member: u16, line: &Value) -> Result<(), Error> {
        if line.is_array() {
            self.said.entry(NodeId(member)).or_default().push(told::read(line)?);
            return Ok(());
        }
        if let Some(meals) = line["meals"].as_u64() {
            self.meals.insert(member, meals);
            if line["went_on"] == json!(true) {
                self.went_on.entry(member).or_insert(meals);
            }
        }
        if let (Some(view), Some(pulse)) = (line["view"].as_u64(), line["pulse"].as_u64()) {
            self.at = self.at.max(Some((view_of(view), Pulse(pulse))));
        }
        self.apart_us = line["apart_us"].as_f64().unwrap_or(self.apart_us);
        if let Some(histogram) = line["histogram"].as_str() {
            let (object, seconds) = (line["apart"].clone(), line["apart"]["seconds"].as_f64());
            let seconds = seconds.unwrap_or(0.0);
            let histogram = format!("how far apart pulses were in {seconds:.1} s:\n{histogram}");
            self.reports.push(Report { histogram, object });
        }
        if line["ended"] == json!(true) {
            self.complete.insert(member);
        }
        self.repaired += line["repaired"].as_u64().unwrap_or(0);
        self.stall_ms = self.stall_ms.max(line["stall_ms"].as_f64().unwrap_or(0.));
        for view in line["views"].as_array().into_iter().flatten() {
            if let (Some(number), Some(topology)) = (view[0].as_u64(), view[1].as_str()) {
                self.views.insert(view_of(number), topology.to_owned());
            }
        }
        if let Some(text) = line["text"].as_str() {
            self.halted.insert(member, text.to_owned());
        }
        Ok(())
    }

    /// Meals since then of those who went on.
    pub(super) fn meals_since(&self) -> u64 {
        let since = |(member, before): (&u16, &u64)| self.meals.get(member).map_or(0, |all| all - before);
        self.went_on.iter().map(since).sum()
    }
}

/// One whose number has no room is none that began.
fn view_of(number: u64) -> View {
    View(u32::try_from(number).unwrap_or(u32::MAX))
}
