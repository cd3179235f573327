//! All as text, page and objects.

use super::compared::UNSAID;
use super::{Compared, Cost, Experiment, Link, Live, Row, Run, Table};
use crate::linda_lan::{Drawing, DrawnLine, Quartiles};
use crate::page;
use core::fmt;
use serde_json::{Value, json};
use std::fmt::Write;

const COMPARED: &str = "Beside what is printed, over shared memory";

impl Live {
    /// Where it was measured, as a sentence.
    fn machine_in_words(&self) -> String {
        let machine = &self.machine;
        format!(
            "Measured on a machine with {} processors, whose load was {:.2} before and {:.2} after; medians of {} turns, with quartiles.",
            machine.processors,
            machine.load_before,
            machine.load_after,
            self.turns()
        )
    }

    fn turns(&self) -> usize {
        self.values.values().map(Vec::len).max().unwrap_or_default()
    }

    /// One object a run and turn, one a printed value, and one that sums them up.
    #[must_use]
    pub fn objects(&self) -> Vec<Value> {
        let of_run = |(run, values): (&Run, &Vec<f64>)| -> Vec<Value> {
            let objects = values.iter().enumerate().map(|(turn, value)| object(run, turn, *value));
            objects.collect()
        };
        let (compared, costs) = (self.compared(), self.costs());
        let sum = json!({
            "study": "isotach-1.0", "way": "live", "turns": self.turns(), "runs": self.values.len(), "compared": compared.len(), "costs": costs.len(),
            "processors": self.machine.processors, "load_before": self.machine.load_before, "load_after": self.machine.load_after,
            "findings": self.findings(), "unsaid": UNSAID,
        });
        self.values
            .iter()
            .flat_map(of_run)
            .chain(compared.iter().map(Compared::object))
            .chain(costs.iter().map(Cost::object))
            .chain([sum])
            .collect()
    }

    /// The whole page; `draw` makes lines an SVG element.
    #[must_use]
    pub fn html(&self, draw: Drawing<'_>) -> String {
        let mut all = page::head("The study of Isotach 1.0, live");
        all.push_str("<h1>isotach-1.0: its experiments on this machine</h1>\n");
        let _ = writeln!(all, "<p>{}</p>", page::escape(&self.machine_in_words()));
        list(&mut all, self.findings());
        let _ = writeln!(all, "<h2>{COMPARED}</h2>");
        all.push_str("<table><tr><th>figure<th>value<th>printed<th>median<th>quartiles<th>unit<th>why they differ</tr>\n");
        self.compared().iter().for_each(|compared| all.push_str(&compared.html()));
        all.push_str("</table>\n<p>In the figures bars are half the distance between the quartiles, around the median.</p>\n");
        for table in self.tables() {
            let _ = writeln!(all, "<h2>{}</h2>\n{}", table.heading(), table.drawn(draw));
        }
        all.push_str(&self.html_of_costs());
        all.push_str("<h2>What is not measured</h2>\n");
        list(&mut all, UNSAID.map(str::to_owned).into());
        all + page::END
    }
}

fn object(run: &Run, turn: usize, value: f64) -> Value {
    let mut object = json!({
        "run": run.experiment.name(), "link": run.link.name(), "way": run.way.name(), "packet_bytes": run.packet, "data_bytes": run.data(),
        "messages": run.size, "turn": turn, "value": value, "unit": run.experiment.unit(),
    });
    match run.experiment {
        Experiment::Beside(others) | Experiment::RoundTripBeside(others) => {
            object["beside"] = json!(others.name())
        }
        Experiment::Cost(sent) => object["sent"] = json!(sent.name()),
        _ => {}
    }
    object
}

fn list(all: &mut String, sentences: Vec<String>) {
    all.push_str("<ul>\n");
    for sentence in sentences {
        let _ = writeln!(all, "<li>{}</li>", page::escape(&sentence));
    }
    all.push_str("</ul>\n");
}

pub(super) fn told(values: &Quartiles) -> String {
    format!("{:.2} ({:.2} to {:.2})", values.median, values.low, values.high)
}

impl Compared {
    fn object(&self) -> Value {
        json!({
            "figure": self.figure, "name": self.name, "unit": self.unit, "published": self.published, "median": self.ours.median,
            "low": self.ours.low, "high": self.ours.high, "because": self.because,
        })
    }

    fn html(&self) -> String {
        let Quartiles { low, median, high } = self.ours;
        format!(
            "<tr><td>{}<td>{}<td class=\"n\">{}<td class=\"n\">{median:.2}<td class=\"n\">{low:.2} to {high:.2}<td>{}<td>{}</tr>\n",
            self.figure,
            page::escape(&self.name),
            self.published,
            self.unit,
            page::escape(self.because)
        )
    }
}

impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Compared { figure, name, unit, published, ours, because } = self;
        writeln!(f, "  {figure:5} {name}: printed {published} {unit}, here {}; {because}", told(ours))
    }
}

impl Table {
    fn heading(&self) -> String {
        format!("{}: {} ({})", self.figure, self.title, self.unit)
    }

    /// A line a link and a column.
    fn drawn(&self, draw: Drawing<'_>) -> String {
        let mut lines: Vec<DrawnLine> = Vec::new();
        for link in Link::BOTH {
            for (at, column) in self.columns.iter().enumerate() {
                let points = self.rows.iter().filter(|row| row.link == link);
                let point = |row: &Row| {
                    let value = row.values.get(at).copied().unwrap_or_default();
                    (row.across as f64, value.median, value.half_width())
                };
                let points: Vec<(f64, f64, f64)> = points.map(point).collect();
                if !points.is_empty() {
                    lines.push((format!("{column}, {}", link.name()), points));
                }
            }
        }
        draw(&self.heading(), self.across, self.unit, &lines)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Figure {}", self.heading())?;
        write!(f, "  {:28}", self.across)?;
        let names = self.columns.iter().copied().chain(self.ratio_name());
        names.into_iter().try_for_each(|name| write!(f, " {name:>30}"))?;
        writeln!(f)?;
        for row in &self.rows {
            write!(f, "  {:28}", format!("{}, {}", row.across, row.link.name()))?;
            let mut values = row.values.iter().chain(&row.to_plain);
            values.try_for_each(|value| write!(f, " {:>30}", told(value)))?;
            writeln!(f)?;
        }
        writeln!(f)
    }
}

impl fmt::Display for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tables().iter().try_for_each(|table| write!(f, "{table}"))?;
        self.write_costs(f)?;
        writeln!(f, "{COMPARED}")?;
        self.compared().iter().try_for_each(|compared| write!(f, "{compared}"))?;
        writeln!(f, "\n{}", self.machine_in_words())?;
        self.findings().iter().try_for_each(|sentence| writeln!(f, "{sentence}"))?;
        writeln!(f, "\nWhat is not measured")?;
        UNSAID.iter().try_for_each(|sentence| writeln!(f, "- {sentence}"))
    }
}
