//! What is wrong with a model, as an exception.

use pyo3::prelude::*;
use quintet_model::{ModelError, Problem};

/// File, line, key, text.
pub(super) type Place = (Option<String>, Option<usize>, String, String);

/// A problem's parts. The places of a model that came from no file are its keys alone.
pub(super) fn place(problem: Problem, has_file: bool) -> Place {
    let text = problem.kind.to_string();
    (problem.file.filter(|_| has_file), problem.line.filter(|_| has_file), problem.key, text)
}

/// The exception for a model that cannot run.
pub(crate) fn raise(error: ModelError, has_file: bool) -> PyErr {
    let code = error.code() as u16;
    let places: Vec<_> = error.problems.into_iter().map(|problem| place(problem, has_file)).collect();
    Python::attach(|py| {
        let made = py
            .import("quintet.errors")
            .and_then(|errors| errors.getattr("from_problems"))
            .and_then(|make| make.call1((code, places)));
        made.map_or_else(|failed| failed, PyErr::from_value)
    })
}
