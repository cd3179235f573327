//! Arrays among the fields of a tuple.

use super::formal::check_dimensions;
use super::{Contents, add, element, quintet_tuple, quintet_type, scalar};
use crate::boundary::{guarded, misuse, null, place, slice, value};
use crate::buffer::{self, quintet_buffer};
use crate::error::quintet_status;
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ptr::null_mut;
use quintet::{Array, Bytes, ElementType, Error, Field, Value};
use quintet_contract::limits::MAX_BULK_BYTES;

/// An array as a tuple lends it: in C order, the last index varying fastest. The data are aligned for their elements.
#[repr(C)]
pub struct quintet_array {
    /// The type of its elements.
    pub element_type: quintet_type,
    /// How many dimensions it has; an array of none has one element.
    pub dimensions: usize,
    /// The length of each dimension.
    pub shape: *const u64,
    /// Its elements.
    pub data: *const c_void,
    /// Bytes of all elements.
    pub length_bytes: usize,
}

/// Adds a copy of an array: elements of a scalar type, in C order, `dimensions` lengths in `shape`. A bool is one byte, 0 or 1.
///
/// Fails with `QUINTET_BAD_VALUE` for another type, for more than `QUINTET_MAX_DIMENSIONS`, and for a dimension above 2 GiB;
/// `QUINTET_TOO_LARGE` for more than 2 GiB of data.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_add_array(
    tuple: Option<&mut quintet_tuple>,
    element_type: i32,
    dimensions: usize,
    shape: *const u64,
    data: *const c_void,
) -> quintet_status {
    add(tuple, || {
        let shape = Shape::of(element_type, dimensions, shape)?;
        let data = slice(data.cast::<u8>(), shape.bytes()?, "data")?;
        shape.field(Bytes::copy_from_slice(data))
    })
}

/// Adds an array whose elements lie in a buffer, from its beginning, without a copy: over shared memory it stays where it is, and its
/// taker sees it there. From now on nothing may be written to the buffer, also if this call or a later one fails; it may be freed.
///
/// Fails as `quintet_tuple_add_array`, and with `QUINTET_BAD_VALUE` if the buffer is shorter than the array.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_add_buffer(
    tuple: Option<&mut quintet_tuple>,
    element_type: i32,
    dimensions: usize,
    shape: *const u64,
    buffer: Option<&quintet_buffer>,
) -> quintet_status {
    add(tuple, || {
        let shape = Shape::of(element_type, dimensions, shape)?;
        let (needed, data) = (shape.bytes()?, buffer::shared(buffer)?);
        if data.len() < needed {
            return Err(misuse(format!("the buffer has {} bytes, and the array {needed}", data.len())));
        }
        shape.field(data.slice(..needed))
    })
}

/// Lends the array in a field: see `quintet_array`. Nothing is copied, unless its data are not aligned where they came.
///
/// Fails with `QUINTET_BAD_VALUE` if there is no such field, or it is no array.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_get_array(
    tuple: Option<&quintet_tuple>,
    index: usize,
    array: Option<&mut MaybeUninit<quintet_array>>,
) -> quintet_status {
    guarded(|| {
        let array = array.ok_or_else(|| null("array"))?;
        *array = MaybeUninit::zeroed();
        let contents = value(tuple)?;
        let Value::Array(found) = contents.value(index)? else {
            return Err(super::get::other(contents, index, "an array"));
        };
        array.write(quintet_array {
            element_type: scalar(found.element()),
            dimensions: found.shape().len(),
            shape: found.shape().as_ptr(),
            data: aligned(contents, index, found).cast(),
            length_bytes: found.data().len(),
        });
        Ok(())
    })
}

/// Gives the data of a field, an array or bytes, as a buffer that outlives the tuple. Nothing is copied. To be freed with
/// `quintet_buffer_free`.
///
/// Fails with `QUINTET_BAD_VALUE` if there is no such field, or it is neither array nor bytes.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_get_buffer(
    tuple: Option<&quintet_tuple>,
    index: usize,
    buffer: Option<&mut MaybeUninit<*mut quintet_buffer>>,
) -> quintet_status {
    guarded(|| {
        let buffer = place(buffer, "buffer", null_mut())?;
        let contents = value(tuple)?;
        let data = match contents.value(index)? {
            Value::Array(array) => array.data(),
            Value::Binary(bytes) => bytes,
            _ => return Err(super::get::other(contents, index, "an array or bytes")),
        };
        *buffer = buffer::of_data(data.clone());
        Ok(())
    })
}

/// Where the elements lie as C may read them. An empty array has an address too.
fn aligned(contents: &Contents, index: usize, array: &Array) -> *const u8 {
    let (data, width) = (array.data(), array.element().width());
    if data.as_ptr().addr().is_multiple_of(width) { data.as_ptr() } else { contents.copied(index, data) }
}

/// What an array is made with, beside its data.
struct Shape<'a> {
    element: ElementType,
    sizes: &'a [u64],
}

impl<'a> Shape<'a> {
    /// # Errors
    /// `BadValue`.
    fn of(element_type: i32, dimensions: usize, shape: *const u64) -> Result<Shape<'a>, Error> {
        check_dimensions(dimensions)?;
        let sizes = slice(shape, dimensions, "shape")?;
        Ok(Shape { element: element(element_type)?, sizes })
    }

    /// Bytes of all elements: before any of them is read.
    ///
    /// # Errors
    /// `TooLarge`.
    fn bytes(&self) -> Result<usize, Error> {
        if self.sizes.contains(&0) {
            return Ok(0);
        }
        let width = self.element.width() as u64;
        let bytes = self.sizes.iter().try_fold(width, |bytes, size| bytes.checked_mul(*size));
        let bytes = bytes.filter(|bytes| *bytes <= MAX_BULK_BYTES as u64);
        bytes.and_then(|bytes| usize::try_from(bytes).ok()).ok_or_else(|| {
            let text = format!(
                "an array {:?} of {}, above the limit of {MAX_BULK_BYTES} bytes",
                self.sizes, self.element
            );
            Error::new(quintet::Code::TooLarge, text)
        })
    }

    /// # Errors
    /// `BadValue`.
    fn field(self, data: Bytes) -> Result<Field, Error> {
        Ok(Field::Actual(Value::Array(Array::new(self.element, self.sizes, data)?)))
    }
}
