//! A merge that was committed half done: git's markers stand where somebody has to choose.

use crate::tree::File;

/// How the lines begin between which two sides of a merge stand. The line of equals signs between them is left out: it underlines titles as well.
const MARKERS: [&str; 2] = ["<<<<<<< ", ">>>>>>> "];

/// Lines that only a merge leaves behind.
pub(super) fn faults(files: &[File]) -> Vec<String> {
    files.iter().flat_map(in_file).collect()
}

fn in_file(file: &File) -> Vec<String> {
    let lines = file.text.lines().enumerate();
    let marked = lines.filter(|(_, line)| MARKERS.iter().any(|marker| line.starts_with(marker)));
    marked.map(|(at, line)| format!("{}:{}: {line}: choose what is meant", file.path, at + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_conflict_are_found_and_titles_are_not() {
        let [begin, end] = MARKERS;
        let text = format!("Title\n=======\n{begin}HEAD\nours\n=======\ntheirs\n{end}1234567 (A change)\n");
        let faults = faults(&[File { path: "a.md".into(), text }]);
        assert_eq!(faults.len(), 2, "{faults:?}");
        assert!(faults[0].starts_with("a.md:3: ") && faults[1].starts_with("a.md:7: "), "{faults:?}");
    }
}
