//! The repository's own chores.
//!
//! ```text
//! cargo xtask docs     write docs/settings.md, docs/errors.md, docs/models.md and docs/cluster.md from their tables, and of the C
//!                      library the header, the version script and the manual pages from its source; and the version wherever it stands
//! cargo xtask corpus   write the seeds of fuzz/corpus
//! cargo xtask check    check what no compiler checks; writes nothing
//! cargo xtask book     lay the book out below target/book, for mdBook (`make book`)
//! ```
#![forbid(unsafe_code)]

mod book;
mod c_library;
mod check;
mod docs;
mod markdown;
mod rust_source;
mod tree;
mod version;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let root = root();
    match std::env::args().nth(1).as_deref() {
        Some("docs") => docs::pages(&root).and_then(|pages| {
            pages.iter().try_for_each(|page| write(&root.join(&page.path), page.text.as_bytes()))
        }),
        Some("corpus") => quintet_corpus::seeds().iter().try_for_each(|seed| {
            write(&root.join("fuzz/corpus").join(seed.target).join(seed.name), &seed.bytes)
        }),
        Some("check") => check::all(&root),
        Some("book") => lay_out_book(&root),
        _ => Err("usage: cargo xtask docs | corpus | check | book".to_owned()),
    }
    .map_or_else(
        |error| {
            eprintln!("{error}");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    )
}

/// The repository's root: the folder above this crate's.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("this crate lies in a folder of the repository").to_owned()
}

fn lay_out_book(root: &Path) -> Result<(), String> {
    let files = tree::files(root)?;
    let book = book::Book::of(root, &files).map_err(|faults| faults.join("\n"))?;
    book.lay_out(root, &root.join("target/book"))
}

/// Writes a file whose content changed.
fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let explain = |error| format!("{}: {error}", path.display());
    if fs::read(path).is_ok_and(|stored| stored == bytes) {
        return Ok(());
    }
    fs::create_dir_all(path.parent().expect("a file lies in a folder")).map_err(explain)?;
    fs::write(path, bytes).map_err(explain)?;
    println!("wrote {}", path.display());
    Ok(())
}
