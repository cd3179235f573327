//! Fetches what processes left on other machines: while those still run the job's folder there.

use super::super::hosts::Hosts;
use super::super::machine::Machine;
use crate::output::tell;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

/// What was fetched from a machine.
pub(in super::super) struct Gathered {
    pub(super) machine: String,
    /// Parts of the trace.
    pub(super) parts: Vec<PathBuf>,
}

/// Fetches parts of the trace to a folder of the job, and histograms, under names with that of their machine behind, to `histograms`. From all machines at a time;
/// what cannot be fetched is said.
pub(in super::super) fn gather(hosts: &Hosts, job: &Path, histograms: Option<&Path>) -> Vec<Gathered> {
    let machines: Vec<&Arc<Machine>> = hosts.machines().filter(|machine| machine.has_parts()).collect();
    thread::scope(|scope| {
        let fetching: Vec<_> = (1..)
            .zip(&machines)
            .map(|(number, machine)| {
                let folder = job.join(format!("there-{number}"));
                scope.spawn(move || fetch_all(machine, &folder, histograms))
            })
            .collect();
        fetching.into_iter().map(|fetching| fetching.join().expect("it does not panic")).collect()
    })
}

fn fetch_all(machine: &Arc<Machine>, folder: &Path, histograms: Option<&Path>) -> Gathered {
    let mut gathered = Gathered { machine: machine.name().to_owned(), parts: Vec::new() };
    let lacks =
        |what: &str, why: &str| tell(format!("{what} of {} cannot be fetched: {why}", machine.name()));
    let made = fs::create_dir(folder).map_err(|error| error.to_string());
    let names = match made.and_then(|()| machine.list_parts()) {
        Ok(names) => names,
        Err(why) => {
            lacks("the trace or the histograms", &why);
            return gathered;
        }
    };
    for name in names {
        let is_part = name.ends_with(".part");
        let path = match (is_part, histograms) {
            (true, _) => folder.join(&name),
            (false, Some(histograms)) => histograms.join(with_machine(&name, machine.name())),
            (false, None) => continue,
        };
        let file = File::create_new(&path).map_err(|error| format!("{}: {error}", path.display()));
        if let Err(why) = file.and_then(|mut file| machine.fetch_part(&name, &mut file)) {
            lacks(&name, &why);
        }
        // What had come until then is as good as that of a process that was killed.
        if is_part && path.exists() {
            gathered.parts.push(path);
        }
    }
    gathered
}

/// `worker-0-4711.hlog` of b is `worker-0-4711-b.hlog`.
fn with_machine(name: &str, machine: &str) -> String {
    let plain = |letter: char| if letter.is_alphanumeric() || "-_.".contains(letter) { letter } else { '-' };
    let machine: String = machine.chars().map(plain).collect();
    let stem = name.strip_suffix(".hlog").unwrap_or(name);
    format!("{stem}-{machine}.hlog")
}
