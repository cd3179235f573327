//! The table of keys as documentation.

use crate::dimension::{Dimension, UNITS};
use crate::keys::{ACTIONS, DEVICES, ELEMENTS, NETWORK, NETWORK_LINK, NETWORK_SWITCH, Preset, Table, VALUES};
use std::fmt::Write;

const HEAD: &str = include_str!("markdown/head.md");

/// The reference of model files, in Markdown.
#[must_use]
pub fn markdown() -> String {
    let mut page = HEAD.to_owned();
    let _ = write!(page, "\n## Units\n\n| measures | units |\n| --- | --- |\n");
    for dimension in [
        Dimension::TIME,
        Dimension::DATA,
        Dimension::DATA_RATE,
        Dimension::FREQUENCY,
        Dimension::CYCLES,
        Dimension::LENGTH,
        Dimension::SPEED,
    ] {
        let units = UNITS.iter().filter(|unit| unit.dimension == dimension);
        let names: Vec<_> = units.map(|unit| format!("`{}`", unit.name)).collect();
        let _ = writeln!(page, "| {dimension} | {} |", names.join(" "));
    }
    page.push_str("\n## Keys\n");
    ELEMENTS.iter().for_each(|table| table.write_markdown(&mut page));
    ACTIONS.iter().for_each(|(_, table)| table.write_markdown(&mut page));
    VALUES.iter().for_each(|table| table.write_markdown(&mut page));
    page.push_str("\n## Networks\n");
    [&NETWORK, &NETWORK_SWITCH, &NETWORK_LINK].iter().for_each(|table| table.write_markdown(&mut page));
    page.push_str("\n## Devices\n");
    DEVICES.iter().for_each(|(_, table)| table.write_markdown(&mut page));
    page
}

impl Table {
    /// Appends its keys to a page of Markdown.
    pub fn write_markdown(&self, page: &mut String) {
        let _ = write!(page, "\n### `{}`\n\n{}\n\n", self.heading, self.text);
        page.push_str("| key | takes | default | |\n| --- | --- | --- | --- |\n");
        for key in self.keys {
            let default = match key.default {
                Preset::Required => "required".to_owned(),
                Preset::Value(value) => format!("`{value}`"),
                Preset::Otherwise(words) => words.to_owned(),
            };
            let _ = writeln!(page, "| `{}` | {} | {default} | {} |", key.name, key.takes.text(), key.text);
        }
    }
}
