//! Reads a line of the text, piece by piece.

use core::fmt;

/// What is wrong with a line, and behind what.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault(String);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where in a line the reader is.
pub struct Lexer<'a> {
    line: &'a str,
    rest: &'a str,
}

impl<'a> Lexer<'a> {
    /// At the line's beginning.
    #[must_use]
    pub fn new(line: &'a str) -> Self {
        Lexer { line, rest: line.trim() }
    }

    /// Nothing is left but a comment.
    #[must_use]
    pub fn is_at_end(&self) -> bool {
        self.rest.is_empty() || self.rest.starts_with('#')
    }

    /// A fault at this place.
    #[must_use]
    pub fn fault(&self, text: impl fmt::Display) -> Fault {
        Fault(format!("{text}, before {:?} of {:?}", self.rest, self.line.trim()))
    }

    /// Whether this sign comes next; then it is read.
    pub fn accept(&mut self, sign: &str) -> bool {
        let Some(rest) = self.rest.strip_prefix(sign) else { return false };
        self.rest = rest.trim_start();
        true
    }

    /// # Errors
    /// Another sign comes next.
    pub fn expect(&mut self, sign: &str) -> Result<(), Fault> {
        if self.accept(sign) { Ok(()) } else { Err(self.fault(format!("expected {sign:?}"))) }
    }

    /// The next word, without reading it; empty if a sign comes next.
    #[must_use]
    pub fn peek(&self) -> &'a str {
        let end = self.rest.find(|sign: char| !(sign.is_alphanumeric() || sign == '_'));
        &self.rest[..end.unwrap_or(self.rest.len())]
    }

    /// Whether this word comes next; then it is read.
    pub fn accept_word(&mut self, word: &str) -> bool {
        self.peek() == word && self.accept(word)
    }

    /// # Errors
    /// A sign comes next, or nothing.
    pub fn word(&mut self) -> Result<&'a str, Fault> {
        let word = self.peek();
        if word.is_empty() {
            return Err(self.fault("expected a word"));
        }
        self.accept(word);
        Ok(word)
    }

    /// # Errors
    /// What comes next is no whole number.
    pub fn number(&mut self) -> Result<u64, Fault> {
        let number = self.peek().parse().map_err(|_| self.fault("expected a number"))?;
        self.accept(self.peek());
        Ok(number)
    }

    /// A word or a number of any type.
    ///
    /// # Errors
    /// A sign comes next, or nothing.
    pub fn value_word(&mut self) -> Result<&'a str, Fault> {
        let is_part = |sign: char| sign.is_alphanumeric() || "_.-:".contains(sign);
        let end = self.rest.find(|sign| !is_part(sign)).unwrap_or(self.rest.len());
        let word = &self.rest[..end];
        if word.is_empty() {
            return Err(self.fault("expected a value"));
        }
        self.accept(word);
        Ok(word)
    }

    /// A text in quotes, as bytes, if one comes next: `\0`, `\\`, `\"`, `\n` and `\xff` stand for one byte each.
    ///
    /// # Errors
    /// It does not end, or has another escape.
    pub fn string(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        if !self.rest.starts_with('"') {
            return Ok(None);
        }
        let (mut text, mut signs) = (Vec::new(), self.rest[1..].char_indices());
        while let Some((at, sign)) = signs.next() {
            match sign {
                '"' => {
                    self.rest = self.rest[at + 2..].trim_start();
                    return Ok(Some(text));
                }
                '\\' => text.push(self.escape(&mut signs)?),
                other => text.extend(other.encode_utf8(&mut [0; 4]).bytes()),
            }
        }
        Err(self.fault("a text does not end"))
    }

    fn escape(&self, signs: &mut core::str::CharIndices<'_>) -> Result<u8, Fault> {
        let mut next = || signs.next().map(|(_, sign)| sign);
        match next() {
            Some('0') => Ok(0),
            Some('n') => Ok(b'\n'),
            Some('\\') => Ok(b'\\'),
            Some('"') => Ok(b'"'),
            Some('x') => {
                let digits = [next(), next()].map(|digit| digit.and_then(|digit| digit.to_digit(16)));
                match digits {
                    [Some(high), Some(low)] => Ok((high * 16 + low) as u8),
                    _ => Err(self.fault("\\x is followed by two hexadecimal digits")),
                }
            }
            _ => Err(self.fault("an escape is \\0, \\n, \\\\, \\\" or \\x and two digits")),
        }
    }
}
