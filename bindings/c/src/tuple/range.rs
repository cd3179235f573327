//! Ranges, which make a template of a tuple as formals do.

use super::{Contents, add, quintet_tuple};
use crate::boundary::{borrowed, changed, misuse, slice, text, value};
use crate::error::quintet_status;
use crate::tuple::QUINTET_NUL_TERMINATED;
use crate::tuple::add::utf8;
use core::ffi::{c_char, c_void};
use core::ops::Bound;
use core::ptr::NonNull;
use quintet::{Bytes, Error, Field, Template, Value, ValueRange};

/// What one end of a range is.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum quintet_bound {
    /// There is none: the range is open at this end.
    QUINTET_BOUND_NONE = 0,
    /// It is in the range.
    QUINTET_BOUND_INCLUDED = 1,
    /// It is not in the range.
    QUINTET_BOUND_EXCLUDED = 2,
}

/// Adds a range: it stands for any value between two bounds, which are the fields of the tuple `bounds`: its first one that of the lower end, if
/// that has one, and the next that of the upper end, if that has one. `low` and `high` say what the ends are, as `quintet_bound`.
///
/// The bounds have one type: integers and floats are ordered as numbers, where NaN is in no range and -0.0 lies where 0.0 does; strings and
/// bytes by their bytes. A range whose lower bound lies above its upper one has nothing in it.
///
/// Fails with `QUINTET_BAD_VALUE` if `bounds` has not as many fields as there are bounds, for bounds of two types, for truth values, arrays,
/// formals and NaN, for more than 1024 bytes, and if both ends are open.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_add_range(
    tuple: Option<NonNull<quintet_tuple>>,
    bounds: *const quintet_tuple,
    low: i32,
    high: i32,
) -> quintet_status {
    // Both may be the same: the one is not looked at any more when the other is changed.
    let range = value(borrowed(bounds)).and_then(|bounds| between(bounds, low, high));
    add(tuple.map(changed), || range.and_then(checked))
}

/// Adds a prefix: it stands for any string that begins with these `length` bytes, or with those up to a NUL if that is `QUINTET_NUL_TERMINATED`.
///
/// Fails with `QUINTET_BAD_VALUE` if they are not UTF-8, or more than 1024.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_add_string_prefix(
    tuple: Option<&mut quintet_tuple>,
    prefix: *const c_char,
    length: usize,
) -> quintet_status {
    add(tuple, || {
        let prefix = match length {
            QUINTET_NUL_TERMINATED => text(prefix, "prefix")?,
            length => utf8(slice(prefix.cast::<u8>(), length, "prefix")?)?,
        };
        checked(ValueRange::Prefix(prefix.into()))
    })
}

/// Adds a prefix: it stands for any bytes that begin with these.
///
/// Fails with `QUINTET_BAD_VALUE` if they are more than 1024.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_add_bytes_prefix(
    tuple: Option<&mut quintet_tuple>,
    prefix: *const c_void,
    length: usize,
) -> quintet_status {
    add(tuple, || {
        let prefix = Bytes::copy_from_slice(slice(prefix.cast::<u8>(), length, "prefix")?);
        checked(ValueRange::Prefix(Value::Binary(prefix)))
    })
}

/// What is wrong with a range is found now, not when the template is used.
fn checked(range: ValueRange) -> Result<Field, Error> {
    Template::new(vec![Field::Range(range.clone())])?;
    Ok(Field::Range(range))
}

fn between(bounds: &Contents, low: i32, high: i32) -> Result<ValueRange, Error> {
    const ENDS: [quintet_bound; 3] = [
        quintet_bound::QUINTET_BOUND_NONE,
        quintet_bound::QUINTET_BOUND_INCLUDED,
        quintet_bound::QUINTET_BOUND_EXCLUDED,
    ];
    let known = |end: i32| ENDS.into_iter().find(|known| *known as i32 == end);
    let (Some(low), Some(high)) = (known(low), known(high)) else {
        return Err(misuse(
            "an end of a range is QUINTET_BOUND_NONE, QUINTET_BOUND_INCLUDED or QUINTET_BOUND_EXCLUDED",
        ));
    };
    bounds.check()?;
    let wanted = [low, high].iter().filter(|end| **end != quintet_bound::QUINTET_BOUND_NONE).count();
    if bounds.fields.len() != wanted {
        let found = bounds.fields.len();
        return Err(misuse(format!(
            "the range has {wanted} bounds, and the tuple of its bounds {found} fields"
        )));
    }
    let mut next = 0;
    let mut end = |end| -> Result<Bound<Value>, Error> {
        if end == quintet_bound::QUINTET_BOUND_NONE {
            return Ok(Bound::Unbounded);
        }
        let bound = bounds.value(next)?.clone();
        next += 1;
        let is_in = end == quintet_bound::QUINTET_BOUND_INCLUDED;
        Ok(if is_in { Bound::Included(bound) } else { Bound::Excluded(bound) })
    };
    Ok(ValueRange::Between(end(low)?, end(high)?))
}
