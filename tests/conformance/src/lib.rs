//! What a tuple space does, in one text that every front end plays on every placement.
//!
//! The text lies in `behaviours/`: it is the specification, and is read here alone. A **driver** is a small program for one front end that
//! does one step a line; the **player** asks drivers, and compares. How the text is written, and how a driver for another language is,
//! stands in `docs/conformance.md`. This crate does not test protocols against schedules and faults: `explore` does.
//!
//! | file | holds |
//! | --- | --- |
//! | `behaviour.rs`, `verbs.rs` | behaviours, steps, operations, outcomes, as the text has them: read this first |
//! | `field.rs`, `lexer.rs` | fields as the text writes them, and as they travel |
//! | `protocol.rs` | what the player and a driver say to each other |
//! | `player.rs` | plays a behaviour |
//! | `driver.rs` | a driver's process |
//! | `placement.rs`, `replicas.rs`, `cluster.rs` | where the space is |
//! | `table.rs` | front ends by placements, as the command prints it |
//! | `rust_fields.rs`, `rust_answers.rs`, `bin/conformance-rust.rs` | the driver of the Rust front end |
//! | `clinda.rs` | the driver of the C-Linda front end, written from the text |
//! | `bin/conformance.rs` | the command: plays what it is told |
//!
//! The drivers of the other front ends are in `drivers/`.
#![forbid(unsafe_code)]

pub mod behaviour;
pub mod clinda;
pub mod cluster;
pub mod driver;
pub mod field;
pub mod lexer;
pub mod placement;
pub mod player;
pub mod protocol;
pub mod replicas;
pub mod rust_answers;
pub mod rust_fields;
pub mod table;
mod verbs;

use behaviour::Behaviour;
use std::path::Path;

/// All behaviours of the text, in the order of its files.
///
/// # Errors
/// What is wrong with it, and where.
pub fn behaviours() -> Result<Vec<Behaviour>, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("behaviours");
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths = entries
        .map(|entry| entry.map(|entry| entry.path()).map_err(|error| error.to_string()))
        .collect::<Result<Vec<_>, _>>()?;
    paths.sort();
    let mut behaviours = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        behaviours.extend(behaviour::parse(&name, &text)?);
    }
    Ok(behaviours)
}
