//! The tables of keys as documentation.

use crate::keys::{CLUSTER, JOB};
use std::fmt::Write;

const HEAD: &str = include_str!("markdown/head.md");

/// The reference of the two files, in Markdown.
#[must_use]
pub fn markdown() -> String {
    let mut page = HEAD.to_owned();
    for (heading, tables) in [("Machines", &CLUSTER[..]), ("The job", &JOB[..])] {
        let _ = write!(page, "\n## {heading}\n");
        tables.iter().for_each(|table| table.write_markdown(&mut page));
    }
    page
}
