//! The tuples and templates of a run: few enough that clients meet, each tuple with a number of its own.

use quintet_simulate::Chooser;
use quintet_tuple_space::{
    Array, ArrayOf, Bytes, DEAD_LETTER, Glimpse, TUPLE_BYTES, Template, Tuple, Value, template, tuple,
};
use std::fmt;

/// What a tuple looks like, apart from its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Shape {
    /// `("job", colour, number)`.
    Job(u8),
    /// `("note", number)`.
    Note,
    /// `(number, bytes)` with so many bytes.
    Blob(u16),
    /// `("grid", number, i32[n])` with so many elements.
    Grid(u8),
}

/// A tuple of a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Item {
    pub(crate) shape: Shape,
    /// No two tuples of a run have the same.
    pub(crate) number: u64,
}

/// A tuple as it came out of the space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Seen {
    pub(crate) item: Item,
    /// It came as a dead letter.
    pub(crate) is_dead: bool,
}

/// What a template asks for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Pattern {
    Job(u8),
    AnyJob,
    Note,
    /// `(?text, ?i64)`, which every note matches.
    Named,
    Blob,
    Grid,
    DeadJob,
    DeadNote,
    DeadBlob,
    DeadGrid,
}

/// The patterns that together match every tuple that can be in the space.
pub(crate) const EVERYTHING: [Pattern; 8] = [
    Pattern::AnyJob,
    Pattern::Note,
    Pattern::Blob,
    Pattern::Grid,
    Pattern::DeadJob,
    Pattern::DeadNote,
    Pattern::DeadBlob,
    Pattern::DeadGrid,
];

impl Item {
    pub(crate) fn draw(number: u64, chooser: &mut Chooser) -> Item {
        let small = |chooser: &mut Chooser, bound| u8::try_from(chooser.below(bound)).expect("below 5");
        let shape = match *chooser.weighted(&[(6, 0), (2, 1), (1, 2), (1, 3)]) {
            0 => Shape::Job(small(chooser, 3)),
            1 => Shape::Note,
            // Four of them fit a frame where nothing cuts large data into fragments, and half of the smallest window.
            2 => Shape::Blob(*chooser.pick(&[0, 10, 400, 1100, 1900])),
            _ => Shape::Grid(small(chooser, 5)),
        };
        Item { shape, number }
    }

    pub(crate) fn tuple(self) -> Tuple {
        let number = self.number.cast_signed();
        match self.shape {
            Shape::Job(colour) => tuple!["job", i64::from(colour), number],
            Shape::Note => tuple!["note", number],
            Shape::Blob(length) => tuple![number, vec![self.fill(); length.into()]],
            Shape::Grid(length) => {
                let elements = vec![i32::from(self.fill()); length.into()];
                let grid =
                    Array::from_elements(&[u64::from(length)], &elements).expect("its length is the shape's");
                tuple!["grid", number, grid]
            }
        }
    }

    /// The byte that its data repeats.
    fn fill(self) -> u8 {
        self.number.to_le_bytes()[0]
    }

    /// The item that was put as this tuple; none if no run puts such a one.
    pub(crate) fn of(tuple: &Tuple) -> Option<Seen> {
        let (values, is_dead) = match tuple.values() {
            [Value::Text(mark), _, _, rest @ ..] if &**mark == DEAD_LETTER => (rest, true),
            values => (values, false),
        };
        let (shape, number) = match values {
            [Value::Text(_), Value::I64(colour), Value::I64(number)] => {
                (Shape::Job(u8::try_from(*colour).ok()?), number)
            }
            [Value::Text(_), Value::I64(number)] => (Shape::Note, number),
            [Value::I64(number), Value::Binary(bytes)] => {
                (Shape::Blob(u16::try_from(bytes.len()).ok()?), number)
            }
            [Value::Text(_), Value::I64(number), Value::Array(grid)] => {
                (Shape::Grid(u8::try_from(*grid.shape().first()?).ok()?), number)
            }
            _ => return None,
        };
        let item = Item { shape, number: number.cast_unsigned() };
        (item.tuple().values() == values).then_some(Seen { item, is_dead })
    }

    /// The item that was put as the tuple that is listed like this; none if no run puts such a one. It is no dead letter.
    pub(crate) fn of_glimpses(fields: &[Glimpse]) -> Option<Seen> {
        let (shape, number) = match fields {
            [_, Glimpse::Value(Value::I64(colour)), Glimpse::Value(Value::I64(number))] => {
                (Shape::Job(u8::try_from(*colour).ok()?), number)
            }
            [Glimpse::Value(Value::Text(_)), Glimpse::Value(Value::I64(number))] => (Shape::Note, number),
            [Glimpse::Value(Value::I64(number)), Glimpse::Value(Value::Binary(bytes))] => {
                (Shape::Blob(u16::try_from(bytes.len()).ok()?), number)
            }
            [Glimpse::Value(Value::I64(number)), Glimpse::Beginning { bytes, .. }] => {
                (Shape::Blob(u16::try_from(*bytes).ok()?), number)
            }
            [_, Glimpse::Value(Value::I64(number)), Glimpse::Value(Value::Array(grid))] => {
                (Shape::Grid(u8::try_from(*grid.shape().first()?).ok()?), number)
            }
            [_, Glimpse::Value(Value::I64(number)), Glimpse::Beginning { bytes, .. }] => {
                (Shape::Grid(u8::try_from(*bytes / 4).ok()?), number)
            }
            _ => return None,
        };
        let item = Item { shape, number: number.cast_unsigned() };
        let values = item.tuple().into_values();
        let agrees = |(field, value): (&Glimpse, &Value)| match (field, value) {
            (Glimpse::Value(field), value) => field == value,
            (Glimpse::Beginning { beginning, .. }, Value::Binary(bytes)) => bytes.starts_with(beginning),
            (Glimpse::Beginning { beginning, .. }, Value::Array(grid)) => grid.data().starts_with(beginning),
            _ => false,
        };
        fields.iter().zip(&values).all(agrees).then_some(Seen { item, is_dead: false })
    }

    /// Bytes for which it counts in the space.
    pub(crate) fn bytes(self) -> u64 {
        let (head, bulk) = self.tuple().encode().expect("every item is small");
        (head.len() + bulk.len()) as u64 + TUPLE_BYTES
    }
}

impl Pattern {
    pub(crate) fn draw(chooser: &mut Chooser) -> Pattern {
        match *chooser.weighted(&[
            (3, Pattern::AnyJob),
            (3, Pattern::Job(0)),
            (1, Pattern::Note),
            (1, Pattern::Named),
            (1, Pattern::Blob),
            (1, Pattern::Grid),
        ]) {
            Pattern::Job(_) => Pattern::Job(u8::try_from(chooser.below(3)).expect("below 3")),
            pattern => pattern,
        }
    }

    pub(crate) fn template(self) -> Template {
        match self {
            Pattern::Job(colour) => template!["job", i64::from(colour), ?i64],
            Pattern::AnyJob => template!["job", ?i64, ?i64],
            Pattern::Note => template!["note", ?i64],
            Pattern::Named => template![?str, ?i64],
            Pattern::Blob => template![?i64, ?Bytes],
            Pattern::Grid => template!["grid", ?i64, ?ArrayOf<i32, 1>],
            Pattern::DeadJob => template![DEAD_LETTER, ?str, ?i64, "job", ?i64, ?i64],
            Pattern::DeadNote => template![DEAD_LETTER, ?str, ?i64, "note", ?i64],
            Pattern::DeadBlob => template![DEAD_LETTER, ?str, ?i64, ?i64, ?Bytes],
            Pattern::DeadGrid => template![DEAD_LETTER, ?str, ?i64, "grid", ?i64, ?ArrayOf<i32, 1>],
        }
    }

    /// Whether it asks for dead letters.
    pub(crate) fn is_dead(self) -> bool {
        matches!(self, Pattern::DeadJob | Pattern::DeadNote | Pattern::DeadBlob | Pattern::DeadGrid)
    }

    /// Whether it matches, decided without the product's matching.
    pub(crate) fn matches(self, seen: Seen) -> bool {
        let (wanted_dead, matches) = match (self, seen.item.shape) {
            (Pattern::Job(wanted), Shape::Job(colour)) => (false, wanted == colour),
            (Pattern::AnyJob, Shape::Job(_))
            | (Pattern::Note | Pattern::Named, Shape::Note)
            | (Pattern::Blob, Shape::Blob(_))
            | (Pattern::Grid, Shape::Grid(_)) => (false, true),
            (Pattern::DeadJob, Shape::Job(_))
            | (Pattern::DeadNote, Shape::Note)
            | (Pattern::DeadBlob, Shape::Blob(_))
            | (Pattern::DeadGrid, Shape::Grid(_)) => (true, true),
            _ => (false, false),
        };
        matches && wanted_dead == seen.is_dead
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.shape {
            Shape::Job(colour) => write!(f, "job {} of colour {colour}", self.number),
            Shape::Note => write!(f, "note {}", self.number),
            Shape::Blob(length) => write!(f, "blob {} of {length} bytes", self.number),
            Shape::Grid(length) => write!(f, "grid {} of {length} elements", self.number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_read_back_and_matched_as_the_product_matches_it() {
        for (number, shape) in [Shape::Job(2), Shape::Note, Shape::Blob(0), Shape::Blob(3000), Shape::Grid(3)]
            .into_iter()
            .enumerate()
        {
            let item = Item { shape, number: number as u64 + 1 };
            let seen = Seen { item, is_dead: false };
            assert_eq!(Item::of(&item.tuple()), Some(seen));
            let whole: Vec<_> = item.tuple().into_iter().map(Glimpse::Value).collect();
            assert_eq!(Item::of_glimpses(&whole), Some(seen));
            for pattern in EVERYTHING.into_iter().chain([Pattern::Job(1), Pattern::Job(2), Pattern::Named]) {
                assert_eq!(
                    pattern.matches(seen),
                    pattern.template().matches(&item.tuple()),
                    "{pattern:?} {item}"
                );
            }
        }
    }
}
