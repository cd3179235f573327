//! Types of fields, and the signature of a tuple.

use crate::{ElementType, Value, ValueError};
use core::fmt;
use quintet_contract::limits::MAX_DIMENSIONS;

/// The type of a field.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    /// A scalar.
    Scalar(ElementType),
    /// Text.
    Text,
    /// Bytes.
    Binary,
    /// An array.
    Array {
        /// The type of its elements.
        element: ElementType,
        /// Each dimension: fixed, or free where a template leaves it open.
        dimensions: Vec<Option<u64>>,
    },
}

/// The tag of text on the wire.
pub(crate) const TAG_TEXT: u8 = 13;
/// The tag of bytes on the wire.
pub(crate) const TAG_BINARY: u8 = 14;
/// Set in the tag of an array, beside its element's tag; the number of dimensions follows.
pub(crate) const TAG_ARRAY: u8 = 0x20;

impl Type {
    /// Whether `value` is of this type. A fixed dimension must agree, a free one takes any length.
    #[must_use]
    pub fn accepts(&self, value: &Value) -> bool {
        match (self, value) {
            (Type::Text, Value::Text(_)) | (Type::Binary, Value::Binary(_)) => true,
            (Type::Array { element, dimensions }, Value::Array(array)) => {
                *element == array.element()
                    && dimensions.len() == array.shape().len()
                    && dimensions
                        .iter()
                        .zip(array.shape())
                        .all(|(wanted, size)| wanted.is_none_or(|n| n == *size))
            }
            (Type::Scalar(element), value) => value.element() == Some(*element),
            _ => false,
        }
    }

    /// # Errors
    /// [`ValueError::TooManyDimensions`], [`ValueError::Dimension`].
    pub(crate) fn check(&self) -> Result<(), ValueError> {
        let Type::Array { dimensions, .. } = self else { return Ok(()) };
        if dimensions.len() > MAX_DIMENSIONS {
            return Err(ValueError::TooManyDimensions);
        }
        for (index, size) in dimensions.iter().enumerate() {
            crate::array::check_dimension(index, size.unwrap_or(0))?;
        }
        Ok(())
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Scalar(element) => element.fmt(f),
            Type::Text => f.write_str("text"),
            Type::Binary => f.write_str("binary"),
            Type::Array { element, dimensions } => {
                write!(f, "{element}[")?;
                for (index, size) in dimensions.iter().enumerate() {
                    f.write_str(if index == 0 { "" } else { "," })?;
                    match size {
                        Some(size) => size.fmt(f)?,
                        None => f.write_str("?")?,
                    }
                }
                f.write_str("]")
            }
        }
    }
}

/// The types of a tuple's fields, with only the number of dimensions of an array: what tuples are sorted by first.
/// It holds the bytes with which an encoded tuple begins.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Signature(pub(crate) Box<[u8]>);

impl Signature {
    /// The types of the fields. All dimensions are free.
    pub fn types(&self) -> impl Iterator<Item = Type> + '_ {
        let mut bytes = self.0[1..].iter().copied();
        core::iter::from_fn(move || {
            let tag = bytes.next()?;
            Some(match tag {
                TAG_TEXT => Type::Text,
                TAG_BINARY => Type::Binary,
                tag => {
                    let element = ElementType::from_tag(tag & !TAG_ARRAY).expect("checked when it was read");
                    if tag & TAG_ARRAY == 0 {
                        Type::Scalar(element)
                    } else {
                        let count = bytes.next().expect("an array's tag is followed by its dimensions");
                        Type::Array { element, dimensions: vec![None; count.into()] }
                    }
                }
            })
        })
    }
}

impl core::borrow::Borrow<[u8]> for Signature {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_list(f, self.types())
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signature{self}")
    }
}

/// `(a, b, c)`.
pub(crate) fn write_list<T: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    items: impl Iterator<Item = T>,
) -> fmt::Result {
    f.write_str("(")?;
    for (index, item) in items.enumerate() {
        write!(f, "{}{item}", if index == 0 { "" } else { ", " })?;
    }
    f.write_str(")")
}
