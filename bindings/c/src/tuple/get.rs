//! Values of a tuple's fields.

use super::{Contents, quintet_tuple};
use crate::boundary::{guarded, misuse, place, value};
use crate::error::quintet_status;
use core::ffi::{c_char, c_void};
use core::mem::MaybeUninit;
use core::ptr::null;
use quintet::{Error, Field, Value};

/// A field is of another type than the one asked for.
pub(super) fn other(contents: &Contents, index: usize, wanted: &str) -> Error {
    let found = match contents.field(index) {
        Ok(Field::Actual(value)) => value.value_type().to_string(),
        Ok(formal @ (Field::Formal(_) | Field::Range(_))) => formal.to_string(),
        Err(error) => return error,
    };
    misuse(format!("field {index} is of type {found}, not {wanted}"))
}

fn get<T: Copy>(
    tuple: Option<&quintet_tuple>,
    index: usize,
    to: Option<&mut MaybeUninit<T>>,
    empty: T,
    wanted: &str,
    of: impl FnOnce(&Value) -> Option<T>,
) -> quintet_status {
    guarded(|| {
        let to = place(to, "value", empty)?;
        let contents = value(tuple)?;
        *to = of(contents.value(index)?).ok_or_else(|| other(contents, index, wanted))?;
        Ok(())
    })
}

/// The truth value in a field, counted from 0.
///
/// Fails with `QUINTET_BAD_VALUE` if there is no such field, or it is of another type.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_get_bool(
    tuple: Option<&quintet_tuple>,
    index: usize,
    value: Option<&mut MaybeUninit<bool>>,
) -> quintet_status {
    get(tuple, index, value, false, "bool", |field| if let Value::Bool(v) = field { Some(*v) } else { None })
}

/// The signed integer of 8 bits in a field; as `quintet_tuple_get_bool`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_get_int8(
    tuple: Option<&quintet_tuple>,
    index: usize,
    value: Option<&mut MaybeUninit<i8>>,
) -> quintet_status {
    get(tuple, index, value, 0, "i8", |field| if let Value::I8(v) = field { Some(*v) } else { None })
}

/// The signed integer of 16 bits in a field; as `quintet_tuple_get_bool`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_get_int16(
    tuple: Option<&quintet_tuple>,
    index: usize,
    value: Option<&mut MaybeUninit<i16>>,
) -> quintet_status {
    get(tuple, index, value, 0, "i16", |field| if let Value::I16(v) = field { Some(*v) } else { None })
}

/// The signed integer of 32 bits in a field; as `quintet_tuple_get_bool`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_get_int32(
    tuple: Option<&quintet_tuple>,
    index: usize,
    value: Option<&mut MaybeUninit<i32>>,
) -> quintet_status {
    get(tuple, index, value, 0, "i32", |field| if let Value::I32(v) = field { Some(*v) } else { None })
}

/// The signed integer of 64 bits in a field; as `quintet_tuple_get_bool`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_get_int64(
    tuple: Option<&quintet_tuple>,
    index: usize,
    value: Option<&mut MaybeUninit<i64>>,
) -> quintet_status {
    get(tuple, index, value, 0, "i64", |field| if let Value::I64(v) = field { Some(*v) } else { None })
}

/// The unsigned integer of 8 bits in a field; as `quintet_tuple_get_bool`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_get_uint8(
    tuple: Option<&quintet_tuple>,
    index: usize,
    value: Option<&mut MaybeUninit<u8>>,
) -> quintet_status {
    get(tuple, index, value, 0, "u8", |field| if let Value::U8(v) = field { Some(*v) } else { None })
}

/// The unsigned integer of 16 bits in a field; as `quintet_tuple_get_bool`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_get_uint16(
    tuple: Option<&quintet_tuple>,
    index: usize,
    value: Option<&mut MaybeUninit<u16>>,
) -> quintet_status {
    get(tuple, index, value, 0, "u16", |field| if let Value::U16(v) = field { Some(*v) } else { None })
}

/// The unsigned integer of 32 bits in a field; as `quintet_tuple_get_bool`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_get_uint32(
    tuple: Option<&quintet_tuple>,
    index: usize,
    value: Option<&mut MaybeUninit<u32>>,
) -> quintet_status {
    get(tuple, index, value, 0, "u32", |field| if let Value::U32(v) = field { Some(*v) } else { None })
}

/// The unsigned integer of 64 bits in a field; as `quintet_tuple_get_bool`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_get_uint64(
    tuple: Option<&quintet_tuple>,
    index: usize,
    value: Option<&mut MaybeUninit<u64>>,
) -> quintet_status {
    get(tuple, index, value, 0, "u64", |field| if let Value::U64(v) = field { Some(*v) } else { None })
}

/// The floating-point number of 32 bits in a field; as `quintet_tuple_get_bool`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_get_float(
    tuple: Option<&quintet_tuple>,
    index: usize,
    value: Option<&mut MaybeUninit<f32>>,
) -> quintet_status {
    get(tuple, index, value, 0.0, "f32", |field| if let Value::F32(v) = field { Some(*v) } else { None })
}

/// The floating-point number of 64 bits in a field; as `quintet_tuple_get_bool`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_get_double(
    tuple: Option<&quintet_tuple>,
    index: usize,
    value: Option<&mut MaybeUninit<f64>>,
) -> quintet_status {
    get(tuple, index, value, 0.0, "f64", |field| if let Value::F64(v) = field { Some(*v) } else { None })
}

/// Lends the text in a field: UTF-8, with a NUL behind it. `length`, unless it is NULL, is its bytes without that; a text may have
/// NULs within.
///
/// Fails with `QUINTET_BAD_VALUE` if there is no such field, or it is no text.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_get_string(
    tuple: Option<&quintet_tuple>,
    index: usize,
    string: Option<&mut MaybeUninit<*const c_char>>,
    length: Option<&mut MaybeUninit<usize>>,
) -> quintet_status {
    guarded(|| {
        let length = length.map(|length| length.write(0));
        let string = place(string, "string", null())?;
        let contents = value(tuple)?;
        let Value::Text(text) = contents.value(index)? else { return Err(other(contents, index, "text")) };
        *string = contents.copied(index, text.as_bytes()).cast();
        if let Some(length) = length {
            *length = text.len();
        }
        Ok(())
    })
}

/// Lends the bytes in a field, where they lie.
///
/// Fails with `QUINTET_BAD_VALUE` if there is no such field, or it is not bytes.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_get_bytes(
    tuple: Option<&quintet_tuple>,
    index: usize,
    data: Option<&mut MaybeUninit<*const c_void>>,
    length: Option<&mut MaybeUninit<usize>>,
) -> quintet_status {
    guarded(|| {
        let data = place(data, "data", null())?;
        let length = place(length, "length", 0)?;
        let contents = value(tuple)?;
        let Value::Binary(bytes) = contents.value(index)? else {
            return Err(other(contents, index, "binary"));
        };
        (*data, *length) = (bytes.as_ptr().cast(), bytes.len());
        Ok(())
    })
}
