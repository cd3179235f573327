//! The tables of keys as documentation.

use crate::keys::{CLUSTER, JOB};
use quintet_model::keys::{Preset, Table};
use std::fmt::Write;

const HEAD: &str = include_str!("markdown/head.md");

/// The reference of the two files, in Markdown.
#[must_use]
pub fn markdown() -> String {
    let mut page = HEAD.to_owned();
    for (heading, tables) in [("Machines", &CLUSTER[..]), ("The job", &JOB[..])] {
        let _ = write!(page, "\n## {heading}\n");
        tables.iter().for_each(|table| write_table(&mut page, table));
    }
    page
}

fn write_table(page: &mut String, table: &Table) {
    let _ = write!(page, "\n### `{}`\n\n{}\n\n", table.heading, table.text);
    page.push_str("| key | takes | default | |\n| --- | --- | --- | --- |\n");
    for key in table.keys {
        let default = match key.default {
            Preset::Required => "required".to_owned(),
            Preset::Value(value) => format!("`{value}`"),
            Preset::Otherwise(words) => words.to_owned(),
        };
        let _ = writeln!(page, "| `{}` | {} | {default} | {} |", key.name, key.takes.text(), key.text);
    }
}
