//! Values that are added to a tuple.

use super::{QUINTET_NUL_TERMINATED, add, quintet_tuple};
use crate::boundary::{borrowed, changed, misuse, slice, text, value};
use crate::error::quintet_status;
use core::ffi::{c_char, c_void};
use core::ptr::NonNull;
use quintet::{Bytes, Error, Field, Value};

fn add_value(tuple: Option<&mut quintet_tuple>, value: impl Into<Value>) -> quintet_status {
    add(tuple, || Ok(Field::Actual(value.into())))
}

/// Adds a truth value.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_add_bool(tuple: Option<&mut quintet_tuple>, value: bool) -> quintet_status {
    add_value(tuple, value)
}

/// Adds a signed integer of 8 bits.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_add_int8(tuple: Option<&mut quintet_tuple>, value: i8) -> quintet_status {
    add_value(tuple, value)
}

/// Adds a signed integer of 16 bits.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_add_int16(tuple: Option<&mut quintet_tuple>, value: i16) -> quintet_status {
    add_value(tuple, value)
}

/// Adds a signed integer of 32 bits.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_add_int32(tuple: Option<&mut quintet_tuple>, value: i32) -> quintet_status {
    add_value(tuple, value)
}

/// Adds a signed integer of 64 bits: what an `int` is in Python.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_add_int64(tuple: Option<&mut quintet_tuple>, value: i64) -> quintet_status {
    add_value(tuple, value)
}

/// Adds an unsigned integer of 8 bits.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_add_uint8(tuple: Option<&mut quintet_tuple>, value: u8) -> quintet_status {
    add_value(tuple, value)
}

/// Adds an unsigned integer of 16 bits.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_add_uint16(tuple: Option<&mut quintet_tuple>, value: u16) -> quintet_status {
    add_value(tuple, value)
}

/// Adds an unsigned integer of 32 bits.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_add_uint32(tuple: Option<&mut quintet_tuple>, value: u32) -> quintet_status {
    add_value(tuple, value)
}

/// Adds an unsigned integer of 64 bits.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_add_uint64(tuple: Option<&mut quintet_tuple>, value: u64) -> quintet_status {
    add_value(tuple, value)
}

/// Adds a floating-point number of 32 bits.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_add_float(tuple: Option<&mut quintet_tuple>, value: f32) -> quintet_status {
    add_value(tuple, value)
}

/// Adds a floating-point number of 64 bits: what a `float` is in Python.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_add_double(tuple: Option<&mut quintet_tuple>, value: f64) -> quintet_status {
    add_value(tuple, value)
}

/// Adds a copy of a text of `length` bytes, or one that ends with NUL if that is `QUINTET_NUL_TERMINATED`.
///
/// Fails with `QUINTET_BAD_VALUE` if it is not UTF-8.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_add_string(
    tuple: Option<&mut quintet_tuple>,
    string: *const c_char,
    length: usize,
) -> quintet_status {
    add(tuple, || {
        let string = match length {
            QUINTET_NUL_TERMINATED => text(string, "string")?,
            length => utf8(slice(string.cast::<u8>(), length, "string")?)?,
        };
        Ok(Field::Actual(Value::from(string)))
    })
}

/// # Errors
/// `BadValue`.
pub(super) fn utf8(bytes: &[u8]) -> Result<&str, Error> {
    core::str::from_utf8(bytes).map_err(|error| misuse(format!("string is not UTF-8: {error}")))
}

/// Adds a copy of `length` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_add_bytes(
    tuple: Option<&mut quintet_tuple>,
    data: *const c_void,
    length: usize,
) -> quintet_status {
    add(tuple, || {
        let bytes = Bytes::copy_from_slice(slice(data.cast::<u8>(), length, "data")?);
        Ok(Field::Actual(Value::Binary(bytes)))
    })
}

/// Adds a field of another tuple, or of this one: a value, a formal or a range. Large data are shared, not copied.
///
/// Fails with `QUINTET_BAD_VALUE` if there is no such field.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_add_field(
    tuple: Option<NonNull<quintet_tuple>>,
    from: *const quintet_tuple,
    index: usize,
) -> quintet_status {
    // Both may be the same: the one is not looked at any more when the other is changed.
    let field = value(borrowed(from)).and_then(|from| from.field(index));
    add(tuple.map(changed), || field)
}
