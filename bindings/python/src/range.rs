//! Ranges: fields of a template that stand for the values between two bounds, or with a beginning.

use crate::array::Purpose;
use crate::error::raise;
use crate::value::to_value;
use core::ops::Bound as End;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use quintet::{Code, Error, Field, Template, Value, ValueRange};

/// The values between two bounds, or those with a prefix. Made by `quintet.between` and `quintet.prefix`.
#[pyclass(frozen, name = "Range", module = "quintet")]
pub(crate) struct RangeField {
    bounds: Bounds,
}

enum Bounds {
    Between { low: Option<Py<PyAny>>, high: Option<Py<PyAny>>, inclusive: Inclusive },
    Prefix(Py<PyAny>),
}

/// Which bounds are in a range.
#[derive(Clone, Copy)]
pub(crate) struct Inclusive {
    name: &'static str,
    low: bool,
    high: bool,
}

const INCLUSIVE: [Inclusive; 4] = [
    Inclusive { name: "both", low: true, high: true },
    Inclusive { name: "left", low: true, high: false },
    Inclusive { name: "right", low: false, high: true },
    Inclusive { name: "neither", low: false, high: false },
];

impl FromPyObject<'_, '_> for Inclusive {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Inclusive> {
        let named = object
            .extract::<String>()
            .ok()
            .and_then(|name| INCLUSIVE.into_iter().find(|one| one.name == name));
        named.ok_or_else(|| bad("inclusive is one of \"both\", \"left\", \"right\" and \"neither\""))
    }
}

fn bad(text: &str) -> PyErr {
    raise(Error::new(Code::BadValue, text))
}

impl RangeField {
    /// The field that it is, with that number.
    ///
    /// # Errors
    /// `BadValue` for bounds that are no values.
    pub(crate) fn to_field(&self, py: Python<'_>, index: usize) -> PyResult<Field> {
        let value = |bound: &Py<PyAny>| to_value(bound.bind(py), index, Purpose::Match);
        let end = |bound: &Option<Py<PyAny>>, is_in: bool| -> PyResult<End<Value>> {
            let Some(bound) = bound else { return Ok(End::Unbounded) };
            let bound = value(bound)?;
            Ok(if is_in { End::Included(bound) } else { End::Excluded(bound) })
        };
        Ok(Field::Range(match &self.bounds {
            Bounds::Prefix(prefix) => ValueRange::Prefix(value(prefix)?),
            Bounds::Between { low, high, inclusive } => {
                ValueRange::Between(end(low, inclusive.low)?, end(high, inclusive.high)?)
            }
        }))
    }

    /// The same, checked now and not when it is used.
    fn checked(self, py: Python<'_>) -> PyResult<RangeField> {
        Template::new(vec![self.to_field(py, 0)?]).map_err(raise)?;
        Ok(self)
    }
}

#[pymethods]
impl RangeField {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let shown = |bound: &Option<Py<PyAny>>| match bound {
            None => Ok("None".to_owned()),
            Some(bound) => bound.bind(py).repr().map(|text| text.to_string()),
        };
        Ok(match &self.bounds {
            Bounds::Prefix(prefix) => format!("quintet.prefix({})", prefix.bind(py).repr()?),
            Bounds::Between { low, high, inclusive } => {
                format!("quintet.between({}, {}, {:?})", shown(low)?, shown(high)?, inclusive.name)
            }
        })
    }

    /// How it is pickled and copied: as the call that makes it.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let module = py.import("quintet")?;
        match &self.bounds {
            Bounds::Prefix(prefix) => (module.getattr("prefix")?, (prefix,)).into_pyobject(py),
            Bounds::Between { low, high, inclusive } => {
                (module.getattr("between")?, (low, high, inclusive.name)).into_pyobject(py)
            }
        }
    }
}

/// Stands in a template for the values from `low` to `high`, which have one type; None for either leaves that end open.
///
/// `inclusive` says which of the two are in it: "both", "left", "right" or "neither". Numbers are ordered as numbers, NaN is in no range and -0.0
/// lies where 0.0 does; str and bytes are ordered by their bytes, of which text has those of UTF-8. As everywhere, `int` is 64 bits wide and a
/// NumPy scalar keeps its width: `quintet.between(numpy.float32(0), None)`.
///
/// Raises BadValue for bounds of two types, for none at all, for NaN, for bool and arrays, and for text or bytes above 1024 bytes.
#[pyfunction]
#[pyo3(signature = (low, high, inclusive = INCLUSIVE[0]), text_signature = "(low, high, inclusive='both')")]
pub(crate) fn between(
    py: Python<'_>,
    low: Option<Py<PyAny>>,
    high: Option<Py<PyAny>>,
    inclusive: Inclusive,
) -> PyResult<RangeField> {
    RangeField { bounds: Bounds::Between { low, high, inclusive } }.checked(py)
}

/// Stands in a template for any str, or bytes, that begins with this.
///
/// Raises BadValue for anything else, and above 1024 bytes.
#[pyfunction]
pub(crate) fn prefix(py: Python<'_>, prefix: Py<PyAny>) -> PyResult<RangeField> {
    RangeField { bounds: Bounds::Prefix(prefix) }.checked(py)
}
