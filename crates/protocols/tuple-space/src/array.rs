//! Arrays of scalars.

use crate::{Element, ElementType, ValueError};
use bytes::Bytes;
use core::fmt;
use quintet_contract::limits::{MAX_BULK_BYTES, MAX_DIMENSIONS};

/// An array of scalars with any number of dimensions: little-endian, in C order (the last index varies fastest).
/// Cloning shares the data. An element type bool has one byte an element; arrays are compared by their bytes.
///
/// ```
/// use quintet_tuple_space::Array;
/// let row = Array::from_elements(&[2, 2], &[1.0, 2.0, 3.0, 4.0])?;
/// assert_eq!(row.to_string(), "f64[2,2]");
/// assert_eq!(row.elements::<f64>(), Some(vec![1.0, 2.0, 3.0, 4.0]));
/// # Ok::<(), quintet_tuple_space::ValueError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Array {
    element: ElementType,
    shape: Shape,
    data: Bytes,
}

/// The lengths of dimensions. Most arrays have one, which takes no memory of its own.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Shape {
    One([u64; 1]),
    Other(Box<[u64]>),
}

impl Shape {
    fn of(mut sizes: impl Iterator<Item = u64>) -> Shape {
        match (sizes.next(), sizes.next()) {
            (Some(size), None) => Shape::One([size]),
            (first, second) => Shape::Other(first.into_iter().chain(second).chain(sizes).collect()),
        }
    }

    fn sizes(&self) -> &[u64] {
        match self {
            Shape::One(size) => size,
            Shape::Other(sizes) => sizes,
        }
    }
}

impl Array {
    /// An array over data that lies ready.
    ///
    /// # Errors
    /// [`ValueError::TooManyDimensions`], [`ValueError::Dimension`], or [`ValueError::DataLength`] if `data` is not as
    /// long as `shape` says.
    pub fn new(element: ElementType, shape: impl AsRef<[u64]>, data: Bytes) -> Result<Array, ValueError> {
        Array::of_sizes(element, shape.as_ref().iter().copied(), data)
    }

    /// The same, of the lengths of its dimensions.
    ///
    /// # Errors
    /// As [`Array::new`].
    pub(crate) fn of_sizes(
        element: ElementType,
        sizes: impl Iterator<Item = u64>,
        data: Bytes,
    ) -> Result<Array, ValueError> {
        let shape = Shape::of(sizes);
        let needed = data_len(element, shape.sizes().iter().copied())?;
        if needed != data.len() as u64 {
            return Err(ValueError::DataLength { needed, found: data.len() as u64 });
        }
        Ok(Array { element, shape, data })
    }

    /// An array with a copy of `elements`.
    ///
    /// # Errors
    /// As [`Array::new`].
    pub fn from_elements<T: Element>(shape: &[u64], elements: &[T]) -> Result<Array, ValueError> {
        let mut data = Vec::with_capacity(size_of_val(elements));
        for element in elements {
            element.write(&mut data);
        }
        Array::new(T::TYPE, shape, data.into())
    }

    /// The type of its elements.
    #[must_use]
    pub fn element(&self) -> ElementType {
        self.element
    }

    /// Its dimensions; none for an array of exactly one element without an index.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        self.shape.sizes()
    }

    /// Its elements as they travel.
    #[must_use]
    pub fn data(&self) -> &Bytes {
        &self.data
    }

    /// A copy of its elements, if they are of this type.
    #[must_use]
    pub fn elements<T: Element>(&self) -> Option<Vec<T>> {
        (T::TYPE == self.element).then(|| self.data.chunks_exact(self.element.width()).map(T::read).collect())
    }
}

/// Bytes of the data of an array of that shape.
pub(crate) fn data_len(element: ElementType, shape: impl Iterator<Item = u64>) -> Result<u64, ValueError> {
    let mut bytes = element.width() as u64;
    let mut empty = false;
    for (index, size) in shape.enumerate() {
        if index >= MAX_DIMENSIONS {
            return Err(ValueError::TooManyDimensions);
        }
        check_dimension(index, size)?;
        empty |= size == 0;
        bytes = if size == 0 { bytes } else { bytes.saturating_mul(size) };
    }
    Ok(if empty { 0 } else { bytes })
}

/// No dimension is longer than the data of a message: so none reaches the mark that stands for a free one.
pub(crate) fn check_dimension(index: usize, size: u64) -> Result<(), ValueError> {
    if size > MAX_BULK_BYTES as u64 { Err(ValueError::Dimension { index, size }) } else { Ok(()) }
}

impl fmt::Display for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[", self.element)?;
        for (index, size) in self.shape().iter().enumerate() {
            write!(f, "{}{size}", if index == 0 { "" } else { "," })?;
        }
        f.write_str("]")
    }
}
