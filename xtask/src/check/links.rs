//! Links between documents.

use crate::tree::File;
use std::path::Path;

/// Relative links in Markdown that lead to nothing.
pub(super) fn faults(root: &Path, files: &[File]) -> Vec<String> {
    let documents = files.iter().filter(|file| file.has_extension(&["md"]));
    documents.flat_map(|document| broken(root, document)).collect()
}

fn broken(root: &Path, document: &File) -> Vec<String> {
    let folder = root.join(&document.path).parent().unwrap_or(root).to_owned();
    let mut faults = Vec::new();
    let mut in_block = false;
    for (number, line) in document.text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        }
        if in_block {
            continue;
        }
        for target in targets(line) {
            let path = target.split('#').next().unwrap_or("");
            if !path.is_empty() && !folder.join(path).exists() {
                faults.push(format!("{}:{}: {target} leads to nothing", document.path, number + 1));
            }
        }
    }
    faults
}

/// The targets of a line's inline links that are not addresses on the network. Code spans have none.
fn targets(line: &str) -> Vec<&str> {
    let prose = line.split('`').step_by(2);
    let links = prose.flat_map(|text| text.split("](").skip(1)).filter_map(|text| text.split_once(')'));
    let targets = links.map(|(target, _)| target.split_whitespace().next().unwrap_or(""));
    targets.filter(|target| !target.contains("://") && !target.starts_with("mailto:")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_relative_links_count() {
        assert_eq!(
            targets("[a](b.md#c), [d](https://e/f) and `[g](h)` [i](j/k.rs \"title\")"),
            ["b.md#c", "j/k.rs"]
        );
    }

    #[test]
    fn a_link_to_a_missing_file_is_a_fault() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let text = "[good](src/main.rs)\n[bad](src/none.rs)\n```\n[x](y)\n```\n[here](#a)\n".to_owned();
        let faults = faults(root, &[File { path: "A.md".into(), text }]);
        assert_eq!(faults, ["A.md:2: src/none.rs leads to nothing"]);
    }
}
