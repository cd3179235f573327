//! A model that was read and checked.

use super::problems::{Place, place, raise};
use pyo3::prelude::*;
use quintet_model::{Model, ModelError};
use std::path::PathBuf;
use std::sync::Arc;

/// A model that can run.
#[pyclass(frozen, module = "quintet._native")]
pub(crate) struct SimulatedModel {
    pub(crate) model: Arc<Model>,
    pub(crate) has_file: bool,
}

#[pymethods]
impl SimulatedModel {
    /// Reads and checks a model, `text`, in the format of a model file; `file` is its name in errors. `settings` take the
    /// place of keys of `[model]`, `parameters` that of the values of parameters. `programs`: if it has
    /// processes, the modules in whose places they are; it may have no modules then.
    ///
    /// Raises BadFile or BadValue, with everything that is wrong.
    #[new]
    fn new(
        py: Python<'_>,
        text: &str,
        file: Option<&str>,
        settings: Vec<(String, String)>,
        parameters: Vec<(String, f64)>,
        programs: Option<Vec<String>>,
    ) -> PyResult<Self> {
        let text = (text, file.unwrap_or_default());
        let made = py.detach(|| read(text, settings, &parameters, programs.as_deref()));
        let has_file = file.is_some();
        let model = made.map_err(|error| raise(error, has_file))?;
        Ok(SimulatedModel { model: Arc::new(model), has_file })
    }

    /// The same with another number for a parameter.
    ///
    /// Raises BadValue.
    fn with_parameter(&self, name: &str, value: f64) -> PyResult<Self> {
        let changed = Model::clone(&self.model).with_parameters(&[(name, value)]);
        let checked = changed.and_then(|model| model.check().map(|()| model));
        let model = checked.map_err(|error| raise(error, self.has_file))?;
        Ok(SimulatedModel { model: Arc::new(model), has_file: self.has_file })
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        self.model.name()
    }

    /// Whether it states anything about its runs.
    #[getter]
    fn has_checks(&self) -> bool {
        self.model.has_checks()
    }

    /// The names of its parameters.
    #[getter]
    fn parameter_names(&self) -> Vec<String> {
        self.model.parameter_names().map(str::to_owned).collect()
    }

    /// What is strange about it, though it can run: file, line, key, text.
    fn warnings(&self) -> Vec<Place> {
        self.model.warnings().into_iter().map(|problem| place(problem, self.has_file)).collect()
    }
}

fn read(
    (text, file): (&str, &str),
    settings: Vec<(String, String)>,
    parameters: &[(String, f64)],
    programs: Option<&[String]>,
) -> Result<Model, ModelError> {
    let model = match programs {
        None => Model::from_str(text, file),
        Some(programs) => {
            let names: Vec<_> = programs.iter().map(String::as_str).collect();
            Model::driven_from_str(text, file, &names)
        }
    }?;
    let keys: Vec<_> = settings.iter().map(|(key, _)| format!("model.{key}")).collect();
    let set = settings.into_iter().fold(model, |model, (key, value)| model.with(&key, value));
    let parameters: Vec<_> = parameters.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let checked = set.with_parameters(&parameters).and_then(|model| model.check().map(|()| model));
    checked.map_err(|mut error| {
        // These values do not stand in the file.
        for problem in error.problems.iter_mut().filter(|problem| keys.contains(&problem.key)) {
            (problem.file, problem.line) = (None, None);
        }
        error
    })
}

/// The text of a model file that is good.
///
/// Raises BadFile or BadValue, with everything that is wrong.
#[pyfunction]
pub(crate) fn read_model(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    py.detach(|| Model::from_file(&path)).map_err(|error| raise(error, true))?;
    Ok(py.detach(|| std::fs::read_to_string(&path))?)
}
