//! Documents name functions as `file:function`: hops of the hot path, tests that prove what a page says.

use crate::rust_source::code_only;
use crate::tree::File;

const ARCHITECTURE: &str = "ARCHITECTURE.md";
const HOT_PATH: &str = "## The hot path";

/// A language's files, and what a definition begins with.
const LANGUAGES: [(&str, &str); 2] = [(".rs:", "fn "), (".py:", "def ")];

/// Names of files or functions that do not exist; and a hot path without any.
pub(super) fn faults(files: &[File]) -> Vec<String> {
    let mut faults = Vec::new();
    let architecture = files.iter().find(|file| file.path == ARCHITECTURE);
    if architecture.is_none_or(|file| named(hot_path(&file.text)).is_empty()) {
        faults.push(format!("{ARCHITECTURE} has no `file:function` below \"{HOT_PATH}\""));
    }
    for document in files.iter().filter(|file| file.has_extension(&["md"])) {
        let missing = named(&document.text).into_iter().filter_map(|name| fault(files, &name));
        faults.extend(missing.map(|fault| format!("{}: {fault}", document.path)));
    }
    faults
}

fn hot_path(text: &str) -> &str {
    let section = text.split_once(HOT_PATH).map_or("", |(_, rest)| rest);
    section.split_once("\n## ").map_or(section, |(section, _)| section)
}

/// A function, and where a document says that it stands.
#[derive(PartialEq, Eq, Debug)]
struct Named<'a> {
    path: &'a str,
    function: &'a str,
    /// What stands in front of its name.
    keyword: &'static str,
}

/// Every `file:function` in a code span; a path has a slash, so that what others have written is not meant.
fn named(text: &str) -> Vec<Named<'_>> {
    let spans = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    spans.filter_map(of_span).collect()
}

fn of_span(span: &str) -> Option<Named<'_>> {
    LANGUAGES.iter().find_map(|(suffix, keyword)| {
        let (stem, function) = span.split_once(suffix)?;
        let is_name = function.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
        let path = &span[..stem.len() + suffix.len() - 1];
        (is_name && path.contains('/')).then_some(Named { path, function, keyword })
    })
}

fn fault(files: &[File], name: &Named<'_>) -> Option<String> {
    let Named { path, function, keyword } = name;
    let Some(file) = files.iter().find(|file| file.path == *path) else {
        return Some(format!("{path}:{function}: there is no such file"));
    };
    let code = if *keyword == "fn " { code_only(&file.text) } else { file.text.clone() };
    let head = format!("{keyword}{function}");
    let defined = code.match_indices(&head).any(|(at, _)| code[at + head.len()..].starts_with(['(', '<']));
    (!defined).then(|| format!("{path}:{function}: there is no such function in the file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(function: &str) -> Vec<File> {
        let architecture = "# A\n\n## The hot path\n\n| one | `a/b.rs:go` |\n\n## B\n";
        let page =
            format!("A test: `a/b.rs:{function}`, `a/c.py:test_{function}`; theirs is `raft.rs:2810`.\n");
        let rust = "impl A {\n    pub fn go<T>(self) {}\n    // fn gone(\n}\n";
        let python = "def test_go() -> None:\n    pass\n";
        let file = |path: &str, text: &str| File { path: path.into(), text: text.into() };
        vec![
            file(ARCHITECTURE, architecture),
            file("docs/a.md", &page),
            file("a/b.rs", rust),
            file("a/c.py", python),
        ]
    }

    #[test]
    fn a_function_that_is_gone_is_a_fault() {
        assert_eq!(faults(&tree("go")), [""; 0]);
        assert_eq!(faults(&tree("g")).len(), 2, "a part of a name is another name");
        let gone = ["rs:gone", "py:test_gone"].map(|name| {
            let (suffix, function) = name.split_once(':').expect("two parts");
            let stem = if suffix == "rs" { "a/b" } else { "a/c" };
            format!("docs/a.md: {stem}.{suffix}:{function}: there is no such function in the file")
        });
        assert_eq!(faults(&tree("gone")), gone);
        assert_eq!(faults(&tree("go")[..1]), ["ARCHITECTURE.md: a/b.rs:go: there is no such file"]);
    }

    #[test]
    fn a_hot_path_without_functions_is_a_fault() {
        let mut files = tree("go");
        files[0].text = "## The hot path\n\nNothing.\n\n## B\n\n`a/b.rs:go`\n".into();
        assert_eq!(faults(&files), ["ARCHITECTURE.md has no `file:function` below \"## The hot path\""]);
    }
}
