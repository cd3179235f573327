//! Tuples of a run, and templates that ask for them: with ranges and prefixes in some runs. (docs/design/0046-ranges.md)

use core::ops::Bound;
use quintet_contract::Token;
use quintet_linearizability::{Partition, Pattern};
use quintet_tuple_space::{Field, Template, Tuple, Value, tuple};

/// The signature of what nobody puts.
pub(super) const OF_NOBODY: u8 = u8::MAX;
/// So many more are the signatures of what lies in the named space than those of what lies in the other one.
pub(super) const NAMED: u8 = 2;

/// The tuple of a number, in its partition.
pub(super) fn stored(((signature, key), number): (Partition, u32)) -> Tuple {
    match signature {
        0 => tuple!["task", key, i64::from(number)],
        _ => tuple!["result", key, i64::from(number), 0i32],
    }
}

/// The same pattern, of some of its numbers where a run has ranges: those that were put last, or before, so that no choice is made for it.
pub(super) fn ranged(seed: u64, token: Token, last: u32, pattern: Pattern) -> Pattern {
    let has_ranges = matches!(seed / 8 % 8, 2 | 3);
    let (below, before) = (last.saturating_sub(2), last.saturating_sub(5));
    match token.0 % 4 {
        0 if has_ranges => Pattern { least: below, ..pattern },
        1 if has_ranges => Pattern { most: below, ..pattern },
        2 if has_ranges => Pattern { least: before, most: last, ..pattern },
        _ => pattern,
    }
}

/// What asks for that. Of a pattern that has a range the other fields may have one as well.
pub(super) fn template(pattern: Pattern) -> Template {
    let Pattern { signature, key, least, .. } = pattern;
    if signature == OF_NOBODY {
        return Template::new(vec![Field::from("nobody puts this"), Field::formal::<i64>()])
            .expect("a template");
    }
    let is_ranged = pattern != Pattern { key, ..Pattern::of(signature) };
    let signature = signature % NAMED;
    let name = match (signature, is_ranged && least % 3 == 1) {
        (0, true) => Field::prefix("ta"),
        (0, false) => Field::from("task"),
        (_, true) => Field::prefix("res"),
        (_, false) => Field::from("result"),
    };
    let key = match key {
        Some(key) if is_ranged && least % 4 == 2 => Field::range(key..=key),
        Some(key) => Field::from(key),
        None => Field::formal::<i64>(),
    };
    let mut fields = vec![name, key, numbers(pattern)];
    if signature != 0 {
        fields.push(Field::formal::<i32>());
    }
    Template::new(fields).expect("a template")
}

/// The range of its numbers, whose ends are in it or are not.
fn numbers(Pattern { least, most, .. }: Pattern) -> Field {
    let (first, last) = (i64::from(least), i64::from(most));
    let from = match least {
        0 => Bound::Unbounded,
        least if least % 2 == 0 => Bound::Included(first),
        _ => Bound::Excluded(first - 1),
    };
    let to = match most {
        u32::MAX => Bound::Unbounded,
        most if most % 2 == 0 => Bound::Included(last),
        _ => Bound::Excluded(last + 1),
    };
    Field::range((from, to))
}

/// What nobody puts.
pub(super) fn of_nobody() -> Template {
    template(Pattern::of(OF_NOBODY))
}

/// The number of a tuple; none if no client has put such a tuple.
pub(super) fn number_of(tuple: &Tuple) -> Option<u32> {
    match tuple.values() {
        [Value::Text(_), Value::I64(_), Value::I64(number), ..] => u32::try_from(*number).ok(),
        _ => None,
    }
}

/// The signature and the key of such a tuple.
pub(super) fn partition_of(tuple: &Tuple) -> Option<Partition> {
    match tuple.values() {
        [Value::Text(_), Value::I64(key), _, rest @ ..] => Some((u8::from(!rest.is_empty()), *key)),
        _ => None,
    }
}
