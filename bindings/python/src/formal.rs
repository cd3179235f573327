//! Formals: types that stand for any value in a template.

use crate::array::{Purpose, element_type, named_dtype, numpy, to_dtype, type_string};
use crate::error::{bad_value, raise};
use crate::range::RangeField;
use crate::value::{shown, to_value, type_name};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyFloat, PyInt, PyMemoryView, PyString, PyTuple, PyType};
use quintet::{Code, ElementType, Error, Field, Template, Type};
use quintet_contract::limits::MAX_DIMENSIONS;

/// Any array of an element type and a number of dimensions, some of which may be fixed. Made by `quintet.array`.
#[pyclass(frozen, eq, hash, module = "quintet")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct ArrayFormal {
    element: ElementType,
    dimensions: Vec<Option<u64>>,
}

#[pymethods]
impl ArrayFormal {
    fn __repr__(&self) -> String {
        let sizes: Vec<String> = self
            .dimensions
            .iter()
            .map(|size| size.map_or("None".to_owned(), |size| size.to_string()))
            .collect();
        let comma = if sizes.len() == 1 { "," } else { "" };
        format!("quintet.array({:?}, ({}{comma}))", type_string(self.element), sizes.join(", "))
    }

    /// How it is pickled and copied: as the call that makes it.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let make = py.import("quintet")?.getattr("array")?;
        let sizes = PyTuple::new(py, &self.dimensions)?;
        (make, (type_string(self.element), sizes)).into_pyobject(py)
    }
}

/// What `quintet.array` takes for its dimensions.
pub(crate) struct Dimensions(Vec<Option<u64>>);

impl<'py> FromPyObject<'_, 'py> for Dimensions {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let sizes = match object.extract::<usize>() {
            Ok(count) if count <= MAX_DIMENSIONS => Some(vec![None; count]),
            Ok(_) => None,
            Err(_) => object.extract::<Vec<Option<u64>>>().ok().filter(|sizes| sizes.len() <= MAX_DIMENSIONS),
        };
        sizes.map(Dimensions).ok_or_else(|| {
            let text = format!(
                "the dimensions {}, expected their number, at most {MAX_DIMENSIONS}, or a tuple with the size of each or None",
                shown(&object)
            );
            raise(Error::new(Code::BadValue, text))
        })
    }
}

/// Stands for any array of this dtype and number of dimensions in a template.
///
/// `dimensions` is their number, or a tuple with each one's size, or None for any size: `array("f8", (3, None))`.
///
/// Raises BadValue for a dtype that no tuple can hold, or that is none, and for dimensions that are neither, or more than 32.
#[pyfunction]
#[pyo3(signature = (dtype, dimensions = Dimensions(vec![None])), text_signature = "(dtype, dimensions=1)")]
pub(crate) fn array(dtype: &Bound<'_, PyAny>, dimensions: Dimensions) -> PyResult<ArrayFormal> {
    let (_, element) = to_dtype(dtype)?;
    Ok(ArrayFormal { element, dimensions: dimensions.0 })
}

/// A template of these fields.
///
/// # Errors
/// `BadValue` for a field that is neither a value nor a formal.
pub(crate) fn to_template(fields: &Bound<'_, PyTuple>) -> PyResult<Template> {
    let fields = fields.iter().enumerate().map(|(index, field)| to_field(&field, index));
    Template::new(fields.collect::<PyResult<_>>()?).map_err(raise)
}

/// Templates of these tuples.
///
/// # Errors
/// As [`to_template`]; `BadValue` for what is no tuple.
pub(crate) fn to_templates(templates: &Bound<'_, PyTuple>) -> PyResult<Vec<Template>> {
    let template = |(number, item): (usize, Bound<'_, PyAny>)| {
        let Ok(fields) = item.cast::<PyTuple>() else {
            let text = format!("template {number}: a tuple is wanted here, not {}", type_name(&item));
            return Err(raise(Error::new(Code::BadValue, text)));
        };
        to_template(fields)
    };
    templates.iter().enumerate().map(template).collect()
}

fn to_field(field: &Bound<'_, PyAny>, index: usize) -> PyResult<Field> {
    if let Ok(range) = field.cast::<RangeField>() {
        return range.get().to_field(field.py(), index);
    }
    if let Ok(formal) = field.cast::<ArrayFormal>() {
        let formal = formal.get();
        return Ok(Field::Formal(Type::Array {
            element: formal.element,
            dimensions: formal.dimensions.clone(),
        }));
    }
    if let Ok(class) = field.cast::<PyType>()
        && let Some(formal) = plain(class)
    {
        return Ok(Field::Formal(formal));
    }
    let is_plain_value = field.is_instance_of::<PyString>() || field.is_instance_of::<PyInt>();
    if !is_plain_value && let Some(dtype) = named_dtype(field)? {
        return match (element_type(&dtype)?, flexible(&dtype)?) {
            (Some(element), _) => Ok(Field::Formal(Type::Scalar(element))),
            (None, Some(formal)) => Ok(Field::Formal(formal)),
            (None, None) => Err(bad_value(index, format!("no tuple holds the dtype {dtype}"))),
        };
    }
    if let Ok(class) = field.cast::<PyType>() {
        let hint = if class.is(&numpy(field.py())?.getattr("ndarray")?) {
            "; write quintet.array(dtype, dimensions)"
        } else {
            ""
        };
        return Err(bad_value(index, format!("{class} is not the type of a field{hint}")));
    }
    to_value(field, index, Purpose::Match).map(Field::Actual)
}

/// The type that NumPy's text and bytes of any length stand for.
fn flexible(dtype: &Bound<'_, PyAny>) -> PyResult<Option<Type>> {
    let kind: char = dtype.getattr("kind")?.extract()?;
    let width: usize = dtype.getattr("itemsize")?.extract()?;
    Ok(match (kind, width) {
        ('U', 0) => Some(Type::Text),
        ('S', 0) => Some(Type::Binary),
        _ => None,
    })
}

/// The type that one of Python's own classes stands for.
fn plain(class: &Bound<'_, PyType>) -> Option<Type> {
    let py = class.py();
    if class.is(py.get_type::<PyInt>()) {
        Some(Type::Scalar(ElementType::I64))
    } else if class.is(py.get_type::<PyFloat>()) {
        Some(Type::Scalar(ElementType::F64))
    } else if class.is(py.get_type::<PyBool>()) {
        Some(Type::Scalar(ElementType::Bool))
    } else if class.is(py.get_type::<PyString>()) {
        Some(Type::Text)
    } else if class.is(py.get_type::<PyBytes>())
        || class.is(py.get_type::<PyByteArray>())
        || class.is(py.get_type::<PyMemoryView>())
    {
        Some(Type::Binary)
    } else {
        None
    }
}
