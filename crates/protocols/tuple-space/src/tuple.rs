//! Tuples.

use crate::{Value, ValueError, types::write_list};
use core::fmt;
use core::num::NonZeroUsize;
use quintet_contract::limits::MAX_FIELDS;

/// Fields of a tuple that a program may put: three fewer than `limits::MAX_FIELDS`, which a dead letter needs.
pub const MAX_TUPLE_FIELDS: usize = MAX_FIELDS - 3;

/// An ordered list of values, at least one.
///
/// ```
/// use quintet_tuple_space::{tuple, Value};
/// let row = tuple!["row", 3i64, 0.5];
/// assert_eq!(row.to_string(), r#"("row", 3, 0.5)"#);
/// assert_eq!(row[1], Value::I64(3));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tuple(Vec<Value>);

impl Tuple {
    /// A tuple of these values.
    ///
    /// # Errors
    /// [`ValueError::NoFields`]; [`ValueError::TooManyFields`] above [`MAX_TUPLE_FIELDS`].
    pub fn new(values: Vec<Value>) -> Result<Tuple, ValueError> {
        check_count(values.len(), MAX_TUPLE_FIELDS)?;
        Ok(Tuple(values))
    }

    /// A tuple of `N` values, the number checked when the program is compiled. [`tuple!`](macro@crate::tuple) calls it.
    #[must_use]
    pub fn from_values<const N: usize>(values: [Value; N]) -> Tuple {
        const { assert!(N >= 1 && N <= MAX_TUPLE_FIELDS, "a tuple has 1 to 61 fields") };
        Tuple(values.into())
    }

    /// A tuple that was read: it may be a dead letter, with more fields than a program may put.
    pub(crate) fn from_wire(values: Vec<Value>) -> Tuple {
        Tuple(values)
    }

    /// Adds a value.
    ///
    /// # Errors
    /// [`ValueError::TooManyFields`] above [`MAX_TUPLE_FIELDS`]; then it is as it was.
    pub fn push(&mut self, value: Value) -> Result<(), ValueError> {
        check_count(self.0.len() + 1, MAX_TUPLE_FIELDS)?;
        self.0.push(value);
        Ok(())
    }

    /// Keeps the first `count` values, or all if there are no more: others can then be added in the memory of what was removed.
    ///
    /// ```
    /// use quintet_tuple_space::tuple;
    /// let mut row = tuple!["row", 3i64, 0.5];
    /// row.truncate(1.try_into()?);
    /// row.push(4i64.into())?;
    /// assert_eq!(row, tuple!["row", 4i64]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn truncate(&mut self, count: NonZeroUsize) {
        self.0.truncate(count.get());
    }

    /// Its values, in order.
    #[must_use]
    pub fn values(&self) -> &[Value] {
        &self.0
    }

    /// Its values, taken out.
    #[must_use]
    pub fn into_values(self) -> Vec<Value> {
        self.0
    }
}

/// # Errors
/// [`ValueError::NoFields`], [`ValueError::TooManyFields`].
pub(crate) fn check_count(found: usize, limit: usize) -> Result<(), ValueError> {
    match found {
        0 => Err(ValueError::NoFields),
        _ if found > limit => Err(ValueError::TooManyFields { found, limit }),
        _ => Ok(()),
    }
}

impl core::ops::Index<usize> for Tuple {
    type Output = Value;

    /// # Panics
    /// If there is no such field.
    fn index(&self, field: usize) -> &Value {
        &self.0[field]
    }
}

impl IntoIterator for Tuple {
    type Item = Value;
    type IntoIter = std::vec::IntoIter<Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl fmt::Display for Tuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_list(f, self.0.iter())
    }
}

/// A [`Tuple`] of values that [`Value`] can be made from: `tuple!["row", 3i64, array]`.
#[macro_export]
macro_rules! tuple {
    ($($value:expr),+ $(,)?) => {
        $crate::Tuple::from_values([$($crate::Value::from($value)),+])
    };
}
