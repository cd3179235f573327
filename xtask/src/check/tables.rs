//! What a merge leaves in documents where both sides have added rows: rows behind a text that has come between, and rows that say the same.

use crate::markdown::prose;
use crate::tree::File;
use std::collections::BTreeSet;

/// The rows of a table stand below its heading and a line like this.
const RULE: &str = "| ---";

/// Rows that begin with as many letters that are the same are the same row, one of them as it was before.
const BEGINNING: usize = 60;

/// Rows outside of a table, and rows that a table has twice.
pub(super) fn faults(files: &[File]) -> Vec<String> {
    files.iter().filter(|file| file.path.ends_with(".md")).flat_map(in_file).collect()
}

fn in_file(file: &File) -> Vec<String> {
    let lines: Vec<(usize, &str)> = prose(&file.text).collect();
    let tables = lines.chunk_by(|(_, line), (_, next)| is_row(line) == is_row(next));
    let tables = tables.filter(|block| block.iter().all(|(_, line)| is_row(line)));
    tables.flat_map(|table| in_table(&file.path, table)).collect()
}

fn in_table(path: &str, table: &[(usize, &str)]) -> Vec<String> {
    let heading = table.get(1).is_some_and(|(_, line)| line.starts_with(RULE));
    let outside = table.first().filter(|_| !heading);
    let outside = outside.map(|(at, _)| format!("{path}:{at}: these rows are in no table"));
    let mut seen = BTreeSet::new();
    let twice = table.iter().filter(|(_, line)| !line.starts_with(RULE) && !seen.insert(beginning(line)));
    let twice = twice.map(|(at, _)| format!("{path}:{at}: a row above begins like this one: which is true?"));
    outside.into_iter().chain(twice).collect()
}

/// What tells a row apart.
fn beginning(row: &str) -> &str {
    row.char_indices().nth(BEGINNING).map_or(row, |(end, _)| &row[..end])
}

fn is_row(line: &str) -> bool {
    line.starts_with('|')
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "| word | means |\n| --- | --- |\n| a | one |\n| b | two |\n";

    fn found(text: String) -> Vec<String> {
        faults(&[File { path: "a.md".into(), text }])
    }

    #[test]
    fn tables_as_they_should_be_have_no_faults() {
        let code = "```text\n| a | one |\n```\n";
        assert_eq!(found(format!("# A\n\n{TABLE}\nText.\n\n{TABLE}\n{code}")), Vec::<String>::new());
    }

    #[test]
    fn rows_behind_a_text_that_came_between_are_in_no_table() {
        let found = found(format!("{TABLE}Text.\n| c | three |\n"));
        assert_eq!(found, ["a.md:6: these rows are in no table"]);
    }

    #[test]
    fn a_row_that_was_changed_on_one_side_only_is_there_twice() {
        let row = |end: &str| format!("| {} | {end} |\n", "c".repeat(BEGINNING));
        let found = found(format!("{TABLE}{}{}", row("three"), row("four")));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("a.md:6: "), "{found:?}");
    }
}
