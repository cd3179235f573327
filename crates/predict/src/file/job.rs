//! Reading a job.

use super::{File, Section, load, read};
use crate::job::{Job, Kill, Places};
use crate::keys;
use quintet_contract::Span;
use quintet_model::{Dimension, ModelError};
use quintet_simulate::Picos;
use std::path::Path;
use toml::de::{DeTable, DeValue};

impl Job {
    /// Reads and checks a job. `file` is the name that errors have.
    ///
    /// # Errors
    /// Everything that is wrong with it, in the order of the lines.
    pub fn from_str(text: &str, file: &str) -> Result<Job, ModelError> {
        read(text, file, job)
    }

    /// Reads and checks a job's file.
    ///
    /// # Errors
    /// A file that cannot be read or is larger than 1 MiB; else those of [`Job::from_str`].
    pub fn from_file(path: impl AsRef<Path>) -> Result<Job, ModelError> {
        let path = path.as_ref();
        Job::from_str(&load(path)?, &path.display().to_string())
    }
}

fn job(file: &File<'_>, table: &DeTable<'_>) -> Option<Job> {
    file.check_names(table, &["job", "place", "kill"]);
    for name in ["job", "place"] {
        if !table.contains_key(name) {
            file.missing(0, name, &format!("the table [{name}]"));
        }
    }
    let kill = table.contains_key("kill").then(|| kill(file, table));
    let places = file.section(table, "place", &keys::PLACE).and_then(|section| places(&section));
    let section = file.section(table, "job", &keys::FARM)?;
    let (tasks, task, result) = (section.whole("tasks"), section.whole("task"), section.whole("result"));
    let compute = section.distribution("compute", Dimension::TIME);
    let (workers, take, lease) = (section.whole("workers"), section.word("take"), section.number("lease"));
    Some(Job {
        tasks: tasks?,
        task_bytes: usize::try_from(task?).ok()?,
        result_bytes: usize::try_from(result?).ok()?,
        compute: compute?,
        workers: usize::try_from(workers?).ok()?,
        lease: if take? == "lease" { Some(span(lease?)) } else { None },
        places: places?,
        kill: kill.map_or(Some(None), |kill| kill.map(Some))?,
    })
}

fn span(seconds: f64) -> Span {
    Span(Picos::from_seconds(seconds).time().0)
}

fn kill(file: &File<'_>, table: &DeTable<'_>) -> Option<Kill> {
    let section = file.section(table, "kill", &keys::KILL)?;
    let (worker, at, noticed_after) =
        (section.whole("worker"), section.number("at"), section.number("noticed_after"));
    let worker = usize::try_from(worker?).ok()?;
    Some(Kill { worker, at: span(at?), noticed_after: span(noticed_after?) })
}

fn places(section: &Section<'_, '_>) -> Option<Places> {
    let space = section.text("space").map(|(space, _)| space);
    let master = section.entry("master").map(|_| section.text("master").map(|(master, _)| master));
    let workers = section.entry("workers").map(|_| names(section, "workers"));
    let space = space?;
    Some(Places {
        master: master.unwrap_or_else(|| Some(space.clone()))?,
        workers: workers.unwrap_or_else(|| Some(vec![space.clone()]))?,
        space,
    })
}

/// A list of names, at least one.
fn names(section: &Section<'_, '_>, name: &str) -> Option<Vec<String>> {
    let (entry, path) = (section.entry(name)?, section.path_of(name));
    match entry.get_ref() {
        DeValue::Array(list) if !list.is_empty() => {
            list.iter().map(|entry| section.file.text(&path, entry, "the name of a machine")).collect()
        }
        _ => {
            section.file.wrong_kind(entry, &path, "a list of names of machines, at least one");
            None
        }
    }
}
