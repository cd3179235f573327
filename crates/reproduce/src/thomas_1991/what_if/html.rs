//! The answers for a browser: one page without anything else. Who draws the figures is the caller's.

use super::compare::{Group, groups};
use super::figure::{Figure, figures};
use super::{Question, Row, WhatIf};
use crate::page;
use std::fmt::Write;

impl WhatIf {
    /// The whole page; `draw` makes a figure an SVG element.
    #[must_use]
    pub fn html(&self, draw: &dyn Fn(&Figure) -> String) -> String {
        let mut page = page::head("What if");
        page.push_str("<h1>thomas-1991: what if</h1>\n");
        let _ = writeln!(
            page,
            "<p>Means of {} seeds with 95% intervals, digest {:016x}.</p>",
            self.seeds, self.digest
        );
        let _ = writeln!(page, "<p>{}</p>", super::text::LEGEND.replace('\n', "<br>"));
        for question in Question::ALL {
            let rows: Vec<&Row> = self.rows.iter().filter(|row| row.question == question).collect();
            if !rows.is_empty() {
                self.write_section(&mut page, question, &rows, draw);
            }
        }
        page.push_str(page::END);
        page
    }

    fn write_section(
        &self,
        page: &mut String,
        question: Question,
        rows: &[&Row],
        draw: &dyn Fn(&Figure) -> String,
    ) {
        let _ = writeln!(page, "<h2 id=\"{}\">{}</h2>\n<ul>", question.name(), question.text());
        for finding in self.told(question) {
            let _ = writeln!(page, "<li>{}: {}</li>", finding.case, finding.sentence());
        }
        page.push_str("</ul>\n");
        for group in groups(rows.iter().copied()) {
            figures(&group).iter().for_each(|figure| page.push_str(&draw(figure)));
            page.push_str(&table(&group));
        }
    }
}

fn table(group: &Group<'_>) -> String {
    let first = group.rows.first();
    let (unit, each) = first.map_or(("", ""), |row| (row.unit(), row.experiment.case.application.each()));
    let mut table = format!(
        "<table><caption>{}{}</caption><tr><th>model<th>clients<th>heads<th>processors<th>{unit}<th>{each}<th>bound by</tr>\n",
        group.case,
        group.factor.suffix(),
    );
    for row in &group.rows {
        let setting = row.experiment.setting;
        let _ = writeln!(
            table,
            "<tr><td>{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}<td>{}{}</tr>",
            row.experiment.model(),
            setting.clients,
            setting.heads,
            setting.server_processors,
            row.words(row.throughput),
            row.words(row.seconds),
            row.limit(),
            row.notes(),
        );
    }
    table + "</table>\n"
}
