//! The book has every document that is for its readers, and no link that leads out of it.

use crate::book::{Book, SUMMARY};
use crate::markdown::links;
use crate::tree::File;
use std::path::Path;

/// Documents outside of docs/ that belong into the book.
const OTHERS: [&str; 5] = ["README.md", "ARCHITECTURE.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md"];

/// Documents that the summary does not list, and what keeps the book from being made.
pub(super) fn faults(root: &Path, files: &[File]) -> Vec<String> {
    let mut faults = missing(files);
    faults.extend(Book::of(root, files).err().into_iter().flatten());
    faults
}

fn missing(files: &[File]) -> Vec<String> {
    let Some(summary) = files.iter().find(|file| file.path == SUMMARY) else { return Vec::new() };
    let listed: Vec<String> =
        links(&summary.text).iter().map(|link| summary.beside(link.parts().0)).collect();
    let documents = files.iter().filter(|file| is_for_the_book(&file.path) && !listed.contains(&file.path));
    documents.map(|file| format!("{} is not in {SUMMARY}", file.path)).collect()
}

fn is_for_the_book(path: &str) -> bool {
    OTHERS.contains(&path) || path.starts_with("docs/") && path.ends_with(".md") && path != SUMMARY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_that_is_not_listed_is_a_fault() {
        let file = |path: &str, text: &str| File { path: path.into(), text: text.into() };
        let files = [
            file(SUMMARY, "- [One](one.md)\n"),
            file("docs/one.md", ""),
            file("docs/design/two.md", ""),
            file("SECURITY.md", ""),
            file("examples/c/README.md", ""),
        ];
        assert_eq!(
            missing(&files),
            ["docs/design/two.md is not in docs/SUMMARY.md", "SECURITY.md is not in docs/SUMMARY.md"]
        );
    }
}
