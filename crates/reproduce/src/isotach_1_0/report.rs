//! All as text, page and objects.

use super::figure::{Figure, Line};
use super::parameters::PARAMETERS;
use super::study::Simulated;
use crate::linda_lan::{Drawing, DrawnLine};
use crate::page;
use crate::parameter::{Parameter, table};
use core::fmt;
use serde_json::{Value, json};
use std::fmt::Write;

const BEYOND: &str = "Beyond the study: hosts and links of today, 64 bytes of data";
const UNSAID: &str = "What cannot be said";

impl Simulated {
    /// One object a cell, a parameter and a line of a figure, and one that sums them up.
    #[must_use]
    pub fn objects(&self) -> Vec<Value> {
        let parameters = PARAMETERS.iter().map(Parameter::object);
        let mut objects = self.report.objects();
        let sum = objects.pop();
        objects.extend(parameters);
        objects.extend(self.figures.iter().flat_map(Figure::objects));
        objects.extend(sum.map(|mut sum| {
            sum["findings"] = json!(self.findings);
            sum["unsaid"] = json!(self.unsaid);
            sum
        }));
        objects
    }

    /// The whole page; `draw` makes lines an SVG element.
    #[must_use]
    pub fn html(&self, draw: Drawing<'_>) -> String {
        let mut all = page::head("Isochrons on the machines of Isotach 1.0");
        all.push_str("<h1>isotach-1.0: isochrons on its machines, and far beyond them</h1>\n");
        list(&mut all, &self.findings);
        let (beyond, study): (Vec<_>, Vec<_>) = self.figures.iter().partition(|figure| figure.is_beyond);
        study.into_iter().for_each(|figure| all.push_str(&drawn(figure, draw)));
        let _ = writeln!(all, "<h2>{BEYOND}</h2>");
        beyond.into_iter().for_each(|figure| all.push_str(&drawn(figure, draw)));
        let _ = writeln!(all, "<h2>{UNSAID}</h2>");
        list(&mut all, &self.unsaid);
        all.push_str("<h2>Parameters</h2>\n");
        all.push_str(&table(&PARAMETERS));
        let _ = writeln!(all, "<pre>{}</pre>", page::escape(&self.report.to_string()));
        all + page::END
    }
}

fn list(all: &mut String, sentences: &[String]) {
    all.push_str("<ul>\n");
    for sentence in sentences {
        let _ = writeln!(all, "<li>{}</li>", page::escape(sentence));
    }
    all.push_str("</ul>\n");
}

fn drawn(figure: &Figure, draw: Drawing<'_>) -> String {
    let line = |line: &Line| -> DrawnLine {
        let points = line.points.iter().map(|(across, up)| (*across, *up, 0.0)).collect();
        (line.name.clone(), points)
    };
    let lines: Vec<DrawnLine> = figure.lines.iter().map(line).collect();
    let title = format!("{}: {}", figure.number, figure.title);
    draw(&title, figure.across, figure.up, &lines)
}

impl fmt::Display for Simulated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.report)?;
        for parameter in &PARAMETERS {
            let value = format!("{} {}", parameter.value, parameter.unit);
            writeln!(f, "  {:42} {value:>24}  {:9} {}", parameter.name, parameter.origin, parameter.because)?;
        }
        writeln!(f)?;
        self.figures
            .iter()
            .filter(|figure| !figure.is_beyond)
            .try_for_each(|figure| write!(f, "{figure}"))?;
        writeln!(f, "\n{BEYOND}")?;
        self.figures.iter().filter(|figure| figure.is_beyond).try_for_each(|figure| write!(f, "{figure}"))?;
        writeln!(f)?;
        self.findings.iter().try_for_each(|sentence| writeln!(f, "{sentence}"))?;
        writeln!(f, "\n{UNSAID}")?;
        self.unsaid.iter().try_for_each(|sentence| writeln!(f, "- {sentence}"))
    }
}
