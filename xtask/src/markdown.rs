//! What the repository's own Markdown consists of, as far as chores look at it: headings, links, blocks of code.

use std::collections::{BTreeMap, BTreeSet};

/// A link to a place in the repository.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Link {
    /// Counted from 1.
    pub(crate) line: usize,
    /// As it is written: a relative path, with or without an anchor; or an anchor alone.
    pub(crate) target: String,
}

impl Link {
    /// The path, empty where the link leads to its own document, and the anchor.
    pub(crate) fn parts(&self) -> (&str, Option<&str>) {
        match self.target.split_once('#') {
            Some((path, anchor)) => (path, Some(anchor)),
            None => (&self.target, None),
        }
    }
}

/// The inline links of a document that are not addresses on the network. Code has none.
pub(crate) fn links(text: &str) -> Vec<Link> {
    let found =
        prose(text).flat_map(|(line, text)| targets(text).into_iter().map(move |target| (line, target)));
    found.map(|(line, target)| Link { line, target: target.to_owned() }).collect()
}

/// The anchors of a document's headings, as Markdown's renderers name them: a second one of a name gets a number.
pub(crate) fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen = BTreeMap::<String, usize>::new();
    let headings = prose(text).filter_map(|(_, line)| heading(line));
    let named = headings.map(|title| {
        let name = slug(title);
        let count = seen.entry(name.clone()).or_default();
        *count += 1;
        if *count == 1 { name } else { format!("{name}-{}", *count - 1) }
    });
    named.collect()
}

/// The lines outside of blocks of code, with their numbers.
pub(crate) fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_block = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
            return None;
        }
        (!in_block).then_some((index + 1, line))
    })
}

fn heading(line: &str) -> Option<&str> {
    let title = line.trim_start_matches('#');
    let depth = line.len() - title.len();
    ((1..=6).contains(&depth) && title.starts_with(' ')).then(|| title.trim())
}

fn slug(title: &str) -> String {
    let kept = title.chars().filter_map(|letter| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        _ => letter.is_alphanumeric().then_some(letter),
    });
    kept.flat_map(char::to_lowercase).collect()
}

/// The targets of a line's links. Code spans have none.
fn targets(line: &str) -> Vec<&str> {
    let prose = line.split('`').step_by(2);
    let links = prose.flat_map(|text| text.split("](").skip(1)).filter_map(|text| text.split_once(')'));
    let targets = links.map(|(target, _)| target.split_whitespace().next().unwrap_or(""));
    targets.filter(|target| !target.contains("://") && !target.starts_with("mailto:")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> Vec<String> {
        links(text).into_iter().map(|link| format!("{} {}", link.line, link.target)).collect()
    }

    #[test]
    fn only_links_within_the_repository_count() {
        let line = "[a](b.md#c), [d](https://e/f) and `[g](h)` [i](j/k.rs \"title\")\n";
        assert_eq!(written(line), ["1 b.md#c", "1 j/k.rs"]);
        assert_eq!(written("```\n[x](y)\n```\n[here](#a)\n"), ["4 #a"]);
        assert_eq!(links("[a](b.md#c)")[0].parts(), ("b.md", Some("c")));
        assert_eq!(links("[a](#c)")[0].parts(), ("", Some("c")));
        assert_eq!(links("[a](b)")[0].parts(), ("b", None));
    }

    #[test]
    fn a_heading_is_named_by_its_letters() {
        let text = "# Two words: `code`, 3.\n```sh\n# none\n```\n## Again\n### Again\n#none\n";
        assert_eq!(anchors(text).into_iter().collect::<Vec<_>>(), ["again", "again-1", "two-words-code-3"]);
    }
}
