//! Finds in the source, as it was written, what was found behind the preprocessor.

use crate::expanded::Expanded;
use crate::operation::{self, Call, Length, Verb, find};
use crate::source::Source;
use crate::tokens::{Kind, Token, tokenize};
use std::collections::HashMap;

/// Which token of the source each expanded one was: by its line, its text, and how many of this text stand before it in the line.
pub(crate) struct Pairing {
    /// Places in the source, by places in the expanded text.
    places: HashMap<usize, usize>,
    /// The operations of the source, by their places; also those that the preprocessor leaves out.
    calls: HashMap<usize, Call>,
}

impl Pairing {
    pub(crate) fn new(source: &Source, expanded: &Expanded) -> Pairing {
        let mut tokens = tokenize(source.text());
        // Operations in the definition of a macro are none yet.
        tokens.retain(|token| token.kind != Kind::Directive);
        let mut here: HashMap<(usize, &str), Vec<usize>> = HashMap::new();
        for token in &tokens {
            let key = (source.logical_line(token.start), &source.text()[token.range()]);
            here.entry(key).or_default().push(token.start);
        }
        let (calls, _) = find(source.text(), &tokens);
        let calls = calls.into_iter().map(|call| (call.range.start, call)).collect();
        Pairing { places: places(source, expanded, &here), calls }
    }

    /// Where the token at this byte of the expanded text stands in the source; none where a macro made it.
    pub(crate) fn place(&self, at: usize) -> Option<usize> {
        self.places.get(&at).copied()
    }

    /// The operation in the source; none where a macro hides it or a part of it.
    pub(crate) fn call(&self, call: &Call) -> Option<&Call> {
        let found = self.calls.get(&self.place(call.range.start)?)?;
        (found.verb == call.verb && outline(found) == outline(call)).then_some(found)
    }
}

fn places(
    source: &Source,
    expanded: &Expanded,
    here: &HashMap<(usize, &str), Vec<usize>>,
) -> HashMap<usize, usize> {
    let mut counts: HashMap<(usize, &str), usize> = HashMap::new();
    let pair = |token: &Token| {
        let origin = expanded.origin(token.start);
        if origin.file != source.name() {
            return None;
        }
        let key = (origin.line, &expanded.text()[token.range()]);
        let number = counts.entry(key).or_default();
        *number += 1;
        Some((token.start, *here.get(&key)?.get(*number - 1)?))
    };
    expanded.tokens().iter().filter_map(pair).collect()
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

/// The macro in whose definition an operation of this verb stands, if one of the source does: to name it.
pub(crate) fn hiding_macro(source: &Source, verb: Verb) -> Option<String> {
    let text = source.text();
    let directives = tokenize(text).into_iter().filter(|token| token.kind == Kind::Directive);
    let mut definitions = directives.filter_map(|token| {
        let rest = text[token.range()].strip_prefix('#')?.trim_start().strip_prefix("define")?.trim_start();
        let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_')?;
        Some(rest.split_at(end))
    });
    let (name, _) = definitions.find(|(_, body)| {
        let is_there = |call: &Call| call.verb == verb;
        find(body, &tokenize(body)).0.iter().any(is_there)
    })?;
    Some(name.to_owned())
}
