//! Finds in the source, as it was written, what was found behind the preprocessor.

use crate::alignment::align;
use crate::expanded::Expanded;
use crate::operation::{self, Call, Length, find};
use crate::source::Source;
use crate::tokens::{Kind, Token, tokenize};
use std::collections::HashMap;
use std::ops::Range;

/// Which token of the source each expanded one was: line by line, those that both have in the same order.
pub(crate) struct Pairing {
    /// By places in the expanded text.
    origins: HashMap<usize, Origin>,
    /// The operations of the source, by their places; also those that the preprocessor leaves out.
    calls: HashMap<usize, Call>,
}

/// What an expanded token was in the source.
#[derive(Clone, Copy)]
enum Origin {
    /// It stands here.
    Place(usize),
    /// The macro at these bytes made it.
    Macro(usize, usize),
}

impl Pairing {
    pub(crate) fn new(source: &Source, expanded: &Expanded) -> Pairing {
        let mut tokens = tokenize(source.text());
        // Operations in the definition of a macro are none yet.
        tokens.retain(|token| token.kind != Kind::Directive);
        let (calls, _) = find(source.text(), &tokens);
        let calls = calls.into_iter().map(|call| (call.range.start, call)).collect();
        let written = by_line(&tokens, |token| Some(source.logical_line(token.start)));
        let made = by_line(expanded.tokens(), |token| {
            let origin = expanded.origin(token.start);
            (origin.file == source.name()).then_some(origin.line)
        });
        let mut origins = HashMap::new();
        for (line, made) in made {
            let written = written.get(&line).map_or(&[][..], Vec::as_slice);
            origins.extend(of_line((source.text(), written), (expanded.text(), &made)));
        }
        Pairing { origins, calls }
    }

    /// Where the token at this byte of the expanded text stands in the source; none where a macro made it.
    pub(crate) fn place(&self, at: usize) -> Option<usize> {
        match self.origins.get(&at)? {
            Origin::Place(place) => Some(*place),
            Origin::Macro(..) => None,
        }
    }

    /// The macro in the source that made the token at this byte of the expanded text.
    pub(crate) fn hiding(&self, at: usize) -> Option<Range<usize>> {
        match self.origins.get(&at)? {
            Origin::Place(_) => None,
            Origin::Macro(start, end) => Some(*start..*end),
        }
    }

    /// The operation in the source; none where a macro hides it or a part of it.
    pub(crate) fn call(&self, call: &Call) -> Option<&Call> {
        let found = self.calls.get(&self.place(call.range.start)?)?;
        (found.verb == call.verb && outline(found) == outline(call)).then_some(found)
    }
}

fn by_line(tokens: &[Token], line: impl Fn(&Token) -> Option<usize>) -> HashMap<usize, Vec<Token>> {
    let mut lines: HashMap<usize, Vec<Token>> = HashMap::new();
    for token in tokens {
        if let Some(line) = line(token) {
            lines.entry(line).or_default().push(*token);
        }
    }
    lines
}

/// What the expanded tokens of a line were.
fn of_line(
    (text, written): (&str, &[Token]),
    (expanded_text, expanded): (&str, &[Token]),
) -> Vec<(usize, Origin)> {
    let words: Vec<&str> = written.iter().map(|token| &text[token.range()]).collect();
    let made: Vec<&str> = expanded.iter().map(|token| &expanded_text[token.range()]).collect();
    let pairs = align(&words, &made);
    let mut is_paired = vec![false; written.len()];
    pairs.iter().flatten().for_each(|at| is_paired[*at] = true);
    let is_macro = |at: &usize| !is_paired[*at] && written[*at].kind == Kind::Word;
    let mut origins = Vec::new();
    let mut behind = 0;
    for (token, pair) in expanded.iter().zip(pairs) {
        let origin = match pair {
            Some(at) => {
                behind = at + 1;
                Some(Origin::Place(written[at].start))
            }
            // Of a macro with arguments these stand behind its name, and what it made may stand behind them.
            None => (behind..written.len())
                .take_while(|at| !is_paired[*at])
                .find(is_macro)
                .or_else(|| (0..behind).rev().find(is_macro))
                .map(|at| Origin::Macro(written[at].start, written[at].end)),
        };
        origins.extend(origin.map(|origin| (token.start, origin)));
    }
    origins
}

/// What a macro may not change of an operation: how many fields, which are formals, which have lengths.
fn outline(call: &Call) -> Vec<(bool, u8)> {
    let of = |field: &operation::Written| {
        let length = match field.length {
            Length::None => 0,
            Length::Whole(_) => 1,
            Length::Of(..) => 2,
        };
        (field.mark.is_some(), length)
    };
    call.fields.iter().map(of).collect()
}

/// The macro of the source that hides this operation, or fields of it.
pub(crate) fn hiding_macro(
    source: &Source,
    expanded: &Expanded,
    pairing: &Pairing,
    call: &Call,
) -> Option<Range<usize>> {
    if let Some(name) = pairing.hiding(call.range.start) {
        return Some(name);
    }
    let within = expanded.tokens().iter().filter(|token| call.range.contains(&token.start));
    let macros: Vec<Range<usize>> = within.filter_map(|token| pairing.hiding(token.start)).collect();
    let divides = |name: &&Range<usize>| has_parts(definition(source, &source.text()[(*name).clone()]));
    macros.iter().find(divides).or(macros.first()).cloned()
}

/// What the source defines a macro as; empty where it does not.
fn definition<'a>(source: &'a Source, name: &str) -> &'a str {
    let text = source.text();
    let directives = tokenize(text).into_iter().filter(|token| token.kind == Kind::Directive);
    let body = |token: Token| {
        let rest = text[token.range()].strip_prefix('#')?.trim_start().strip_prefix("define")?.trim_start();
        let rest = rest.strip_prefix(name)?;
        let is_whole = !rest.starts_with(|letter: char| letter.is_alphanumeric() || letter == '_');
        is_whole.then_some(rest)
    };
    directives.filter_map(body).next_back().unwrap_or_default()
}

/// Whether this is more than one value: several, a formal, or an array with a length.
fn has_parts(body: &str) -> bool {
    // As the fields of an operation, it is to be one without a mark and a length.
    let call = format!("out({body})");
    let (calls, misuses) = find(&call, &tokenize(&call));
    let is_value = |call: &Call| outline(call) == [(false, 0)];
    !(body.is_empty() || (misuses.is_empty() && calls.first().is_some_and(is_value)))
}
