//! A file is one concept; a long one is more.

use crate::tree::File;

const MAX_LINES: usize = 500;
const SOURCES: [&str; 9] = ["rs", "py", "pyi", "c", "h", "cpp", "hpp", "sh", "toml"];

/// Files above the limit.
pub(super) fn faults(files: &[File]) -> Vec<String> {
    let sources = files.iter().filter(|file| file.has_extension(&SOURCES) && !is_generated(file));
    let lengths = sources.map(|file| (&file.path, file.text.lines().count()));
    let long = lengths.filter(|(_, lines)| *lines > MAX_LINES);
    long.map(|(path, lines)| format!("{path}: {lines} lines, above {MAX_LINES}: split it at a concept"))
        .collect()
}

/// Whether a program wrote it, and says so in its first lines.
fn is_generated(file: &File) -> bool {
    file.text.lines().take(5).any(|line| line.contains("Written by `cargo xtask docs`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_itself_is_allowed() {
        let file = |lines: usize| File { path: "a.rs".into(), text: "x\n".repeat(lines) };
        assert!(faults(&[file(MAX_LINES)]).is_empty());
        assert_eq!(faults(&[file(MAX_LINES + 1)]).len(), 1);
        let mut written = file(MAX_LINES + 1);
        written.text.insert_str(0, "/* Written by `cargo xtask docs` from x; edit that. */\n");
        assert!(faults(&[written]).is_empty(), "it is as long as what it is made of");
    }
}
