//! Values that processes record.

use super::run::Run;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use quintet_model::MeasureResult;
use quintet_simulate::Picos;
use quintet_simulate::statistics::{Quantiles, Tally};

/// Values that are kept to a millionth at least where quantiles are told: up to four months, if they are times in seconds.
const LARGEST_SPREAD: f64 = 1e7;

/// What was recorded of a quantity.
pub(super) struct Measured {
    pub(super) name: String,
    tally: Tally,
    quantiles: Quantiles,
    /// Whether all values are such that their quantiles can be told.
    is_spread: bool,
}

impl Measured {
    pub(super) fn new(name: String) -> Measured {
        Measured { name, tally: Tally::new(), quantiles: Quantiles::new(), is_spread: true }
    }

    pub(super) fn forget(&mut self) {
        *self = Measured::new(std::mem::take(&mut self.name));
    }

    fn record(&mut self, value: f64) {
        self.tally.add(value);
        self.is_spread &= (0.0..LARGEST_SPREAD).contains(&value);
        if self.is_spread {
            self.quantiles.add(Picos::from_seconds(value));
        }
    }

    pub(super) fn into_result(self) -> (String, MeasureResult) {
        let quantiles = if self.is_spread { self.quantiles } else { Quantiles::new() };
        (self.name, MeasureResult::Times { tally: self.tally, quantiles })
    }
}

/// A quantity whose values processes record: it is among the measures of the result.
#[pyclass(frozen, module = "quintet.simulate")]
pub(crate) struct Measure {
    pub(super) run: Py<Run>,
    pub(super) index: u32,
}

#[pymethods]
impl Measure {
    /// Records a value; one that is recorded before the end of the warm-up does not count.
    ///
    /// Raises ValueError for a value that is not finite.
    fn record(&self, py: Python<'_>, value: f64) -> PyResult<()> {
        if !value.is_finite() {
            return Err(PyValueError::new_err(format!("{value} cannot be recorded")));
        }
        if let Some(measured) = self.run.bind(py).borrow_mut().world.measures.get_mut(self.index as usize) {
            measured.record(value);
        }
        Ok(())
    }
}
