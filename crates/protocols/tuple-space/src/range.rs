//! Ranges: fields of a template that match the values between two bounds, or with a beginning.

use crate::{Type, Typed, Value, ValueError};
use core::cmp::Ordering;
use core::fmt;
use core::ops::{Bound, RangeBounds};

/// Bytes that a bound of text or of bytes, and a prefix, may have.
pub const MAX_BOUND_BYTES: usize = 1024;

/// Ranges that a template may have.
pub const MAX_RANGES: usize = 16;

/// Which values a field of a template matches: those of one type that lie between two bounds, or that begin with a prefix.
///
/// Integers are ordered as numbers; floats as `<` compares them, so that `-0.0` lies where `0.0` does and what is not a number lies in
/// no range; text and bytes by their bytes, of which text has those of UTF-8: by code points. Truth values and arrays have no order.
/// A range whose first bound lies behind its last one has nothing in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ValueRange {
    /// Between two bounds of one type, of which one at least is there.
    Between(Bound<Value>, Bound<Value>),
    /// Text or bytes that begin with this.
    Prefix(Value),
}

impl ValueRange {
    /// The values of a range as Rust writes it; none for `..`, which leaves nothing out.
    pub fn of<T: Into<Value> + Clone>(range: &impl RangeBounds<T>) -> Option<ValueRange> {
        let value = |bound: Bound<&T>| bound.map(|value| value.clone().into());
        match (value(range.start_bound()), value(range.end_bound())) {
            (Bound::Unbounded, Bound::Unbounded) => None,
            (from, to) => Some(ValueRange::Between(from, to)),
        }
    }

    /// The type of the values in it.
    #[must_use]
    pub fn value_type(&self) -> Type {
        let bound = self.bounds().next();
        bound.expect("Template::new refuses a range without a bound").value_type()
    }

    /// Its bounds, or its prefix.
    fn bounds(&self) -> impl Iterator<Item = &Value> {
        let (first, last) = match self {
            ValueRange::Between(from, to) => (limit(from), limit(to)),
            ValueRange::Prefix(prefix) => (Some(prefix), None),
        };
        first.into_iter().chain(last)
    }

    /// # Errors
    /// [`ValueError::NoBound`], [`ValueError::BoundTypes`], [`ValueError::NoOrder`], [`ValueError::NotANumber`], [`ValueError::BoundTooLong`].
    pub(crate) fn check(&self) -> Result<(), ValueError> {
        let mut bounds = self.bounds();
        let first = bounds.next().ok_or(ValueError::NoBound)?;
        check_bound(first, matches!(self, ValueRange::Prefix(_)))?;
        let Some(last) = bounds.next() else { return Ok(()) };
        if first.value_type() != last.value_type() {
            return Err(ValueError::BoundTypes);
        }
        check_bound(last, false)
    }

    /// Whether a value is of its type and lies in it.
    #[must_use]
    pub fn contains(&self, value: &Value) -> bool {
        let is_within = |bound: &Bound<Value>, outside: Ordering| match bound {
            Bound::Unbounded => true,
            Bound::Included(limit) => compare(value, limit).is_some_and(|order| order != outside),
            Bound::Excluded(limit) => compare(value, limit) == Some(outside.reverse()),
        };
        match self {
            ValueRange::Between(from, to) => {
                is_within(from, Ordering::Less) && is_within(to, Ordering::Greater)
            }
            ValueRange::Prefix(Value::Text(prefix)) => {
                matches!(value, Value::Text(text) if text.starts_with(&**prefix))
            }
            ValueRange::Prefix(Value::Binary(prefix)) => {
                matches!(value, Value::Binary(bytes) if bytes.starts_with(prefix))
            }
            ValueRange::Prefix(_) => false,
        }
    }
}

/// The value of a bound.
pub(crate) fn limit(bound: &Bound<Value>) -> Option<&Value> {
    match bound {
        Bound::Included(value) | Bound::Excluded(value) => Some(value),
        Bound::Unbounded => None,
    }
}

fn check_bound(bound: &Value, is_prefix: bool) -> Result<(), ValueError> {
    match bound {
        Value::Text(text) => check_length(text.len()),
        Value::Binary(bytes) => check_length(bytes.len()),
        Value::Bool(_) | Value::Array(_) => Err(ValueError::NoOrder),
        _ if is_prefix => Err(ValueError::OtherType { wanted: "text or binary" }),
        Value::F32(number) if number.is_nan() => Err(ValueError::NotANumber),
        Value::F64(number) if number.is_nan() => Err(ValueError::NotANumber),
        _ => Ok(()),
    }
}

fn check_length(found: usize) -> Result<(), ValueError> {
    match found {
        0..=MAX_BOUND_BYTES => Ok(()),
        _ => Err(ValueError::BoundTooLong { found, limit: MAX_BOUND_BYTES }),
    }
}

/// How two values of one type that has an order stand to each other; none for others, and where one is not a number.
fn compare(value: &Value, bound: &Value) -> Option<Ordering> {
    match (value, bound) {
        (Value::I8(a), Value::I8(b)) => Some(a.cmp(b)),
        (Value::I16(a), Value::I16(b)) => Some(a.cmp(b)),
        (Value::I32(a), Value::I32(b)) => Some(a.cmp(b)),
        (Value::I64(a), Value::I64(b)) => Some(a.cmp(b)),
        (Value::U8(a), Value::U8(b)) => Some(a.cmp(b)),
        (Value::U16(a), Value::U16(b)) => Some(a.cmp(b)),
        (Value::U32(a), Value::U32(b)) => Some(a.cmp(b)),
        (Value::U64(a), Value::U64(b)) => Some(a.cmp(b)),
        (Value::F32(a), Value::F32(b)) => a.partial_cmp(b),
        (Value::F64(a), Value::F64(b)) => a.partial_cmp(b),
        (Value::Text(a), Value::Text(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
        (Value::Binary(a), Value::Binary(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

impl crate::Field {
    /// Matches the values of `T` that lie in a range as Rust writes it: `Field::range(3..=7)`, `Field::range("a".."n")`, `Field::range(0.5..)`;
    /// `Field::range::<i64>(..)` is a formal. [`Template::new`](crate::Template::new) checks the bounds: see [`ValueRange`].
    ///
    /// ```
    /// use quintet_tuple_space::{Field, template, tuple};
    /// let wanted = template!["job", Field::range(3..=7), Field::prefix("urgent")];
    /// assert!(wanted.matches(&tuple!["job", 5i32, "urgently"]));
    /// assert!(!wanted.matches(&tuple!["job", 8i32, "urgently"]));
    /// assert_eq!(wanted.to_string(), r#"("job", 3..=7, "urgent"...)"#);
    /// ```
    #[must_use]
    pub fn range<T: Bounding>(range: impl RangeBounds<T>) -> crate::Field {
        ValueRange::of(&range).map_or_else(|| crate::Field::Formal(T::bounded_type()), crate::Field::Range)
    }

    /// Matches text, or bytes, that begin with this: `Field::prefix("sensor/")`.
    #[must_use]
    pub fn prefix(prefix: impl Into<Value>) -> crate::Field {
        crate::Field::Range(ValueRange::Prefix(prefix.into()))
    }
}

/// What the bounds of a range may be: a [`Typed`] value, or a reference to one whose size is not known.
pub trait Bounding: Into<Value> + Clone {
    /// The type of the values in the range.
    fn bounded_type() -> Type;
}

impl<T: Typed + Into<Value> + Clone> Bounding for T {
    fn bounded_type() -> Type {
        T::tuple_type()
    }
}

impl Bounding for &str {
    fn bounded_type() -> Type {
        Type::Text
    }
}

impl Bounding for &[u8] {
    fn bounded_type() -> Type {
        Type::Binary
    }
}

impl fmt::Display for ValueRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueRange::Prefix(prefix) => write!(f, "{prefix}..."),
            ValueRange::Between(from, to) => {
                match from {
                    Bound::Unbounded => {}
                    Bound::Included(value) => value.fmt(f)?,
                    Bound::Excluded(value) => write!(f, "{value}<")?,
                }
                match to {
                    Bound::Unbounded => f.write_str(".."),
                    Bound::Included(value) => write!(f, "..={value}"),
                    Bound::Excluded(value) => write!(f, "..{value}"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
