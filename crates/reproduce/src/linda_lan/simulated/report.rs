//! All experiments as text, page and objects.

use super::parameters::PARAMETERS;
use super::study::{CONNECTIONS_US, KernelRow, Simulated, SimulatedFigure, Sweep};
use crate::linda_lan::explanation::machines_in_words as place;
use crate::linda_lan::{Drawing, DrawnLine, Published};
use crate::page;
use crate::parameter::{Parameter, table};
use core::fmt;
use serde_json::{Value, json};
use std::fmt::Write;

impl Sweep {
    fn sentence(&self) -> String {
        let place = place(self.machines);
        match self.fastest() {
            Some((workers, true)) => format!("On {place} dimension 10 is fastest with {workers} workers."),
            Some((workers, false)) => {
                format!(
                    "On {place} dimension 10 is fastest with {workers} workers, the most that were simulated."
                )
            }
            None => format!("On {place} nothing was simulated."),
        }
    }
}

impl Simulated {
    /// What was found beside the cells, as sentences.
    #[must_use]
    pub fn findings(&self) -> Vec<String> {
        let crossing = |(machines, cost)| {
            let place = place(machines);
            let start = format!("On {place}, if a connection costs {cost} us,");
            match self.crossing(machines, cost) {
                Some(processes) => format!("{start} L-Kernels are faster from {processes} processes on."),
                None => format!(
                    "{start} direct connections are faster with every number of processes that was simulated, 1 to 64."
                ),
            }
        };
        let pairs = [1, 2].into_iter().flat_map(|machines| CONNECTIONS_US.map(|cost| (machines, cost)));
        self.sweeps.iter().map(Sweep::sentence).chain(pairs.map(crossing)).collect()
    }

    /// One object a cell and one that sums them up, as of every study; then one each parameter, figure, sweep and row of L-Kernels, and one with the findings.
    #[must_use]
    pub fn objects(&self) -> Vec<Value> {
        let parameters = PARAMETERS.iter().map(Parameter::object);
        let figures = self.figures.iter().map(SimulatedFigure::object);
        let sweeps = self.sweeps.iter().map(|sweep| {
            let points = sweep.points.iter().map(|(workers, seconds)| json!([workers, seconds]));
            json!({"sweep": "workers", "machines": sweep.machines, "points": points.collect::<Vec<Value>>()})
        });
        let kernels = self.kernels.iter().map(|row| {
            json!({
                "machines": row.machines, "connection_us": row.connection_us, "processes": row.processes, "kernels_s": row.kernels, "direct_s": row.direct,
            })
        });
        let mut objects = self.report.objects();
        let sum = objects.pop();
        objects.extend(parameters.chain(figures).chain(sweeps).chain(kernels));
        objects.extend(sum.map(|mut sum| {
            sum["findings"] = json!(self.findings());
            sum
        }));
        objects
    }

    /// The whole page; `draw` makes lines an SVG element.
    #[must_use]
    pub fn html(&self, draw: Drawing<'_>) -> String {
        let mut all = page::head("One packet against two, simulated");
        all.push_str("<h1>linda-lan: one packet against two, simulated</h1>\n");
        let report = self.report.to_string();
        let _ = writeln!(all, "<pre>{}</pre>\n<ul>", page::escape(&report));
        for sentence in self.findings() {
            let _ = writeln!(all, "<li>{}</li>", page::escape(&sentence));
        }
        all.push_str("</ul>\n");
        all.push_str(&table(&PARAMETERS));
        self.figures.iter().for_each(|figure| all.push_str(&figure.html(draw)));
        let lines: Vec<_> = self.sweeps.iter().map(line_of_sweep).collect();
        all.push_str(&draw("jmatrix, dimension 10, one packet", "workers", "seconds", &lines));
        for machines in [1, 2] {
            let lines: Vec<_> =
                CONNECTIONS_US.into_iter().flat_map(|cost| self.lines(machines, cost)).collect();
            let title = format!("jmatrix, dimension 20, {}", place(machines));
            all.push_str(&draw(&title, "processes that multiply", "seconds", &lines));
        }
        all + page::END
    }
}

impl SimulatedFigure {
    fn object(&self) -> Value {
        let [two, one] = self.curves.each_ref().map(|(_, points)| json!(points));
        let Published { figure, program, machines, across, decrease_percent } = self.published;
        json!({
            "figure": figure, "program": program, "machines": machines, "across": across.name(), "published_percent": decrease_percent,
            "percent": self.decrease_percent, "one": one, "two": two,
        })
    }

    fn html(&self, draw: Drawing<'_>) -> String {
        let published = &self.published;
        let mut part = format!(
            "<h2>{}</h2>\n<p>one packet takes {:.1}% less; printed: {:.0}% less</p>\n",
            published.title(),
            self.decrease_percent,
            published.decrease_percent
        );
        part.extend(published.note().map(|note| format!("<p>{note}</p>\n")));
        let lines = self.curves.each_ref().map(|(packets, points)| {
            let points = points.iter().map(|(at, seconds)| (*at, *seconds, 0.0));
            (packets.name().to_owned(), points.collect())
        });
        part + &draw(&published.title(), published.across.name(), "seconds", &lines) + "\n"
    }
}

impl Simulated {
    fn lines(&self, machines: u8, connection_us: u32) -> [DrawnLine; 2] {
        let line = |name: &str, of: fn(&KernelRow) -> f64| {
            let rows = self
                .kernels
                .iter()
                .filter(|row| (row.machines, row.connection_us) == (machines, connection_us));
            let points = rows.map(|row| (f64::from(row.processes), of(row), 0.0)).collect();
            (format!("{name}, {connection_us} us a connection"), points)
        };
        [line("L-Kernels", |row| row.kernels), line("direct", |row| row.direct)]
    }
}

fn line_of_sweep(sweep: &Sweep) -> DrawnLine {
    let points = sweep.points.iter().map(|(workers, seconds)| (f64::from(*workers), *seconds, 0.0));
    (place(sweep.machines).to_owned(), points.collect())
}

impl fmt::Display for Simulated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.report)?;
        for parameter in &PARAMETERS {
            let value = format!("{:.4} {}", parameter.value, parameter.unit);
            writeln!(f, "  {:28} {value:>18}  {:9} {}", parameter.name, parameter.origin, parameter.because)?;
        }
        writeln!(f, "\n  machines workers    seconds")?;
        for sweep in &self.sweeps {
            for (workers, seconds) in &sweep.points {
                writeln!(f, "  {:>8} {workers:>7} {seconds:>10.3}", sweep.machines)?;
            }
        }
        writeln!(f, "\n  machines connection [us] processes  kernels [s]   direct [s]")?;
        for row in &self.kernels {
            let KernelRow { machines, connection_us, processes, kernels, direct } = row;
            writeln!(f, "  {machines:>8} {connection_us:>15} {processes:>9} {kernels:>12.3} {direct:>12.3}")?;
        }
        writeln!(f)?;
        self.findings().iter().try_for_each(|sentence| writeln!(f, "{sentence}"))
    }
}
