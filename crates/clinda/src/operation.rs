//! Operations as they are written: `in("row", ?i, ?a:n)`. Where they stand, and their fields; nothing of types.

use crate::tokens::{Kind, Token};
use std::ops::Range;

/// Fields of a tuple of C-Linda, at most.
pub(crate) const MAX_FIELDS: usize = 16;
/// Operations of a file, at most.
pub(crate) const MAX_OPERATIONS: usize = 4096;
/// Operations within each other, at most.
const MAX_NESTED: usize = 32;
/// After so many mistakes nobody looks for more.
const MAX_MISUSES: usize = 20;

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verb {
    /// Puts a tuple.
    Out,
    /// Takes one, waiting for it.
    In,
    /// Reads one, waiting for it.
    Rd,
    /// Takes one if it is there.
    Inp,
    /// Reads one if it is there.
    Rdp,
    /// Makes a live tuple.
    Eval,
}

impl Verb {
    const ALL: [Verb; 6] = [Verb::Out, Verb::In, Verb::Rd, Verb::Inp, Verb::Rdp, Verb::Eval];

    /// Its name in programs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Verb::Out => "out",
            Verb::In => "in",
            Verb::Rd => "rd",
            Verb::Inp => "inp",
            Verb::Rdp => "rdp",
            Verb::Eval => "eval",
        }
    }

    pub(crate) fn of(name: &str) -> Option<Verb> {
        Verb::ALL.into_iter().find(|verb| verb.name() == name)
    }

    /// Whether it makes tuples that others find.
    #[must_use]
    pub fn is_producer(self) -> bool {
        matches!(self, Verb::Out | Verb::Eval)
    }

    /// Whether it answers at once, also if there is no tuple.
    pub(crate) fn is_predicate(self) -> bool {
        matches!(self, Verb::Inp | Verb::Rdp)
    }
}

/// An operation as it is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Call {
    pub(crate) verb: Verb,
    /// From the name to the closing parenthesis.
    pub(crate) range: Range<usize>,
    pub(crate) fields: Vec<Written>,
}

/// A field as it is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Written {
    /// All of it.
    pub(crate) range: Range<usize>,
    /// Where the `?` of a formal stands.
    pub(crate) mark: Option<usize>,
    /// The expression, or the type of an anonymous formal.
    pub(crate) value: Range<usize>,
    pub(crate) length: Length,
}

/// What follows the colon of an array.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Length {
    /// There is no colon.
    None,
    /// Nothing: the whole array. Where the colon stands.
    Whole(usize),
    /// An expression. Where the colon stands, and it.
    Of(usize, Range<usize>),
}

/// Something that looks like an operation and is none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Misuse {
    pub(crate) at: usize,
    pub(crate) message: String,
    pub(crate) hint: &'static str,
}

impl Misuse {
    fn new(at: usize, message: impl Into<String>, hint: &'static str) -> Misuse {
        Misuse { at, message: message.into(), hint }
    }
}

/// Every operation of a text, in its order: one within another's fields comes after that.
pub(crate) fn find(text: &str, tokens: &[Token]) -> (Vec<Call>, Vec<Misuse>) {
    let (mut calls, mut misuses) = (Vec::new(), Vec::new());
    // Where the operations end in which this place lies.
    let mut around: Vec<usize> = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let Some(verb) = verb_of_call(text, tokens, index) else { continue };
        if calls.len() == MAX_OPERATIONS {
            let message = format!("the file has more than {MAX_OPERATIONS} operations");
            misuses.push(Misuse::new(token.start, message, "divide it into several files"));
            break;
        }
        around.retain(|end| token.start < *end);
        if around.len() == MAX_NESTED {
            let message = format!("more than {MAX_NESTED} operations are within each other");
            misuses.push(Misuse::new(token.start, message, "assign what they find to variables first"));
            break;
        }
        let mut reader = Reader { text, tokens, at: index + 2 };
        match reader.call(verb, token.start) {
            Ok(call) => {
                around.push(call.range.end);
                calls.push(call);
            }
            Err(misuse) => misuses.push(misuse),
        }
        if misuses.len() == MAX_MISUSES {
            break;
        }
    }
    misuses.extend(declarations(text, tokens));
    (calls, misuses)
}

fn is(text: &str, token: Option<&Token>, wanted: &str) -> bool {
    token.is_some_and(|token| &text[token.range()] == wanted)
}

/// The operation that begins at this token: not a member of that name, nor a declaration of one.
fn verb_of_call(text: &str, tokens: &[Token], index: usize) -> Option<Verb> {
    let token = tokens.get(index)?;
    let verb = (token.kind == Kind::Word).then(|| Verb::of(&text[token.range()]))??;
    let before = |back: usize| index.checked_sub(back).and_then(|index| tokens.get(index));
    let is_member = is(text, before(1), ".") || (is(text, before(1), ">") && is(text, before(2), "-"));
    let is_call = is(text, tokens.get(index + 1), "(") && !is_member && !declares(text, before(1));
    is_call.then_some(verb)
}

/// Whether a name is declared behind this token: it is one itself, and no keyword of a statement.
fn declares(text: &str, before: Option<&Token>) -> bool {
    const STATEMENTS: [&str; 5] = ["return", "else", "do", "case", "sizeof"];
    before.is_some_and(|token| token.kind == Kind::Word && !STATEMENTS.contains(&&text[token.range()]))
}

/// Functions that a program declares under the name of an operation.
fn declarations(text: &str, tokens: &[Token]) -> Vec<Misuse> {
    let declared = tokens.windows(3).filter(|three| {
        let [before, name, behind] = three else { return false };
        declares(text, Some(before)) && Verb::of(&text[name.range()]).is_some() && is(text, Some(behind), "(")
    });
    let misuse = |three: &[Token]| {
        let name = &text[three[1].range()];
        let message = format!("`{name}` is an operation of C-Linda, and no name for a function");
        Misuse::new(three[1].start, message, "give the function another name")
    };
    declared.map(misuse).collect()
}

/// Reads what stands between the parentheses of a call.
struct Reader<'a> {
    text: &'a str,
    tokens: &'a [Token],
    /// The next token.
    at: usize,
}

/// What ends a part of a field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Comma,
    Colon,
    Close,
}

impl Reader<'_> {
    fn call(&mut self, verb: Verb, start: usize) -> Result<Call, Misuse> {
        let name = verb.name();
        let mut fields = Vec::new();
        if is(self.text, self.tokens.get(self.at), ")") {
            let message = format!("`{name}` without a field: a tuple has at least one");
            return Err(Misuse::new(start, message, "give it a name, as in out(\"ready\")"));
        }
        loop {
            let (field, end) = self.field(name, start)?;
            fields.push(field);
            if fields.len() > MAX_FIELDS {
                let last = &fields[MAX_FIELDS];
                let message = format!("`{name}` has more than {MAX_FIELDS} fields");
                let hint = "put several values into a struct or an array";
                return Err(Misuse::new(last.range.start, message, hint));
            }
            if end == End::Close {
                let range = start..self.tokens[self.at - 1].end;
                return Ok(Call { verb, range, fields });
            }
        }
    }

    fn field(&mut self, name: &str, start: usize) -> Result<(Written, End), Misuse> {
        let first = self.tokens.get(self.at).copied();
        let mark = first.filter(|token| is(self.text, Some(token), "?")).map(|token| token.start);
        self.at += usize::from(mark.is_some());
        let (value, end) = self.part(name, start, true)?;
        let ended_by = self.tokens[self.at - 1];
        let Some(value) = value else {
            return Err(Misuse::new(
                ended_by.start,
                format!("a field of `{name}` is empty"),
                "between two commas stands a value, or a formal such as ?x or ?int",
            ));
        };
        let begin = mark.unwrap_or(value.start);
        let (length, range, end) = match end {
            End::Colon => {
                let (length, end) = self.part(name, start, false)?;
                let last = length.as_ref().map_or(ended_by.end, |length| length.end);
                let colon = ended_by.start;
                (length.map_or(Length::Whole(colon), |range| Length::Of(colon, range)), begin..last, end)
            }
            end => (Length::None, begin..value.end, end),
        };
        Ok((Written { range, mark, value, length }, end))
    }

    /// Up to a comma, the closing parenthesis, or a colon that is none of `? :`. The token that ends it has been read.
    fn part(
        &mut self,
        name: &str,
        start: usize,
        may_have_length: bool,
    ) -> Result<(Option<Range<usize>>, End), Misuse> {
        let mut open: Vec<u8> = Vec::new();
        let mut conditions = 0_u32;
        let mut range: Option<Range<usize>> = None;
        let unbalanced = || {
            let message = format!("`{name}` has no closing parenthesis");
            Misuse::new(start, message, "look for a missing `)`, or one too many of `(`, `[`, `{`")
        };
        loop {
            let token = *self.tokens.get(self.at).ok_or_else(unbalanced)?;
            self.at += 1;
            let byte = match token.kind {
                Kind::Punctuation => self.text.as_bytes()[token.start],
                _ => 0,
            };
            match byte {
                b'(' | b'[' | b'{' => open.push(byte),
                b')' if open.is_empty() => return Ok((range, End::Close)),
                b')' | b']' | b'}' => {
                    let pair = open.pop().ok_or_else(unbalanced)?;
                    let is_pair = matches!((pair, byte), (b'(', b')') | (b'[', b']') | (b'{', b'}'));
                    is_pair.then_some(()).ok_or_else(unbalanced)?;
                }
                b';' if !open.contains(&b'{') => return Err(unbalanced()),
                b',' if open.is_empty() => return Ok((range, End::Comma)),
                b'?' if open.is_empty() => conditions += 1,
                b':' if open.is_empty() && conditions > 0 => conditions -= 1,
                b':' if open.is_empty() && may_have_length => return Ok((range, End::Colon)),
                b':' if open.is_empty() => {
                    let hint = "an array has one length, as in a:n";
                    return Err(Misuse::new(
                        token.start,
                        format!("a field of `{name}` has two lengths"),
                        hint,
                    ));
                }
                _ => {}
            }
            range = Some(range.map_or(token.start, |range| range.start)..token.end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::tokenize;

    fn found(text: &str) -> (Vec<Call>, Vec<Misuse>) {
        find(text, &tokenize(text))
    }

    /// Each field of the first operation: `?` if it is formal, its value, its length.
    fn fields(text: &str) -> Vec<String> {
        let (calls, misuses) = found(text);
        assert_eq!(misuses, []);
        let show = |field: &Written| {
            let length = match &field.length {
                Length::None => String::new(),
                Length::Whole(_) => " : all".to_owned(),
                Length::Of(_, range) => format!(" : {}", &text[range.clone()]),
            };
            let mark = if field.mark.is_some() { "? " } else { "" };
            format!("{mark}{}{length}", &text[field.value.clone()])
        };
        calls[0].fields.iter().map(show).collect()
    }

    #[test]
    fn fields_have_marks_and_lengths() {
        assert_eq!(
            fields("in(ROW, ?i,\n  ?a:n, ?b:, c:, &v[i]:n - 1, ?unsigned int)"),
            ["ROW", "? i", "? a : n", "? b : all", "c : all", "&v[i] : n - 1", "? unsigned int"]
        );
        assert_eq!(
            fields("out(x ? a : b, f(1, c ? 2 : 3), (y, z), a:x ? 1 : 2)"),
            ["x ? a : b", "f(1, c ? 2 : 3)", "(y, z)", "a : x ? 1 : 2"]
        );
    }

    #[test]
    fn operations_stand_anywhere_and_within_each_other() {
        let text = "if (inp(\"a\", ?x) && !rdp(\"b\")) return out(\"c\", rdp(\"d\"));";
        let (calls, misuses) = found(text);
        let names: Vec<&str> = calls.iter().map(|call| call.verb.name()).collect();
        assert_eq!((names, misuses), (vec!["inp", "rdp", "out", "rdp"], vec![]));
    }

    #[test]
    fn names_of_members_and_variables_are_no_operations() {
        assert_eq!(found("s.in(1); p->out(2); int in = 3; rd + 1; (in)(4);"), (vec![], vec![]));
    }

    #[test]
    fn each_misuse_has_its_words() {
        let misuse = |text: &str| found(text).1.first().map(|misuse| misuse.message.clone());
        let is_about = |text: &str, words: &str| {
            let message = misuse(text).unwrap_or_default();
            assert!(message.contains(words), "{text}: {message}");
        };
        is_about("out(", "no closing parenthesis");
        is_about("out(1, 2; }", "no closing parenthesis");
        is_about("out(a[1), 2)", "no closing parenthesis");
        is_about("out()", "without a field");
        is_about("out(1,,2)", "is empty");
        is_about("out(1, )", "is empty");
        is_about("in(?)", "is empty");
        is_about("out(a:1:2)", "two lengths");
        is_about("int in(int x);", "no name for a function");
        is_about(&format!("out({}0)", "0,".repeat(16)), "more than 16 fields");
        assert_eq!(misuse(&format!("out({}0)", "0,".repeat(15))), None);
        is_about(&"out(1);".repeat(MAX_OPERATIONS + 1), "more than 4096 operations");
        let nested = format!("{}1{}", "out(".repeat(MAX_NESTED + 1), ")".repeat(MAX_NESTED + 1));
        is_about(&nested, "within each other");
        assert_eq!(found(&"out(".repeat(1000)).1.len(), MAX_MISUSES);
    }
}
