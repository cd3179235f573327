//! NumPy's scalars and arrays. NumPy is imported when the first is seen, so that a program without arrays starts quickly.

use crate::error::{bad_value, raise};
use crate::value::{shared, type_name};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyNone, PyTuple, PyType};
use quintet::{Array, Buffer, Code, ElementType, Error, Value};
use quintet_contract::limits::MAX_BULK_BYTES;

/// What to do about another dtype.
const USABLE_DTYPES: &str = "use bool, an integer of 8 to 64 bits, float32 or float64";

static NUMPY: PyOnceLock<Py<PyModule>> = PyOnceLock::new();

/// The module `numpy`.
///
/// # Errors
/// It cannot be imported.
pub(crate) fn numpy(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    let module = NUMPY.get_or_try_init(py, || py.import("numpy").map(Bound::unbind))?;
    Ok(module.bind(py))
}

/// The element type of a dtype, of either byte order; none if no tuple can hold it.
pub(crate) fn element_type(dtype: &Bound<'_, PyAny>) -> PyResult<Option<ElementType>> {
    let kind: char = dtype.getattr("kind")?.extract()?;
    let width: usize = dtype.getattr("itemsize")?.extract()?;
    Ok(match (kind, width) {
        ('b', 1) => Some(ElementType::Bool),
        ('i', 1) => Some(ElementType::I8),
        ('i', 2) => Some(ElementType::I16),
        ('i', 4) => Some(ElementType::I32),
        ('i', 8) => Some(ElementType::I64),
        ('u', 1) => Some(ElementType::U8),
        ('u', 2) => Some(ElementType::U16),
        ('u', 4) => Some(ElementType::U32),
        ('u', 8) => Some(ElementType::U64),
        ('f', 4) => Some(ElementType::F32),
        ('f', 8) => Some(ElementType::F64),
        _ => None,
    })
}

/// NumPy's name of the element type, little-endian: `<f8`.
pub(crate) fn type_string(element: ElementType) -> String {
    let kind = match element {
        ElementType::Bool => 'b',
        ElementType::I8 | ElementType::I16 | ElementType::I32 | ElementType::I64 => 'i',
        ElementType::U8 | ElementType::U16 | ElementType::U32 | ElementType::U64 => 'u',
        ElementType::F32 | ElementType::F64 => 'f',
    };
    let order = if element.width() == 1 { '|' } else { '<' };
    format!("{order}{kind}{}", element.width())
}

/// An array of this shape and dtype, of any content, for data that are to be put: whole and in C order it is put without a copy where
/// the space is reached over shared memory, or lies in this process. Below 4 KiB, and where the system has too few descriptors, it is
/// an ordinary array, which is copied.
///
/// Once it was given to an operation that puts (`out`, `out_many`, `acknowledge`, those of `begin`), it can only be read, also if that
/// failed. A part of it that was made before (`part = image[:10]`) can still be written, and whoever takes the tuple sees that: leave
/// such parts alone. `array.copy()` makes an ordinary array of it, which can be written; so does pickling, but protocol 5 keeps what is
/// read-only.
///
/// Raises BadValue for a dtype that no tuple can hold, or that is none; what `numpy.empty` raises for a shape that is none.
#[pyfunction]
#[pyo3(signature = (shape, dtype = None), text_signature = "(shape, dtype=float)")]
pub(crate) fn empty<'py>(
    py: Python<'py>,
    shape: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (dtype, element) = to_dtype(dtype.unwrap_or(&PyNone::get(py)))?;
    let is_same = dtype.getattr("str")?.extract::<String>()? == type_string(element);
    let sizes = shape.extract().map(|size| vec![size]).or_else(|_| shape.extract::<Vec<usize>>());
    if let Ok(sizes) = sizes
        && is_same
        && let Some(len) = sizes.iter().try_fold(element.width(), |len, size| len.checked_mul(*size))
        && let Some(buffer) = Buffer::new(len)
    {
        let sizes: Vec<u64> = sizes.into_iter().map(|size| size as u64).collect();
        let array = Array::new(element, sizes, buffer.freeze()).map_err(raise)?;
        return over_memory(py, ArrayMemory { array, is_read_only: false });
    }
    numpy(py)?.getattr("empty")?.call1((shape, dtype))
}

/// The dtype that NumPy makes of this, and its element type.
///
/// # Errors
/// `BadValue` if NumPy makes none of it, or no tuple can hold it.
pub(crate) fn to_dtype<'py>(named: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyAny>, ElementType)> {
    let dtype = numpy(named.py())?.getattr("dtype")?.call1((named,));
    let shown = dtype.as_ref().unwrap_or(named);
    if let Ok(dtype) = &dtype
        && let Some(element) = element_type(dtype)?
    {
        return Ok((dtype.clone(), element));
    }
    let text = format!("an array of dtype {shown} cannot be in a tuple; {USABLE_DTYPES}");
    Err(raise(Error::new(Code::BadValue, text)))
}

/// Bytes of large data that this process has copied so far on their way to and from other processes over shared memory: for tests and
/// measurements.
#[pyfunction]
pub(crate) fn bulk_bytes_copied() -> u64 {
    quintet::bulk_bytes_copied()
}

/// What a field is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To be put.
    Put,
    /// To be compared with.
    Match,
}

/// The value of a NumPy array (with one copy, or none if it is put and lies in memory of this package) or scalar; none if the field is
/// neither.
///
/// # Errors
/// `BadValue` for a dtype that no tuple can hold, and for a masked array; `TooLarge`.
pub(crate) fn numpy_value(
    field: &Bound<'_, PyAny>,
    index: usize,
    purpose: Purpose,
) -> PyResult<Option<Value>> {
    let numpy = numpy(field.py())?;
    let is_array = field.is_instance(&numpy.getattr("ndarray")?)?;
    if !is_array && !field.is_instance(&numpy.getattr("generic")?)? {
        return Ok(None);
    }
    let dtype = field.getattr("dtype")?;
    let Some(element) = element_type(&dtype)? else {
        let name = type_name(field);
        let what = format!("{name} of dtype {dtype} cannot be in a tuple; {USABLE_DTYPES}");
        return Err(bad_value(index, what));
    };
    if is_array {
        check_size(field, index)?;
        if purpose == Purpose::Put
            && let Some(array) = give_away(field, element)?
        {
            return Ok(Some(Value::Array(array)));
        }
        to_array(&plain_array(field, index)?, element).map(|array| Some(Value::Array(array)))
    } else {
        to_scalar(field, element).map(Some)
    }
}

/// Before anything is copied.
///
/// # Errors
/// `TooLarge`.
fn check_size(field: &Bound<'_, PyAny>, index: usize) -> PyResult<()> {
    let bytes: u64 = field.getattr("nbytes")?.extract()?;
    if bytes <= MAX_BULK_BYTES as u64 {
        return Ok(());
    }
    let text = format!("field {index}: an array of {bytes} bytes, above the limit of {MAX_BULK_BYTES}");
    Err(raise(Error::new(Code::TooLarge, text)))
}

/// The array without what its subclass makes of it.
fn plain_array<'py>(field: &Bound<'py, PyAny>, index: usize) -> PyResult<Bound<'py, PyAny>> {
    let numpy = numpy(field.py())?;
    if field.get_type().is(&numpy.getattr("ndarray")?) {
        return Ok(field.clone());
    }
    if field.is_instance(&numpy.getattr("ma")?.getattr("MaskedArray")?)? {
        return Err(bad_value(
            index,
            "a masked array cannot be in a tuple; give its masked elements a value by filled(value)",
        ));
    }
    numpy.getattr("asarray")?.call1((field,))
}

/// The array as it lies in memory of this package, if it does, whole and in C order. It cannot be written any more.
fn give_away(field: &Bound<'_, PyAny>, element: ElementType) -> PyResult<Option<Array>> {
    let mut views = vec![field.clone()];
    let memory = loop {
        let base = views[views.len() - 1].getattr("base")?;
        match base.cast_into::<ArrayMemory>() {
            Ok(memory) => break memory,
            Err(error) => {
                let base = error.into_inner();
                if !base.is_instance(&field.get_type())? {
                    return Ok(None);
                }
                views.push(base);
            }
        }
    };
    let data = memory.get().array.data();
    let interface = field.getattr("__array_interface__")?;
    let (address, _): (usize, bool) = interface.get_item("data")?.extract()?;
    let is_whole =
        address == data.as_ptr().addr() && field.getattr("nbytes")?.extract::<usize>()? == data.len();
    let is_plain = interface.get_item("strides")?.is_none()
        && interface.get_item("typestr")?.extract::<String>()? == type_string(element);
    if !is_whole || !is_plain {
        return Ok(None);
    }
    for view in views {
        view.getattr("flags")?.setattr("writeable", false)?;
    }
    let shape: Vec<u64> = interface.get_item("shape")?.extract()?;
    Array::new(element, shape, data.clone()).map(Some).map_err(raise)
}

fn to_array(field: &Bound<'_, PyAny>, element: ElementType) -> PyResult<Array> {
    let travelling = type_string(element);
    let same = field.getattr("dtype")?.getattr("str")?.extract::<String>()? == travelling;
    let ordered = if same { field.clone() } else { field.call_method1("astype", (travelling,))? };
    // In C order whatever the order in memory, and the only copy.
    let data = ordered.call_method0("tobytes")?;
    let shape: Vec<u64> = field.getattr("shape")?.extract()?;
    Array::new(element, shape, shared(data.cast::<PyBytes>()?)).map_err(raise)
}

fn to_scalar(field: &Bound<'_, PyAny>, element: ElementType) -> PyResult<Value> {
    let value = field.call_method0("item")?;
    Ok(match element {
        ElementType::Bool => Value::Bool(value.extract()?),
        ElementType::I8 => Value::I8(value.extract()?),
        ElementType::I16 => Value::I16(value.extract()?),
        ElementType::I32 => Value::I32(value.extract()?),
        ElementType::I64 => Value::I64(value.extract()?),
        ElementType::U8 => Value::U8(value.extract()?),
        ElementType::U16 => Value::U16(value.extract()?),
        ElementType::U32 => Value::U32(value.extract()?),
        ElementType::U64 => Value::U64(value.extract()?),
        ElementType::F32 => Value::F32(value.extract()?),
        ElementType::F64 => Value::F64(value.extract()?),
    })
}

/// Keeps the data of an array while NumPy looks at it.
#[pyclass(frozen, module = "quintet._native")]
struct ArrayMemory {
    array: Array,
    /// It was received: everybody who received it shares the data. NumPy writes those of an array that was not put so far.
    is_read_only: bool,
}

#[pymethods]
impl ArrayMemory {
    /// NumPy's array interface, version 3.
    #[getter(__array_interface__)]
    fn array_interface<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("typestr", type_string(self.array.element()))?;
        interface.set_item("shape", PyTuple::new(py, self.array.shape())?)?;
        interface.set_item("data", (self.array.data().as_ptr().addr(), self.is_read_only))?;
        Ok(interface)
    }
}

/// A NumPy array over the received data, which is not copied.
///
/// # Errors
/// NumPy is not there.
pub(crate) fn from_array(py: Python<'_>, array: Array) -> PyResult<Bound<'_, PyAny>> {
    over_memory(py, ArrayMemory { array, is_read_only: true })
}

fn over_memory(py: Python<'_>, memory: ArrayMemory) -> PyResult<Bound<'_, PyAny>> {
    let owner = Bound::new(py, memory)?;
    numpy(py)?.getattr("asarray")?.call1((owner,))
}

/// The dtype that a type or dtype object names, or none if it names none.
pub(crate) fn named_dtype<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let numpy = numpy(object.py())?;
    let dtype = numpy.getattr("dtype")?;
    if object.is_instance(&dtype)? {
        return Ok(Some(object.clone()));
    }
    match object.cast::<PyType>() {
        Ok(class) if class.is_subclass(&numpy.getattr("generic")?)? => Ok(Some(dtype.call1((class,))?)),
        _ => Ok(None),
    }
}
