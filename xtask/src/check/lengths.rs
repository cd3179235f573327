//! A file is one concept; a long one is more.

use crate::tree::File;

const MAX_LINES: usize = 500;
const SOURCES: [&str; 7] = ["rs", "py", "pyi", "c", "h", "sh", "toml"];

/// Files above the limit.
pub(super) fn faults(files: &[File]) -> Vec<String> {
    let sources = files.iter().filter(|file| file.has_extension(&SOURCES));
    let lengths = sources.map(|file| (&file.path, file.text.lines().count()));
    let long = lengths.filter(|(_, lines)| *lines > MAX_LINES);
    long.map(|(path, lines)| format!("{path}: {lines} lines, above {MAX_LINES}: split it at a concept"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_itself_is_allowed() {
        let file = |lines: usize| File { path: "a.rs".into(), text: "x\n".repeat(lines) };
        assert!(faults(&[file(MAX_LINES)]).is_empty());
        assert_eq!(faults(&[file(MAX_LINES + 1)]).len(), 1);
    }
}
