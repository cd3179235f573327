//! What a send takes of its sender's processor, in the calling thread and in the one that executes isochrons: without a marker and with one, and with copies of a
//! variable at several members.

use super::super::Way;
use super::super::published::{Measured, value};
use super::super::study::PRINTED;
use super::report::told;
use super::{Experiment, Live, Run};
use crate::linda_lan::Quartiles;
use crate::page;
use core::fmt;
use serde_json::{Value, json};

/// What the numbers of the table are.
pub(super) const HEADING: &str = "Figure 5.7, live: processor time of a send (us of its sender's processor, all that it causes there; who waits sleeps at once)";

/// Copies of a variable.
const COPIES: [u16; 3] = [1, 2, 4];

/// What one isochron sends, or one plain message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Sent {
    /// A value that a variable gets; else a message.
    pub is_value: bool,
    /// Other members that get it.
    pub others: u16,
    /// Its sender gets it as well: of what others have a part of, too, a marker tells it when that is executed.
    pub has_own_part: bool,
}

impl Sent {
    /// To one other member.
    pub const MESSAGE: Sent = Sent { is_value: false, others: 1, has_own_part: false };
    /// To one other member and to its sender.
    const MARKED: Sent = Sent { has_own_part: true, ..Sent::MESSAGE };

    /// All, in the order of reports.
    #[must_use]
    pub fn all() -> Vec<Sent> {
        let elsewhere = |copies| Sent { is_value: true, others: copies, has_own_part: false };
        let here = |copies| Sent { is_value: true, others: copies - 1, has_own_part: true };
        let messages = [Sent::MESSAGE, Sent::MARKED];
        messages.into_iter().chain(COPIES.map(elsewhere)).chain(COPIES.map(here)).collect()
    }

    /// As in reports.
    #[must_use]
    pub fn name(&self) -> String {
        let copies = self.others + u16::from(self.has_own_part);
        match (self.is_value, self.has_own_part) {
            (false, false) => "a message, no marker".to_owned(),
            (false, true) => "the same, and one to itself: a marker".to_owned(),
            (true, false) => format!("a value, copies elsewhere: {copies}"),
            (true, true) if self.others == 0 => "a value, its own copy alone: purely local".to_owned(),
            (true, true) => format!("a value, copies with its own: {copies}, a marker"),
        }
    }

    /// What is printed of it, with packets of so many bytes.
    fn printed(self, way: Way, packet: usize) -> Option<f64> {
        match (self, way) {
            (Sent::MESSAGE, Way::Plain) => value("send_cost", packet, Measured::Fm),
            (Sent::MESSAGE, _) => value("send_cost_without_markers", packet, Measured::Isotach),
            (Sent::MARKED, _) => value("send_cost", packet, Measured::Isotach),
            _ => None,
        }
    }
}

/// What one send takes, with packets of so many bytes.
#[derive(Clone, PartialEq, Debug)]
pub struct Cost {
    /// What is sent.
    pub name: String,
    /// Bytes of a packet as the study counts them.
    pub packet: usize,
    /// Microseconds that are printed.
    pub printed: Option<f64>,
    /// Microseconds here.
    pub ours: Quartiles,
    /// By what a plain message takes in the same turn.
    pub to_plain: Quartiles,
}

/// The runs that the table is made of.
pub(super) fn runs() -> impl Iterator<Item = Run> {
    let of_packet = |packet| {
        let isochrons = Sent::all().into_iter().map(move |sent| (sent, Way::Safe));
        let all = [(Sent::MESSAGE, Way::Plain)].into_iter().chain(isochrons);
        all.map(move |(sent, way)| Run::of(Experiment::Cost(sent), packet, way))
    };
    PRINTED.into_iter().flat_map(of_packet)
}

impl Live {
    /// The table, a row and a packet each, those of one row one behind the other.
    #[must_use]
    pub fn costs(&self) -> Vec<Cost> {
        let mut rows: Vec<Run> = runs().filter(|run| run.packet == PRINTED[0]).collect();
        rows.retain(|run| self.values.contains_key(run));
        rows.iter().flat_map(|run| PRINTED.map(|packet| self.cost(&Run { packet, ..*run }))).collect()
    }

    fn cost(&self, run: &Run) -> Cost {
        let Experiment::Cost(sent) = run.experiment else { unreachable!("rows are of costs") };
        let plain = Run::of(Experiment::Cost(Sent::MESSAGE), run.packet, Way::Plain);
        let name = if run.way == Way::Plain { "a plain message".to_owned() } else { sent.name() };
        Cost {
            name,
            packet: run.packet,
            printed: sent.printed(run.way, run.packet),
            ours: self.quartiles(run),
            to_plain: Quartiles::of(self.ratios(run, &plain)),
        }
    }

    /// The table as text.
    pub(super) fn write_costs(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADING}")?;
        write!(f, "  {:44}", "sent")?;
        for packet in PRINTED {
            let [printed, ours] = [format!("printed, {packet} bytes"), format!("here, {packet} bytes")];
            write!(f, " {printed:>20} {ours:>24} {:>20}", "to a plain message")?;
        }
        writeln!(f)?;
        for row in self.costs().chunks(PRINTED.len()) {
            write!(f, "  {:44}", row[0].name)?;
            for Cost { printed, ours, to_plain, .. } in row {
                let printed = printed.map_or("-".to_owned(), |printed| printed.to_string());
                write!(f, " {printed:>20} {:>24} {:>20}", told(ours), told(to_plain))?;
            }
            writeln!(f)?;
        }
        writeln!(f)
    }

    /// The same of a page.
    pub(super) fn html_of_costs(&self) -> String {
        let row = |cost: &Cost| {
            let Cost { name, packet, printed, ours, to_plain } = cost;
            format!(
                "<tr><td>{}<td class=\"n\">{packet}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}</tr>\n",
                page::escape(name),
                printed.map_or(String::new(), |printed| printed.to_string()),
                told(ours),
                told(to_plain)
            )
        };
        let rows: String = self.costs().iter().map(row).collect();
        format!(
            "<h2>{}</h2>\n<table><tr><th>sent<th>bytes of a packet<th>printed<th>here, quartiles<th>to a plain message</tr>\n{rows}</table>\n",
            page::escape(HEADING)
        )
    }
}

impl Cost {
    pub(super) fn object(&self) -> Value {
        let Cost { name, packet, printed, ours, to_plain } = self;
        json!({
            "figure": "5.7", "cost": name, "packet_bytes": packet, "unit": "us", "published": printed, "median": ours.median, "low": ours.low,
            "high": ours.high, "to_plain": to_plain.median,
        })
    }
}
