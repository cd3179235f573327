//! Templates: what a tuple is asked for with.

use crate::codec::{Encoded, TooLarge};
use crate::range::{MAX_RANGES, ValueRange};
use crate::{Tuple, Type, Typed, Value, ValueError, tuple::check_count, types::write_list};
use core::fmt;
use quintet_contract::limits::MAX_FIELDS;
use quintet_wire::encode_to_vec;
use std::sync::OnceLock;

/// One field of a template.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Field {
    /// Matches this value only.
    Actual(Value),
    /// Matches any value of this type.
    Formal(Type),
    /// Matches the values of one type that lie in a range.
    Range(ValueRange),
}

/// An ordered list of actuals, formals and ranges, at least one.
///
/// It matches a tuple with the same number of fields when every actual equals its field (as [`Value`]s are equal),
/// every formal's type [accepts](Type::accepts) its field, and every range [contains](ValueRange::contains) it.
///
/// ```
/// use quintet_tuple_space::{template, tuple, ArrayOf};
/// let wanted = template!["row", ?i64, ?ArrayOf<f64, 2>];
/// assert_eq!(wanted.to_string(), r#"("row", ?i64, ?f64[?,?])"#);
/// assert!(template!["row", ?i64].matches(&tuple!["row", 3i64]));
/// assert!(!template!["row", ?i64].matches(&tuple!["row", 3i32]));
/// ```
#[derive(Clone, Debug)]
pub struct Template {
    fields: Vec<Field>,
    /// Its encoding, made when it is first sent: a template is used again and again.
    encoded: OnceLock<Box<[u8]>>,
}

impl Field {
    /// A formal of the type that stands for `T`.
    #[must_use]
    pub fn formal<T: Typed + ?Sized>() -> Field {
        Field::Formal(T::tuple_type())
    }

    /// Whether it matches this value.
    #[must_use]
    pub fn matches(&self, value: &Value) -> bool {
        match self {
            Field::Actual(actual) => actual == value,
            Field::Formal(wanted) => wanted.accepts(value),
            Field::Range(range) => range.contains(value),
        }
    }
}

impl Template {
    /// A template of these fields.
    ///
    /// # Errors
    /// [`ValueError::NoFields`]; [`ValueError::TooManyFields`] above `limits::MAX_FIELDS`; for a formal array
    /// [`ValueError::TooManyDimensions`] and [`ValueError::Dimension`]; for a range [`ValueError::NoBound`], [`ValueError::BoundTypes`],
    /// [`ValueError::NoOrder`], [`ValueError::NotANumber`], [`ValueError::BoundTooLong`], and [`ValueError::TooManyRanges`] above [`MAX_RANGES`].
    pub fn new(fields: Vec<Field>) -> Result<Template, ValueError> {
        check_count(fields.len(), MAX_FIELDS)?;
        let mut ranges = 0;
        for field in &fields {
            match field {
                Field::Actual(_) => {}
                Field::Formal(wanted) => wanted.check()?,
                Field::Range(range) => {
                    range.check()?;
                    ranges += 1;
                }
            }
        }
        if ranges > MAX_RANGES {
            return Err(ValueError::TooManyRanges { found: ranges, limit: MAX_RANGES });
        }
        Ok(Template { fields, encoded: OnceLock::new() })
    }

    /// Its fields, in order.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Whether one of its fields is a range.
    #[must_use]
    pub fn has_ranges(&self) -> bool {
        self.fields.iter().any(|field| matches!(field, Field::Range(_)))
    }

    /// Its head, if nothing of it lies in the bulk.
    ///
    /// # Errors
    /// As [`Encoded::template`].
    pub(crate) fn head(&self) -> Result<Option<&[u8]>, TooLarge> {
        if let Some(head) = self.encoded.get() {
            return Ok(Some(head));
        }
        let encoded = Encoded::template(self)?;
        let is_whole = encoded.bulk_len() == 0;
        Ok(is_whole.then(|| &**self.encoded.get_or_init(|| encode_to_vec(&encoded).into())))
    }

    /// Whether it matches `tuple`.
    #[must_use]
    pub fn matches(&self, tuple: &Tuple) -> bool {
        self.fields.len() == tuple.values().len()
            && self.fields.iter().zip(tuple.values()).all(|(field, value)| field.matches(value))
    }
}

impl PartialEq for Template {
    fn eq(&self, other: &Template) -> bool {
        self.fields == other.fields
    }
}

impl Eq for Template {}

impl<T: Into<Value>> From<T> for Field {
    fn from(value: T) -> Field {
        Field::Actual(value.into())
    }
}

impl From<Type> for Field {
    fn from(formal: Type) -> Field {
        Field::Formal(formal)
    }
}

impl From<ValueRange> for Field {
    fn from(range: ValueRange) -> Field {
        Field::Range(range)
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Field::Actual(value) => value.fmt(f),
            Field::Formal(wanted) => write!(f, "?{wanted}"),
            Field::Range(range) => range.fmt(f),
        }
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_list(f, self.fields.iter())
    }
}

/// A [`Template`] of actuals, formals and ranges: `template!["row", ?i64, ?ArrayOf<f64, 2>]`. `?T` stands for any value of the
/// type `T`; everything else is a value, a [`Field`] such as `Field::range(3..=7)`, or a [`Type`] made at run time, which stands for any
/// value of that type.
///
/// # Panics
/// As [`Template::new`] fails.
#[macro_export]
macro_rules! template {
    (@fields [$($done:expr,)*]) => {
        $crate::Template::new(vec![$($done),*]).expect("a template has 1 to 64 fields, valid types and valid ranges")
    };
    (@fields [$($done:expr,)*] ? $formal:ty $(, $($rest:tt)*)?) => {
        $crate::template!(@fields [$($done,)* $crate::Field::formal::<$formal>(),] $($($rest)*)?)
    };
    (@fields [$($done:expr,)*] $actual:expr $(, $($rest:tt)*)?) => {
        $crate::template!(@fields [$($done,)* $crate::Field::from($actual),] $($($rest)*)?)
    };
    ($($fields:tt)+) => {
        $crate::template!(@fields [] $($fields)+)
    };
}
