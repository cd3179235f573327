//! A report for a browser: one page without anything else.

use super::{Report, difference, digits, ours, verdict};
use crate::cell::{Cell, Role};
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
        for role in [Role::Fitted, Role::Predicted] {
            let count = self.count(role);
            let _ = writeln!(
                page,
                "<p>{}: {} of {} cells within ({:.0}%)</p>",
                role.name(),
                count.within,
                count.of,
                count.percent()
            );
        }
        let _ = writeln!(page, "<p>Means of {} seeds, digest {:016x}.</p>\n<table>", self.seeds, self.digest);
        page.push_str("<tr><th>table<th>row<th>column<th>published<th>ours<th>difference<th>role<th>verdict<th>reason</tr>\n");
        for cell in &self.cells {
            page.push_str(&row(cell));
        }
        page.push_str("</table></body></html>\n");
        page
    }
}

fn row(cell: &Cell) -> String {
    let verdict = verdict(cell);
    format!(
        "<tr class=\"{}\"><td>{}<td>{}<td>{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}<td>{}<td class=\"v\">{verdict}<td>{}</tr>\n",
        verdict.replace(' ', "-"),
        cell.table,
        escape(&cell.row),
        cell.column.name(),
        digits(cell.published, cell.published),
        ours(cell),
        difference(cell),
        cell.role.name(),
        escape(cell.reason.unwrap_or_default()),
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
