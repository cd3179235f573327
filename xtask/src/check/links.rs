//! Links between documents.

use crate::markdown::{anchors, links};
use crate::tree::File;
use std::path::Path;

/// Relative links in Markdown that lead to no file, or to no heading of one.
pub(super) fn faults(root: &Path, files: &[File]) -> Vec<String> {
    let documents = files.iter().filter(|file| file.has_extension(&["md"]));
    documents.flat_map(|document| broken(root, document, files)).collect()
}

fn broken(root: &Path, document: &File, files: &[File]) -> Vec<String> {
    let mut faults = Vec::new();
    for link in links(&document.text) {
        let (path, anchor) = link.parts();
        let place = document.beside(path);
        let at = format!("{}:{}: {}", document.path, link.line, link.target);
        let other = files.iter().find(|file| file.path == place);
        if other.is_none() && !root.join(&place).exists() {
            faults.push(format!("{at} leads to nothing"));
        } else if let (Some(anchor), Some(other)) = (anchor, other)
            && other.has_extension(&["md"])
            && !anchors(&other.text).contains(anchor)
        {
            faults.push(format!("{at}: {place} has no such heading"));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_to_a_missing_file_or_heading_is_a_fault() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let one = "[good](../Cargo.toml)\n[bad](../src/none.rs)\n[here](#one)\n[not](#two)\n# One\n";
        let two = "[there](docs/A.md#one)\n[nor](docs/A.md#two)\n";
        let file = |path: &str, text: &str| File { path: path.into(), text: text.into() };
        assert_eq!(
            faults(root, &[file("docs/A.md", one), file("B.md", two)]),
            [
                "docs/A.md:2: ../src/none.rs leads to nothing",
                "docs/A.md:4: #two: docs/A.md has no such heading",
                "B.md:2: docs/A.md#two: docs/A.md has no such heading"
            ]
        );
    }
}
