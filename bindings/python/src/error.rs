//! Errors as Python exceptions. The classes stand in `quintet/errors.py`; there is one for each code.

use crate::words::in_python;
use pyo3::prelude::*;
use quintet::{Cause, Code, Error, Fault, IsonetCause, NoValue, Retry};
use std::borrow::Cow;

/// The exception for an error.
pub(crate) fn raise(error: impl Into<Error>) -> PyErr {
    let error = error.into();
    // What nearly matched is told in the types of tuples.
    let text = match error.code() {
        Code::TimedOut => in_python(error.text()).into(),
        _ => Cow::Borrowed(error.text()),
    };
    Python::attach(|py| {
        let code = error.code() as u16;
        let made = py.import("quintet.errors").and_then(|errors| match error.cause() {
            Cause::Isonet(IsonetCause::ViewChanged) => errors.getattr("ViewChanged")?.call1((code, &*text)),
            Cause::Isonet(IsonetCause::NoValue(why)) => errors.getattr(class_of(*why))?.call1((code, &*text)),
            _ => errors.getattr("from_code")?.call1((code, &*text)),
        });
        if let (Ok(made), Cause::TooOld(Some(oldest))) = (&made, error.cause())
            && let Err(failed) = made.setattr("oldest", *oldest)
        {
            return failed;
        }
        made.map_or_else(|failed| failed, PyErr::from_value)
    })
}

/// The class of a read without a value.
pub(crate) fn class_of(why: NoValue) -> &'static str {
    match why {
        NoValue::WriterDied => "WriterDied",
        NoValue::Unanswered => "Unanswered",
        NoValue::Lost => "ValueLost",
        _ => "NoValue",
    }
}

/// A field that cannot be a value. `what` says what it is, after the field's number.
pub(crate) fn bad_value(field: usize, what: impl std::fmt::Display) -> PyErr {
    raise(Error::new(Code::BadValue, format!("field {field}: {what}")))
}

/// An integer that is too large for 64 bits.
pub(crate) fn integer_overflow(py: Python<'_>, field: usize, value: &str) -> PyErr {
    let text = format!("field {field}: {value} does not fit into a signed integer of 64 bits");
    let made = py
        .import("quintet.errors")
        .and_then(|errors| errors.getattr("IntegerOverflow"))
        .and_then(|class| class.call1((Code::BadValue as u16, text)));
    made.map_or_else(|failed| failed, PyErr::from_value)
}

/// A row of [`codes`].
type Row = (u16, &'static str, &'static str, &'static str, &'static str, u8);

/// Every error code: number, name, text, fault, retry, exit status.
#[pyfunction]
pub(crate) fn codes() -> Vec<Row> {
    let row = |code: &Code| {
        let fault = match code.fault() {
            Fault::Misuse => "misuse",
            Fault::Peer => "peer",
            Fault::Limit => "limit",
            Fault::System => "system",
        };
        let retry = match code.retry() {
            Retry::Safe => "safe",
            Retry::Indeterminate => "indeterminate",
            Retry::Useless => "useless",
        };
        (*code as u16, code.name(), code.text(), fault, retry, code.exit_status())
    };
    Code::ALL.iter().map(row).collect()
}
