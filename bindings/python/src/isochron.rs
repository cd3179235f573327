//! One isochron: put together, begun, waited for.

use crate::error::{class_of, raise};
use crate::fork::Maker;
use crate::isonet::{Program, place_of};
use crate::plain::PendingPlain;
use crate::reserving::Reserving;
use crate::under_way::UnderWay;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};
use quintet::{Bytes, Code, Error, IsochronMaker, NoValue, Variable};
use std::sync::{Arc, Mutex, PoisonError};

/// Makes isochrons of a member. What a handler is given keeps no isonet alive.
#[pyclass(frozen, module = "quintet._native")]
pub(crate) struct Isochrons {
    pub(crate) maker: IsochronMaker,
    pub(crate) program: Arc<Program>,
    pub(crate) process: Maker,
}

/// An isochron that is put together. Dropped, nothing of it happens.
#[pyclass(frozen, module = "quintet._native")]
pub(crate) struct Isochron {
    program: Arc<Program>,
    process: Maker,
    maker: IsochronMaker,
    /// None once it was begun or abandoned.
    isochron: Mutex<Option<quintet::Isochron>>,
}

/// An isochron under way. Dropped, it goes on.
#[pyclass(frozen, module = "quintet._native")]
pub(crate) struct PendingIsochron(UnderWay<quintet::PendingIsochron>);

#[pymethods]
impl Isochrons {
    /// Begins to put one together.
    ///
    /// Raises PeerDied, Malformed, Closed, or the error by which this member has left.
    fn isochron(&self) -> PyResult<Isochron> {
        self.process.check().map_err(raise)?;
        let isochron = self.maker.isochron().map_err(|error| self.program.raise(error))?;
        let (program, maker) = (Arc::clone(&self.program), self.maker.clone());
        Ok(Isochron { program, process: self.process, maker, isochron: Mutex::new(Some(isochron)) })
    }

    /// Reads variables, by their numbers, and reserves their next places.
    ///
    /// Raises BadValue in a handler, and for what cannot be; as `isochron`.
    fn reserve(&self, py: Python<'_>, variables: Vec<u32>) -> PyResult<Reserving> {
        self.process.check().map_err(raise)?;
        if self.maker.is_handling() {
            return Err(raise(waits_in_a_handler()));
        }
        let variables: Vec<Variable> = variables.into_iter().map(Variable).collect();
        let reserving = py.detach(|| self.maker.reserve(&variables));
        let reserving = reserving.map_err(|error| self.program.raise(error))?;
        Ok(Reserving::of(&self.program, self.process, reserving))
    }

    /// Begins a plain message to a plain handler, by its number.
    ///
    /// Raises BadValue for no such member, TooLarge; as `isochron`.
    fn begin_plain(
        &self,
        py: Python<'_>,
        member: u16,
        handler: u32,
        data: Vec<u8>,
    ) -> PyResult<PendingPlain> {
        self.process.check().map_err(raise)?;
        let begun = py.detach(|| self.maker.begin_plain(member, handler, data));
        Ok(PendingPlain::of(&self.program, self.process, begun.map_err(|error| self.program.raise(error))?))
    }

    /// Whether this is the thread that runs the handlers.
    fn is_handling(&self) -> bool {
        self.maker.is_handling()
    }
}

impl Isochron {
    fn with<T>(&self, operate: impl FnOnce(&mut quintet::Isochron) -> Result<T, Error>) -> PyResult<T> {
        self.process.check().map_err(raise)?;
        let mut isochron = self.isochron.lock().unwrap_or_else(PoisonError::into_inner);
        isochron.as_mut().ok_or_else(over).and_then(operate).map_err(raise)
    }

    fn take(&self) -> Option<quintet::Isochron> {
        self.isochron.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[pymethods]
impl Isochron {
    /// Sends a message to a handler, by its number.
    fn send(&self, member: u16, handler: u32, data: Vec<u8>) -> PyResult<()> {
        self.with(|isochron| isochron.send(member, handler, data))
    }

    /// Sends it to every member of the view that it is put together in, or to none.
    fn send_all(&self, handler: u32, data: Vec<u8>) -> PyResult<()> {
        self.with(|isochron| isochron.send_all(handler, data))
    }

    /// Reads a variable: which of the values it is.
    fn read(&self, variable: u32) -> PyResult<usize> {
        self.with(|isochron| isochron.read(Variable(variable)))
    }

    fn write(&self, variable: u32, value: Vec<u8>) -> PyResult<()> {
        self.with(|isochron| isochron.write(Variable(variable), value))
    }

    fn schedule(&self, variable: u32) -> PyResult<()> {
        self.with(|isochron| isochron.schedule(Variable(variable)))
    }

    fn assign(&self, variable: u32, value: Vec<u8>) -> PyResult<()> {
        self.with(|isochron| isochron.assign(Variable(variable), value))
    }

    /// Begins it. `to_wait`: it is to be waited for, which no handler may.
    fn begin(&self, py: Python<'_>, to_wait: bool) -> PyResult<PendingIsochron> {
        self.process.check().map_err(raise)?;
        let isochron = self.take().ok_or_else(|| raise(over()))?;
        if to_wait && self.maker.is_handling() {
            py.detach(|| isochron.abandon());
            return Err(raise(waits_in_a_handler()));
        }
        let begun = py.detach(|| isochron.begin()).map_err(|error| self.program.raise(error))?;
        Ok(PendingIsochron(UnderWay::new(&self.program, self.process, begun)))
    }

    /// Gives it up: nothing of it happens.
    fn abandon(&self) {
        if let Some(isochron) = self.take() {
            isochron.abandon();
        }
    }
}

/// Dropped with operations in it and neither begun nor given up, it is told by `close`.
impl Drop for Isochron {
    fn drop(&mut self) {
        let isochron = self.take();
        Python::attach(|py| self.process.let_go(py, isochron));
    }
}

#[pymethods]
impl PendingIsochron {
    /// Its place and the values of its reads; for one that has none, the name of the error and its text. It may be asked for again.
    #[pyo3(signature = (timeout = None))]
    fn result<'py>(&self, py: Python<'py>, timeout: Option<f64>) -> PyResult<Bound<'py, PyTuple>> {
        let executed = self.0.result(py, timeout)?;
        let values = values_of(py, &executed.values)?;
        PyTuple::new(py, [place_of(py, executed.place)?.into_any(), values.into_any()])
    }

    fn done(&self, py: Python<'_>) -> bool {
        self.0.done(py)
    }

    fn notify(&self, py: Python<'_>, callback: Py<PyAny>) {
        self.0.notify(py, callback);
    }
}

/// Values of reads: bytes, or the name of the error and its text.
pub(crate) fn values_of<'py>(
    py: Python<'py>,
    values: &[Result<Bytes, NoValue>],
) -> PyResult<Bound<'py, PyList>> {
    let one = |value: &Result<Bytes, NoValue>| match value {
        Ok(value) => Ok(PyBytes::new(py, value).into_any()),
        Err(why) => Ok((class_of(*why), why.to_string()).into_pyobject(py)?.into_any()),
    };
    PyList::new(py, values.iter().map(one).collect::<PyResult<Vec<_>>>()?)
}

fn over() -> Error {
    Error::new(Code::BadValue, "this isochron is over: it was begun or abandoned before; make another one")
}

pub(crate) fn waits_in_a_handler() -> Error {
    let text = "a handler runs on the thread that executes isochrons, which would wait for itself: begin one with `with message.isochron() as i:`, which does not wait";
    Error::new(Code::BadValue, text)
}
