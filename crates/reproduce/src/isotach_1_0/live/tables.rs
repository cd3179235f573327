//! The study's figures as tables.

use super::super::Way;
use super::super::study::PRINTED;
use super::{Experiment, Link, Live, Others, Run};
use crate::linda_lan::Quartiles;
use std::collections::BTreeSet;

/// What isochrons have, by what plain messages have.
const TO_PLAIN: &str = "to plain";

/// A figure of the study, measured here.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// Its number in the study.
    pub figure: &'static str,
    /// What it shows.
    pub title: String,
    /// What its rows are of.
    pub across: &'static str,
    /// Of its values.
    pub unit: &'static str,
    /// Names of the values of a row.
    pub columns: Vec<&'static str>,
    /// A row a link and a place.
    pub rows: Vec<Row>,
}

/// Values at one place.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// Over what.
    pub link: Link,
    /// Bytes of a packet, or messages of an isochron.
    pub across: usize,
    /// In the order of columns.
    pub values: Vec<Quartiles>,
    /// What isochrons have, by what plain messages have in the same turn; none where there are no isochrons.
    pub to_plain: Option<Quartiles>,
}

impl Table {
    /// What its rows say beside the values.
    pub(super) fn ratio_name(&self) -> Option<&'static str> {
        self.rows.iter().any(|row| row.to_plain.is_some()).then_some(TO_PLAIN)
    }
}

impl Live {
    /// The figures, in the study's order.
    #[must_use]
    pub fn tables(&self) -> Vec<Table> {
        let [small, large] = PRINTED;
        vec![
            self.by_packet("5.3", "round trips", Experiment::RoundTrip),
            self.by_packet("5.4", "streams", Experiment::Stream),
            self.by_packet("5.7", "cost of a send", Experiment::Send),
            self.by_packet("5.8", "a receiver with 4 senders", Experiment::Contention),
            self.by_packet("5.9", "round trips of such a receiver", Experiment::ContendedRoundTrip),
            self.by_size("5.10", small),
            self.by_size("5.11", large),
            self.beside("5.12", "round trips of plain messages beside tokens", Experiment::RoundTripBeside),
            self.beside("5.13", "plain messages beside tokens", Experiment::Beside),
        ]
    }

    fn by_packet(&self, figure: &'static str, title: &str, experiment: Experiment) -> Table {
        let row = |run: &Run| Row {
            link: run.link,
            across: run.packet,
            values: [Way::Plain, Way::Safe].map(|way| self.quartiles(&Run { way, ..*run })).into(),
            to_plain: Some(Quartiles::of(self.to_plain(run))),
        };
        let of = self.made(|run| run.experiment == experiment && (run.way, run.size) == (Way::Safe, 1));
        Table {
            figure,
            title: title.to_owned(),
            across: "bytes of a packet",
            unit: experiment.unit(),
            columns: [Way::Plain, Way::Safe].map(Way::name).into(),
            rows: of.iter().map(row).collect(),
        }
    }

    fn by_size(&self, figure: &'static str, packet: usize) -> Table {
        let is_it = |run: &Run| {
            let Run { experiment, link, way, .. } = *run;
            (experiment, link, run.packet, way) == (Experiment::Stream, Link::Shm, packet, Way::Safe)
        };
        let row = |run: &Run| Row {
            link: run.link,
            across: run.size,
            values: vec![self.quartiles(run)],
            to_plain: Some(Quartiles::of(self.to_plain(run))),
        };
        Table {
            figure,
            title: format!("isochrons of {packet} byte packets"),
            across: "messages of an isochron",
            unit: Experiment::Stream.unit(),
            columns: vec![Way::Safe.name()],
            rows: self.made(is_it).iter().map(row).collect(),
        }
    }

    fn beside(&self, figure: &'static str, title: &str, of: fn(Others) -> Experiment) -> Table {
        let row = |at_rest: &Run| Row {
            link: at_rest.link,
            across: at_rest.packet,
            values: Others::ALL
                .map(|others| self.quartiles(&Run { experiment: of(others), ..*at_rest }))
                .into(),
            to_plain: None,
        };
        let at_rest = of(Others::Rest);
        Table {
            figure,
            title: title.to_owned(),
            across: "bytes of a packet",
            unit: at_rest.unit(),
            columns: Others::ALL.map(Others::name).into(),
            rows: self.made(|run| run.experiment == at_rest).iter().map(row).collect(),
        }
    }

    pub(super) fn quartiles(&self, run: &Run) -> Quartiles {
        Quartiles::of(self.values(run).iter().copied())
    }

    /// The runs that were made and are such.
    fn made(&self, is_it: impl Fn(&Run) -> bool) -> BTreeSet<Run> {
        self.values.keys().filter(|run| is_it(run)).copied().collect()
    }
}
