//! A source after the preprocessor of C: constants and included files are known, and lines still say where they come from.

use crate::source::Source;
use crate::tokens::{Kind, Token, tokenize};

/// What a preprocessor made of a source.
#[derive(Clone, Debug)]
pub struct Expanded {
    text: String,
    tokens: Vec<Token>,
    /// Where each line begins.
    lines: Vec<usize>,
    /// In the order of the text.
    regions: Vec<Region>,
}

/// Lines that follow each other in one file.
#[derive(Clone, Debug)]
struct Region {
    start: usize,
    file: String,
    /// Of its first byte.
    line: usize,
    is_system: bool,
}

/// Where something stood before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Origin<'a> {
    pub(crate) file: &'a str,
    pub(crate) line: usize,
    /// Whether the file is one of the system's.
    pub(crate) is_system: bool,
}

impl Expanded {
    /// The output of `cc -E`, with its line markers.
    #[must_use]
    pub fn new(text: String) -> Expanded {
        let tokens = tokenize(&text);
        let mut regions = vec![Region { start: 0, file: String::new(), line: 1, is_system: false }];
        for token in tokens.iter().filter(|token| token.kind == Kind::Directive) {
            regions.extend(marker(&text[token.range()], token.end + 1));
        }
        Expanded::with(text, tokens, regions)
    }

    /// A source as it is, where nobody has run a preprocessor: directives mean nothing.
    #[must_use]
    pub fn unexpanded(source: &Source) -> Expanded {
        let text = source.text().to_owned();
        let region = Region { start: 0, file: source.name().to_owned(), line: 1, is_system: false };
        let tokens = tokenize(&text);
        Expanded::with(text, tokens, vec![region])
    }

    fn with(text: String, mut tokens: Vec<Token>, regions: Vec<Region>) -> Expanded {
        tokens.retain(|token| token.kind != Kind::Directive);
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(ends).collect();
        Expanded { text, tokens, lines, regions }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// All but directives.
    pub(crate) fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// Where this byte comes from.
    pub(crate) fn origin(&self, at: usize) -> Origin<'_> {
        let region = &self.regions[self.regions.partition_point(|region| region.start <= at) - 1];
        let line = |at: usize| self.lines.partition_point(|begin| *begin <= at);
        Origin {
            file: &region.file,
            line: region.line + line(at) - line(region.start),
            is_system: region.is_system,
        }
    }
}

/// Reads `# 12 "file.h" 3`, behind which the lines of that file stand.
fn marker(directive: &str, start: usize) -> Option<Region> {
    let rest = directive[1..].trim_start();
    let rest = rest.strip_prefix("line").unwrap_or(rest).trim_start();
    let (number, rest) = rest.split_once(' ')?;
    let line = number.parse().ok()?;
    let (file, flags) = rest.trim_start().strip_prefix('"')?.rsplit_once('"')?;
    let file = file.replace("\\\\", "\\").replace("\\\"", "\"");
    Some(Region { start, file, line, is_system: flags.split_whitespace().any(|flag| flag == "3") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_say_where_lines_come_from() {
        let text = "# 1 \"a.cl\"\n# 1 \"/usr/include/x.h\" 1 3\nint x;\n# 2 \"a.cl\" 2\nint y;\nint z;\n";
        let expanded = Expanded::new(text.to_owned());
        let origin = |name: &str| expanded.origin(text.find(name).unwrap_or_default());
        assert_eq!(origin("x;"), Origin { file: "/usr/include/x.h", line: 1, is_system: true });
        assert_eq!(origin("y;"), Origin { file: "a.cl", line: 2, is_system: false });
        assert_eq!(origin("z;"), Origin { file: "a.cl", line: 3, is_system: false });
        assert_eq!(expanded.tokens().len(), 9);
    }
}
