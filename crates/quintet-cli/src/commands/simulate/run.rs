//! `quintet simulate run`: what is shown is shown before any file is written, so that no file's failure loses a result.

mod arguments;
mod broken;
mod ending;
mod pattern;
mod plot;
mod rows;
pub(crate) mod scale;
mod table;
mod trace;

use super::progress;
use crate::connection::refused;
use crate::interrupt::on_interrupt;
use crate::output::{first, print, tell};
use crate::whole_file;
pub(crate) use arguments::{Arguments, setting};
use broken::{Broken, broken};
use pattern::Pattern;
use quintet::Error;
use quintet_model::{Axis, Cell, Model, ModelError, Watch, nearest};
use rows::{Row, rows};
use signal_hook::consts::SIGXFSZ;
use signal_hook::flag;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// Everything the runs gave, and how they were asked for.
struct Outcome<'a> {
    model: &'a Model,
    axes: &'a [Axis],
    cells: &'a [Cell],
    /// How many runs a cell should have.
    seeds: u64,
    confidence: f64,
    /// Whether the table has the elements of groups too.
    elements: bool,
    /// Which quantities; none: all.
    quantities: Option<Pattern>,
    /// The statements of `[check]` that runs break.
    broken: Vec<Broken>,
}

impl<'a> Outcome<'a> {
    fn rows(&self, cell: &'a Cell) -> Vec<Row<'a>> {
        let mut rows = rows(self.model, &cell.study, self.confidence);
        rows.retain(|row| self.quantities.as_ref().is_none_or(|wanted| wanted.matches(row.quantity)));
        rows
    }

    /// # Errors
    /// No run has a quantity that is asked for.
    fn check(&self) -> Result<(), Error> {
        let Some(wanted) = &self.quantities else { return Ok(()) };
        if self.cells.iter().all(|cell| cell.study.runs.is_empty()) {
            return Ok(());
        }
        let mut names = self.cells.iter().flat_map(|cell| cell.study.quantities.keys().map(String::as_str));
        match names.clone().any(|name| wanted.matches(name)) {
            true => Ok(()),
            false => Err(plot::no_quantity(wanted.text(), nearest(wanted.text(), names.by_ref()))),
        }
    }

    /// Those that the table has.
    fn table_rows(&self, cell: &'a Cell) -> Vec<Row<'a>> {
        let mut rows = self.rows(cell);
        let by_name = self.quantities.as_ref().is_some_and(Pattern::is_name);
        rows.retain(|row| self.elements || by_name || !self.model.is_in_group(&row.subject));
        rows
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let model = arguments.model()?;
    model.warnings().iter().for_each(tell);
    arguments.check(&model)?;
    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    on_interrupt(move |_| told.store(true, Relaxed))?;
    // A file above the limit of `ulimit -f` fails like one on a full disk, in place of ending this process.
    flag::register(SIGXFSZ, Arc::default()).map_err(refused("handle signals"))?;
    let cells = simulate(arguments, &model, &stop).map_err(wrong)?;
    let outcome = Outcome {
        model: &model,
        axes: &arguments.axes,
        cells: &cells,
        seeds: arguments.seeds,
        confidence: arguments.confidence,
        elements: arguments.elements,
        quantities: arguments.quantity.as_deref().map(Pattern::new),
        broken: broken(&model, &arguments.axes, &cells),
    };
    outcome.check()?;
    let text = if arguments.json { rows::as_json(&outcome) } else { table::text(&outcome) };
    let mut errors = Vec::new();
    errors.extend(print(&text).err());
    errors.extend(ending::error(&outcome, stop.load(Relaxed)));
    errors.extend(write_files(arguments, &outcome, &stop));
    first(errors)?;
    Ok(ExitCode::from(u8::from(!outcome.broken.is_empty())))
}

/// What is wrong with a model, as it is.
fn wrong(error: ModelError) -> Error {
    Error::new(error.code(), error.to_string())
}

fn simulate(arguments: &Arguments, model: &Model, stop: &AtomicBool) -> Result<Vec<Cell>, ModelError> {
    let seeds: Vec<u64> = (0..arguments.seeds).map(|seed| arguments.first_seed.wrapping_add(seed)).collect();
    let cells: u64 = arguments.axes.iter().map(|axis| axis.values.len() as u64).product();
    let bar = progress(cells * arguments.seeds);
    let watch = Watch { stop, ended: &|| bar.inc(1) };
    let cells = model.grid(&arguments.axes, &seeds, Some(&watch));
    bar.finish_and_clear();
    cells
}

/// Writes all files that can be written, and says which cannot.
fn write_files(arguments: &Arguments, outcome: &Outcome<'_>, stop: &AtomicBool) -> Vec<Error> {
    let text = |path: &Path, text: Result<String, Error>| {
        whole_file::write(path, |to| {
            to.write_all(text?.as_bytes()).map_err(|error| whole_file::refused(path, &error))
        })
    };
    let csv = arguments.csv.as_deref().map(|path| text(path, Ok(rows::as_csv(outcome))));
    let plot = arguments.plot.as_deref().map(|path| text(path, plot::svg(outcome)));
    let trace = arguments.trace.as_deref().map(|path| trace::write(path, arguments, outcome.model, stop));
    [csv, plot, trace].into_iter().flatten().filter_map(Result::err).collect()
}
