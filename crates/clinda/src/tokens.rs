//! The words of a C text, with their places. Comments are none, a line of the preprocessor is one.

use std::ops::Range;

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A name or a keyword.
    Word,
    /// A number.
    Number,
    /// `"..."`
    Text,
    /// `'...'`
    Character,
    /// One character of punctuation.
    Punctuation,
    /// A line of the preprocessor, with its continuations.
    Directive,
}

/// A token: what it is, and its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Token {
    pub(crate) fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

/// The tokens of a text. What is never closed, a comment or a text, goes to the end of the text or of its line: the C compiler says so.
pub(crate) fn tokenize(text: &str) -> Vec<Token> {
    let mut scanner = Scanner { bytes: text.as_bytes(), at: 0, line_is_empty: true };
    let mut tokens = Vec::new();
    while let Some(token) = scanner.next() {
        tokens.push(token);
    }
    tokens
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Whether nothing but blanks stands before in this line.
    line_is_empty: bool,
}

impl Scanner<'_> {
    fn byte(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn next(&mut self) -> Option<Token> {
        self.skip_blanks();
        let start = self.at;
        let first = *self.bytes.get(start)?;
        let kind = match first {
            b'#' if self.line_is_empty => self.directive(),
            b'"' | b'\'' => self.quoted(first),
            b'0'..=b'9' => self.number(),
            b'.' if self.byte(1).is_ascii_digit() => self.number(),
            _ if is_word(first) => self.word(),
            _ => {
                self.at += 1;
                Kind::Punctuation
            }
        };
        self.line_is_empty = kind == Kind::Directive;
        Some(Token { kind, start, end: self.at })
    }

    /// Skips blanks, continued lines and comments.
    fn skip_blanks(&mut self) {
        loop {
            match (self.byte(0), self.byte(1)) {
                (b'\n', _) => {
                    self.line_is_empty = true;
                    self.at += 1;
                }
                (b' ' | b'\t' | b'\r' | 0x0b | 0x0c, _) => self.at += 1,
                (b'\\', b'\n') => self.at += 2,
                (b'/', b'/') => self.skip_line(),
                (b'/', b'*') => self.skip_comment(),
                _ => return,
            }
        }
    }

    /// Up to the end of the line, which a backslash continues.
    fn skip_line(&mut self) {
        while self.at < self.bytes.len() && self.byte(0) != b'\n' {
            self.at += if self.byte(0) == b'\\' && self.byte(1) == b'\n' { 2 } else { 1 };
        }
    }

    fn skip_comment(&mut self) {
        let rest = &self.bytes[self.at + 2..];
        let end = rest.windows(2).position(|pair| pair == b"*/");
        self.at = end.map_or(self.bytes.len(), |end| self.at + 2 + end + 2);
    }

    /// A directive ends with its line; a comment in it may go further.
    fn directive(&mut self) -> Kind {
        while self.at < self.bytes.len() && self.byte(0) != b'\n' {
            match (self.byte(0), self.byte(1)) {
                (b'\\', b'\n') => self.at += 2,
                (b'/', b'*') => self.skip_comment(),
                (b'/', b'/') => self.skip_line(),
                (b'"', _) => drop(self.quoted(b'"')),
                _ => self.at += 1,
            }
        }
        Kind::Directive
    }

    fn quoted(&mut self, quote: u8) -> Kind {
        self.at += 1;
        while self.at < self.bytes.len() && self.byte(0) != quote && self.byte(0) != b'\n' {
            self.at += if self.byte(0) == b'\\' { 2 } else { 1 };
        }
        self.at = self.bytes.len().min(self.at + usize::from(self.byte(0) == quote));
        if quote == b'"' { Kind::Text } else { Kind::Character }
    }

    fn number(&mut self) -> Kind {
        loop {
            match (self.byte(0), self.byte(1)) {
                (b'e' | b'E' | b'p' | b'P', b'+' | b'-') => self.at += 2,
                (byte, _) if byte == b'.' || is_word(byte) => self.at += 1,
                _ => return Kind::Number,
            }
        }
    }

    fn word(&mut self) -> Kind {
        while is_word(self.byte(0)) {
            self.at += 1;
        }
        Kind::Word
    }
}

/// Whether a name may have this byte: letters beyond ASCII as well.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<&str> {
        tokenize(text).into_iter().map(|token| &text[token.range()]).collect()
    }

    #[test]
    fn comments_are_no_tokens_and_directives_are_one() {
        let text = "a /* ( */ b // c\n #define x \\\n 3\nd \"/*\" 'x' 1.5e-3f .5";
        assert_eq!(words(text), ["a", "b", "#define x \\\n 3", "d", "\"/*\"", "'x'", "1.5e-3f", ".5"]);
        assert_eq!(words("a # b"), ["a", "#", "b"], "only at the beginning of a line");
    }

    #[test]
    fn what_is_not_closed_ends_with_its_line_or_the_text() {
        assert_eq!(words("\"a\nb"), ["\"a", "b"]);
        assert_eq!(words("a /* b"), ["a"]);
        assert_eq!(words("'\\"), ["'\\"]);
    }

    proptest! {
        #[test]
        fn tokens_of_any_text_follow_each_other_within_it(text in "[a-z\"'/*#?:(),.0-9\\\\ \n\u{e9}]{0,200}") {
            let mut end = 0;
            for token in tokenize(&text) {
                prop_assert!(end <= token.start && token.start < token.end && token.end <= text.len());
                end = token.end;
            }
        }
    }
}
