//! Checks of what no compiler checks. None writes.

mod book;
mod conflicts;
mod directions;
mod functions;
mod jargon;
mod lengths;
mod links;
mod packages;
mod purity;
mod tables;

use crate::docs;
use crate::tree::{self, File};
use std::path::Path;

/// Runs every check and prints what each found.
///
/// # Errors
/// How many faults there are, or what could not be read.
pub(crate) fn all(root: &Path) -> Result<(), String> {
    let files = tree::files(root)?;
    let checks: [(&str, Vec<String>); 12] = [
        ("generated documentation is current", stale_pages(root, &files)?),
        ("functions that documents name exist", functions::faults(&files)),
        ("no merge was left half done", conflicts::faults(&files)),
        ("tables have a heading, and no row twice", tables::faults(&files)),
        ("files stay short", lengths::faults(&files)),
        ("links in documents lead somewhere", links::faults(root, &files)),
        ("the book has every document", book::faults(root, &files)),
        ("packages have what they need", packages::faults(root, &files)),
        ("protocols touch nothing but frames and time", purity::impure(&files)),
        ("unsafe code stands only where it may", purity::unsafe_code(&files)),
        ("dependencies point downward only", directions::faults(&files)),
        ("words that were replaced stay away", jargon::faults(&files)),
    ];
    let mut count = 0;
    for (what, faults) in checks {
        println!("{} {what}", if faults.is_empty() { "ok   " } else { "FAULT" });
        faults.iter().for_each(|fault| println!("      {fault}"));
        count += faults.len();
    }
    if count > 0 { Err(format!("{count} faults")) } else { Ok(()) }
}

/// # Errors
/// The pages cannot be made.
fn stale_pages(root: &Path, files: &[File]) -> Result<Vec<String>, String> {
    let is_stored =
        |page: &docs::Page| files.iter().any(|file| file.path == page.path && file.text == page.text);
    let stale = docs::pages(root)?.into_iter().filter(|page| !is_stored(page));
    Ok(stale.map(|page| format!("{} is stale: run `cargo xtask docs`", page.path)).collect())
}
