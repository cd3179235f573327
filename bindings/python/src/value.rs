//! Python objects to values and back.

use crate::array::{self, Purpose};
use crate::error::{bad_value, integer_overflow, raise};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyFloat, PyInt, PyMemoryView, PyString, PyTuple, PyType};
use quintet::{Bytes, Code, Error, Tuple, Value};

/// Bytes from here on are shared with Python's object; fewer are copied, which costs less than to share them.
const SHARED_FROM: usize = 4096;

/// The value of a field.
///
/// # Errors
/// `BadValue`, naming the field's number and type.
pub(crate) fn to_value(field: &Bound<'_, PyAny>, index: usize, purpose: Purpose) -> PyResult<Value> {
    if let Ok(value) = field.cast::<PyBool>() {
        return Ok(Value::Bool(value.is_true()));
    }
    if field.is_instance_of::<PyInt>() {
        let value = field.extract::<i64>();
        return value.map(Value::I64).map_err(|_| integer_overflow(field.py(), index, &shown(field)));
    }
    if field.is_instance_of::<PyFloat>() {
        return Ok(Value::F64(field.extract()?));
    }
    if let Ok(text) = field.cast::<PyString>() {
        let text = text.to_cow().map_err(|_| bad_value(index, "a str that is not valid Unicode text"))?;
        return Ok(Value::from(&*text));
    }
    if let Ok(bytes) = field.cast::<PyBytes>() {
        return Ok(Value::Binary(shared(bytes)));
    }
    if field.is_instance_of::<PyByteArray>() || field.is_instance_of::<PyMemoryView>() {
        let copy = field.py().get_type::<PyBytes>().call1((field,))?;
        return Ok(Value::Binary(shared(copy.cast::<PyBytes>()?)));
    }
    match array::numpy_value(field, index, purpose)? {
        Some(value) => Ok(value),
        None => Err(bad_value(index, refusal(field))),
    }
}

/// What to do about an object that is no value.
fn refusal(field: &Bound<'_, PyAny>) -> String {
    let name = type_name(field);
    if field.is_instance_of::<PyType>() {
        return format!("the type {} stands for any value in a template, and is none", shown(field));
    }
    format!(
        "{name} cannot be in a tuple; pickle it into bytes, or use int, float, bool, str, bytes or a NumPy array"
    )
}

pub(crate) fn type_name(object: &Bound<'_, PyAny>) -> String {
    object.get_type().fully_qualified_name().map_or_else(|_| "?".to_owned(), |name| name.to_string())
}

/// Its representation, shortened if it is long.
pub(crate) fn shown(object: &Bound<'_, PyAny>) -> String {
    let shown = object.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string());
    if shown.len() > 60 { format!("{}...", shown.chars().take(40).collect::<String>()) } else { shown }
}

/// The bytes of Python's object, without a copy if there are many.
pub(crate) fn shared(bytes: &Bound<'_, PyBytes>) -> Bytes {
    match bytes.as_bytes() {
        few if few.len() < SHARED_FROM => Bytes::copy_from_slice(few),
        _ => Bytes::from_owner(PyBackedBytes::from(bytes.clone())),
    }
}

/// A tuple of these fields.
///
/// # Errors
/// `BadValue` for a field that is no value, for none, and for more than 61.
pub(crate) fn to_tuple(fields: &Bound<'_, PyTuple>) -> PyResult<Tuple> {
    let values = fields.iter().enumerate().map(|(index, field)| to_value(&field, index, Purpose::Put));
    Tuple::new(values.collect::<PyResult<_>>()?).map_err(raise)
}

/// Tuples of these sequences.
///
/// # Errors
/// As [`to_tuple`].
pub(crate) fn to_tuples<'py>(
    tuples: impl Iterator<Item = PyResult<Bound<'py, PyAny>>>,
) -> PyResult<Vec<Tuple>> {
    let tuple = |(number, item): (usize, PyResult<Bound<'py, PyAny>>)| {
        let item = item?;
        let Ok(fields) = item.cast::<PyTuple>() else {
            let text = format!("tuple {number}: a tuple is wanted here, not {}", type_name(&item));
            return Err(raise(Error::new(Code::BadValue, text)));
        };
        to_tuple(fields)
    };
    tuples.enumerate().map(tuple).collect()
}

/// A tuple as Python's.
///
/// # Errors
/// NumPy is not there, or no memory.
pub(crate) fn from_tuple<'py>(py: Python<'py>, tuple: Tuple) -> PyResult<Bound<'py, PyTuple>> {
    let values: Vec<_> = tuple.into_iter().map(|value| from_value(py, value)).collect::<PyResult<_>>()?;
    PyTuple::new(py, values)
}

/// Integers of 64 bits, floats of 64 bits and truth values become Python's own; the other widths NumPy's scalars.
fn from_value(py: Python<'_>, value: Value) -> PyResult<Bound<'_, PyAny>> {
    match value {
        Value::Bool(value) => value.into_bound_py_any(py),
        Value::I64(value) => value.into_bound_py_any(py),
        Value::F64(value) => value.into_bound_py_any(py),
        Value::Text(text) => Ok(PyString::new(py, &text).into_any()),
        Value::Binary(bytes) => Ok(PyBytes::new(py, &bytes).into_any()),
        Value::Array(value) => array::from_array(py, value),
        Value::I8(value) => scalar(py, "int8", value),
        Value::I16(value) => scalar(py, "int16", value),
        Value::I32(value) => scalar(py, "int32", value),
        Value::U8(value) => scalar(py, "uint8", value),
        Value::U16(value) => scalar(py, "uint16", value),
        Value::U32(value) => scalar(py, "uint32", value),
        Value::U64(value) => scalar(py, "uint64", value),
        Value::F32(value) => scalar(py, "float32", value),
    }
}

fn scalar<'py>(py: Python<'py>, name: &str, value: impl IntoPyObject<'py>) -> PyResult<Bound<'py, PyAny>> {
    array::numpy(py)?.getattr(name)?.call1((value.into_bound_py_any(py)?,))
}
