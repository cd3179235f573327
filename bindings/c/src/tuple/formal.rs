//! Formals, which make a template of a tuple.

use super::{QUINTET_ANY_LENGTH, QUINTET_MAX_DIMENSIONS, add, element, quintet_tuple, quintet_type};
use crate::boundary::{misuse, slice};
use crate::error::quintet_status;
use quintet::{Error, Field, Type};

/// Adds a formal: it stands for any value of this type, a scalar one, `QUINTET_TYPE_STRING` or `QUINTET_TYPE_BYTES`.
///
/// Fails with `QUINTET_BAD_VALUE` for `QUINTET_TYPE_ARRAY`, for which `quintet_tuple_add_formal_array` is there, and for no type.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_add_formal(
    tuple: Option<&mut quintet_tuple>,
    field_type: i32,
) -> quintet_status {
    const STRING: i32 = quintet_type::QUINTET_TYPE_STRING as i32;
    const BYTES: i32 = quintet_type::QUINTET_TYPE_BYTES as i32;
    const ARRAY: i32 = quintet_type::QUINTET_TYPE_ARRAY as i32;
    add(tuple, || {
        Ok(Field::Formal(match field_type {
            STRING => Type::Text,
            BYTES => Type::Binary,
            ARRAY => return Err(misuse("a formal array is added by quintet_tuple_add_formal_array")),
            number => Type::Scalar(element(number)?),
        }))
    })
}

/// Adds a formal array: it stands for any array of so many dimensions and elements of this type. A dimension in `shape` must be
/// equal, or any if it is `QUINTET_ANY_LENGTH`; with NULL for `shape` any shape of so many dimensions matches.
///
/// Fails with `QUINTET_BAD_VALUE` for another type, and for more than `QUINTET_MAX_DIMENSIONS`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_add_formal_array(
    tuple: Option<&mut quintet_tuple>,
    element_type: i32,
    dimensions: usize,
    shape: *const u64,
) -> quintet_status {
    add(tuple, || {
        check_dimensions(dimensions)?;
        let dimensions = if shape.is_null() {
            vec![None; dimensions]
        } else {
            let sizes = slice(shape, dimensions, "shape")?.iter();
            sizes.map(|size| (*size != QUINTET_ANY_LENGTH).then_some(*size)).collect()
        };
        let formal = Type::Array { element: element(element_type)?, dimensions };
        // What is wrong with a dimension is found now, not when the template is used.
        quintet::Template::new(vec![Field::Formal(formal.clone())])?;
        Ok(Field::Formal(formal))
    })
}

/// # Errors
/// `BadValue` for too many: before as many are read.
pub(super) fn check_dimensions(dimensions: usize) -> Result<(), Error> {
    if dimensions <= QUINTET_MAX_DIMENSIONS {
        return Ok(());
    }
    Err(misuse(format!("an array of {dimensions} dimensions; it has at most {QUINTET_MAX_DIMENSIONS}")))
}
