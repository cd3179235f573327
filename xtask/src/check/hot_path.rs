//! The table "The hot path" in ARCHITECTURE.md names functions as `file:function`.

use crate::rust_source::code_only;
use crate::tree::File;

const DOCUMENT: &str = "ARCHITECTURE.md";
const HEADING: &str = "## The hot path";

/// Rows that name a file or a function that does not exist, or no row at all.
pub(super) fn faults(files: &[File]) -> Vec<String> {
    let Some(document) = files.iter().find(|file| file.path == DOCUMENT) else {
        return vec![format!("{DOCUMENT} does not exist")];
    };
    let hops = hops(&document.text);
    if hops.is_empty() {
        return vec![format!("{DOCUMENT} has no `file:function` below \"{HEADING}\"")];
    }
    hops.into_iter().filter_map(|(path, function)| fault(files, path, function)).collect()
}

/// Every `file:function` of the section, from the code spans of its tables.
fn hops(text: &str) -> Vec<(&str, &str)> {
    let section = text.lines().skip_while(|line| !line.starts_with(HEADING)).skip(1);
    let rows = section.take_while(|line| !line.starts_with("## ")).filter(|line| line.starts_with('|'));
    let spans = rows.flat_map(|row| row.split('`').skip(1).step_by(2));
    spans
        .filter_map(|span| {
            span.split_once(".rs:").map(|(stem, function)| (&span[..stem.len() + 3], function))
        })
        .collect()
}

fn fault(files: &[File], path: &str, function: &str) -> Option<String> {
    let Some(file) = files.iter().find(|file| file.path == path) else {
        return Some(format!("{path}:{function}: there is no such file"));
    };
    let code = code_only(&file.text);
    let head = format!("fn {function}");
    let defined = code.match_indices(&head).any(|(at, _)| code[at + head.len()..].starts_with(['(', '<']));
    (!defined).then(|| format!("{path}:{function}: there is no such function in the file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(function: &str) -> Vec<File> {
        let text = format!(
            "# A\n\n## The hot path\n\n| step | where |\n| --- | --- |\n| one | `a/b.rs:{function}` |\n\n## B\n| `x.rs:y` |\n"
        );
        let code = "impl A {\n    pub fn go<T>(self) {}\n    // fn gone(\n}\n".to_owned();
        vec![File { path: DOCUMENT.into(), text }, File { path: "a/b.rs".into(), text: code }]
    }

    #[test]
    fn a_function_that_is_gone_is_a_fault() {
        assert_eq!(faults(&tree("go")), [""; 0]);
        assert_eq!(faults(&tree("gone")).len(), 1);
        assert_eq!(faults(&tree("g")).len(), 1);
        assert_eq!(faults(&tree("go")[..1]), ["a/b.rs:go: there is no such file"]);
    }

    #[test]
    fn a_section_without_rows_is_a_fault() {
        let empty = File { path: DOCUMENT.into(), text: "## The hot path\n\nNothing.\n".into() };
        assert_eq!(faults(&[empty]).len(), 1);
    }
}
