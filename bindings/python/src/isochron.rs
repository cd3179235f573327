//! One isochron: put together, begun, waited for.

use crate::connection::{limit, wait_with_signals};
use crate::error::{class_of, raise};
use crate::fork::Maker;
use crate::isonet::{Program, place_of};
use crate::pending::calling;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};
use quintet::{
    Bytes, Cause, Code, Error, Executed, IsochronMaker, IsonetCause, NoValue, PendingIsochron as Begun,
    Variable,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

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
    /// What was begun and has reserved places: whoever is interrupted before it is given that finds it here.
    reserving: Mutex<Option<Py<PendingIsochron>>>,
}

/// An isochron under way. Dropped, it goes on.
#[pyclass(frozen, module = "quintet._native")]
pub(crate) struct PendingIsochron {
    program: Arc<Program>,
    process: Maker,
    maker: IsochronMaker,
    state: Mutex<State>,
    /// Variables whose next places it has reserved, and their bytes; none: nothing is to be given back.
    reserved: Mutex<Option<Vec<(u32, usize)>>>,
}

enum State {
    UnderWay(Begun),
    Done(Result<Executed, Error>),
    /// Its places are given back, whatever it comes to.
    GivenBack,
}

#[pymethods]
impl Isochrons {
    /// Begins to put one together.
    ///
    /// Raises PeerDied, Malformed, Closed, or the error by which this member has left.
    fn isochron(&self) -> PyResult<Isochron> {
        self.process.check().map_err(raise)?;
        let isochron = self.maker.isochron().map_err(|error| self.program.raise(error))?;
        let (program, maker) = (Arc::clone(&self.program), self.maker.clone());
        let (isochron, reserving) = (Mutex::new(Some(isochron)), Mutex::new(None));
        Ok(Isochron { program, process: self.process, maker, isochron, reserving })
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

    fn begin_with(
        &self,
        py: Python<'_>,
        to_wait: bool,
        reserved: Option<Vec<(u32, usize)>>,
    ) -> PyResult<PendingIsochron> {
        self.process.check().map_err(raise)?;
        let isochron = self.take().ok_or_else(|| raise(over()))?;
        if to_wait && self.maker.is_handling() {
            py.detach(|| isochron.abandon());
            return Err(raise(waits_in_a_handler()));
        }
        let begun = py.detach(|| isochron.begin()).map_err(|error| self.program.raise(error))?;
        let (program, maker, process) = (Arc::clone(&self.program), self.maker.clone(), self.process);
        let (state, reserved) = (Mutex::new(State::UnderWay(begun)), Mutex::new(reserved));
        Ok(PendingIsochron { program, process, maker, state, reserved })
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
        self.begin_with(py, to_wait, None)
    }

    /// Begins it, to be waited for. Its first reads are of these variables, of so many bytes, of which it reserves the next places: they are given back, unless it is kept.
    fn begin_reserving(&self, py: Python<'_>, variables: Vec<(u32, usize)>) -> PyResult<Py<PendingIsochron>> {
        let begun = Py::new(py, self.begin_with(py, true, Some(variables))?)?;
        *self.reserving.lock().unwrap_or_else(PoisonError::into_inner) = Some(begun.clone_ref(py));
        Ok(begun)
    }

    /// What `begin_reserving` has begun, given once.
    fn take_reserving(&self) -> Option<Py<PendingIsochron>> {
        self.reserving.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Gives it up: nothing of it happens.
    fn abandon(&self) {
        if let Some(isochron) = self.take() {
            isochron.abandon();
        }
    }
}

impl Drop for Isochron {
    fn drop(&mut self) {
        self.abandon();
    }
}

#[pymethods]
impl PendingIsochron {
    /// Its place and the values of its reads; for one that has none, the name of the error and its text. It may be asked for again.
    #[pyo3(signature = (timeout = None))]
    fn result<'py>(&self, py: Python<'py>, timeout: Option<f64>) -> PyResult<Bound<'py, PyTuple>> {
        let limit = limit(timeout)?;
        let seen = wait_with_signals(py, limit, |slice| {
            if let Err(error) = self.process.check() {
                return Some(Err(error));
            }
            py.detach(|| self.look(slice))
        })?;
        let executed =
            seen.ok_or_else(|| raise(self.goes_on()))?.map_err(|error| self.program.raise(error))?;
        let values = values_of(py, &executed.values)?;
        PyTuple::new(py, [place_of(py, executed.place)?.into_any(), values.into_any()])
    }

    /// Whether `result` would say at once.
    fn done(&self, py: Python<'_>) -> bool {
        self.process.check().is_err() || py.detach(|| self.look(Duration::ZERO)).is_some()
    }

    /// Calls back once `done`: now, or on the thread that brings the answer. It must hand over and return.
    fn notify(&self, py: Python<'_>, callback: Py<PyAny>) {
        let call = Box::new(calling(callback));
        py.detach(|| match &*self.state() {
            State::UnderWay(begun) if self.process.check().is_ok() => begun.notify(call),
            _ => call(),
        });
    }

    /// The places that it has reserved get their values otherwise.
    fn keep(&self) {
        self.take_reserved();
    }

    /// Once its reads have their values, gives them as those of the places that it has reserved; and calls back.
    fn give_back(&self, py: Python<'_>, callback: Py<PyAny>) {
        let call = calling(callback);
        py.detach(|| self.restore(call));
    }
}

impl PendingIsochron {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look(&self, slice: Duration) -> Option<Result<Executed, Error>> {
        let mut state = self.state();
        if let State::UnderWay(begun) = &mut *state {
            let executed = begun.wait(slice)?;
            *state = State::Done(executed);
        }
        match &*state {
            State::Done(executed) => Some(executed.clone()),
            _ => Some(Err(over())),
        }
    }

    fn take_reserved(&self) -> Option<Vec<(u32, usize)>> {
        self.reserved.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Gives the reserved places back, and calls back.
    fn restore(&self, call: impl FnOnce() + Send + 'static) {
        let Some(variables) = self.take_reserved() else { return call() };
        let maker = self.maker.clone();
        let restore = move |executed: Result<Executed, Error>| {
            // Of an isochron that was not executed there is no place.
            if let Ok(executed) = executed {
                restore(maker, variables, executed.values);
            }
            call();
        };
        let state = std::mem::replace(&mut *self.state(), State::GivenBack);
        match state {
            State::UnderWay(begun) => begun.then(restore),
            State::Done(executed) => restore(executed),
            State::GivenBack => {}
        }
    }

    fn goes_on(&self) -> Error {
        let running = self.program.running();
        let about = running.map_or(String::new(), |(name, seconds)| {
            format!("; handler {name} of this member has been running for {seconds:.1} s, and nothing is executed here meanwhile")
        });
        Error::new(Code::TimedOut, format!("the isochron goes on, and may be executed yet{about}"))
    }
}

impl Drop for PendingIsochron {
    fn drop(&mut self) {
        let state =
            std::mem::replace(self.state.get_mut().unwrap_or_else(PoisonError::into_inner), State::GivenBack);
        Python::attach(|py| self.process.let_go(py, state));
    }
}

/// Gives the places that were reserved the values that were there before: in the next view, if nobody does it in this one.
fn restore(maker: IsochronMaker, variables: Vec<(u32, usize)>, values: Vec<Result<Bytes, NoValue>>) {
    let begin = || {
        let mut isochron = maker.isochron()?;
        for ((variable, bytes), value) in variables.iter().zip(&values) {
            let value = value.clone().unwrap_or_else(|_| vec![0; *bytes].into());
            isochron.assign(Variable(*variable), value)?;
        }
        isochron.begin()
    };
    // Of an isonet that has ended no place matters.
    if let Ok(begun) = begin() {
        begun.then(move |executed: Result<Executed, Error>| {
            if executed.is_err_and(|error| error.cause() == &Cause::Isonet(IsonetCause::ViewChanged)) {
                restore(maker, variables, values);
            }
        });
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
