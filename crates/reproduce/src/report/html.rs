//! A report for a browser: one page without anything else.

use super::{PARAMETER_COLUMNS, Report, difference, digits, naive, ours, parameter, reason, verdict};
use crate::cell::Cell;
use crate::page::escape;
use std::fmt::Write;

const HEAD: &str = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Reproduction</title><style>\
    body{font-family:sans-serif;margin:2em}table{border-collapse:collapse}td,th{padding:.2em .6em;border-bottom:1px solid #ddd;\
    text-align:left}td.n{text-align:right;font-variant-numeric:tabular-nums}tr.missed td.v{background:#f6c7c0}\
    tr.within td.v{background:#cfe8cf}tr.set-aside{color:#777}</style></head><body>\n";

impl Report {
    /// The whole page.
    #[must_use]
    pub fn html(&self) -> String {
        let mut page = String::from(HEAD);
        let _ = writeln!(page, "<h1>{}</h1>", escape(self.study));
        for line in self.counts() {
            let _ = writeln!(page, "<p>{line}</p>");
        }
        let (aside, measured) = self.set_aside();
        let _ = writeln!(
            page,
            "<p>set aside: {aside} cells, {measured} of them measured and not simulated, which count nowhere</p>"
        );
        let _ = writeln!(page, "<p>Means of {} seeds, digest {:016x}.</p>\n<table>", self.seeds, self.digest);
        page.push_str("<tr><th>table<th>row<th>column<th>published<th>ours<th>difference<th>naive<th>role<th>verdict<th>reason</tr>\n");
        for cell in &self.cells {
            page.push_str(&row(cell));
        }
        page.push_str("</table>\n");
        self.html_parameters(&mut page);
        for line in self.starts() {
            let _ = writeln!(page, "<p>{line}</p>");
        }
        page.push_str("</body></html>\n");
        page
    }

    fn html_parameters(&self, page: &mut String) {
        if self.parameters.is_empty() {
            return;
        }
        let _ = writeln!(page, "<table>\n<tr><th>{}<th>from</tr>", PARAMETER_COLUMNS.join("<th>"));
        for found in &self.parameters {
            let values = parameter(found).map(|value| escape(&value)).join("<td>");
            let _ = writeln!(page, "<tr><td>{values}<td>{}</tr>", escape(found.source));
        }
        page.push_str("</table>\n");
    }
}

fn row(cell: &Cell) -> String {
    let verdict = verdict(cell);
    format!(
        "<tr class=\"{}\"><td>{}<td>{}<td>{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}<td>{}<td class=\"v\">{verdict}<td>{}</tr>\n",
        verdict.replace(' ', "-"),
        cell.table,
        escape(&cell.row),
        cell.column.name(),
        digits(cell.published, cell.published),
        ours(cell),
        difference(cell),
        naive(cell),
        cell.role.name(),
        escape(reason(cell)),
    )
}
