//! No document has a program in Rust that is not run.

use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn every_document_with_a_program_in_rust_is_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let run = fs::read_to_string(root.join("tests/documents/src/lib.rs")).expect("the crate's own source");
    let mut with_programs = Vec::new();
    for document in documents(&root) {
        let text = fs::read_to_string(&document).expect("a document is text");
        if text.lines().any(|line| line.starts_with("```rust")) {
            let path = document.strip_prefix(&root).expect("it was found below the root");
            with_programs.push(path.display().to_string());
        }
    }
    let left_out: Vec<&String> =
        with_programs.iter().filter(|path| !run.contains(&format!("../../../{path}\""))).collect();
    assert!(left_out.is_empty(), "not run by tests/documents: {left_out:?}");
    assert!(with_programs.len() >= 2, "programs were looked for in the wrong place: {with_programs:?}");
}

/// README.md, SECURITY.md and what lies in docs/. ARCHITECTURE.md has the contract, shortened.
fn documents(root: &Path) -> Vec<PathBuf> {
    let mut found = vec![root.join("README.md"), root.join("SECURITY.md")];
    let entries = fs::read_dir(root.join("docs")).expect("there is a folder docs");
    let paths = entries.map(|entry| entry.expect("it can be listed").path());
    found.extend(paths.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    found
}
