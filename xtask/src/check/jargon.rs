//! Private words that were replaced by the field's terms (docs/glossary.md): they do not come back.

use crate::rust_source::{code_only, has_word};
use crate::tree::File;

/// A word that no name consists of any more, and what to say instead. Whoever renames the last use of one adds it here.
const REPLACED: [(&str, &str); 5] = [
    ("Mind", "Workload: what a client of the explorer is at"),
    ("PEACE", "REST_LIMIT: after so long an explored run is at rest"),
    ("Knock", "Connecting: a socket that is being connected"),
    ("toil", "keep_busy, or the name of the work"),
    ("make_peace", "end_work: from then on the clients of an explored run only wait"),
];

/// Where they stand in code.
pub(super) fn faults(files: &[File]) -> Vec<String> {
    let sources = files.iter().filter(|file| file.has_extension(&["rs"]));
    sources.flat_map(|file| in_file(file, &REPLACED)).collect()
}

fn in_file(file: &File, replaced: &[(&str, &str)]) -> Vec<String> {
    let code = code_only(&file.text);
    let lines = code.lines().enumerate();
    let found = lines.flat_map(|(at, line)| {
        replaced.iter().filter(move |(word, _)| has_word(line, word)).map(move |row| (at + 1, row))
    });
    found
        .map(|(line, (word, instead))| format!("{}:{line}: {word} was replaced by {instead}", file.path))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_word_is_found_as_a_word_of_the_code() {
        let text = "// Mind the gap.\nstruct Mind;\nstruct Minder;\nlet text = \"Mind\";\n".to_owned();
        let faults = in_file(&File { path: "a.rs".into(), text }, &REPLACED);
        assert_eq!(faults, ["a.rs:2: Mind was replaced by Workload: what a client of the explorer is at"]);
    }
}
