//! `quintet reproduce linda-lan`.
//!
//! | file | holds |
//! | --- | --- |
//! | `linda_lan/field.rs` | machines, and one run on them |
//! | `linda_lan/kernels.rs` | kernels against direct connections |
//! | `linda_lan/side.rs` | the processes of a run |
//! | `linda_lan/usage.rs` | what a process has used |

mod field;
pub(super) mod kernels;
mod side;
mod usage;

use super::{Arguments, draw, show};
use crate::pinning;
use crate::whole_file;
use field::Field;
use indicatif::{ProgressBar, ProgressStyle};
use quintet::Error;
use quintet_reproduce::linda_lan::simulated::Simulated;
use quintet_reproduce::linda_lan::{Measured, Packets, Place, Subject};
use std::process::ExitCode;
use std::time::Duration;

pub(crate) use side::SideArguments;

/// Of the sweep at dimension 10, beyond the five that the paper has: until more take longer on two machines.
const WORKERS: [u32; 9] = [1, 2, 3, 4, 5, 6, 8, 12, 16];
const WORKERS_QUICK: [u32; 2] = [1, 2];
/// With each dimension.
const USUAL_WORKERS: u32 = 5;
/// The dimension of the sweep.
const USUAL_DIMENSION: u32 = 10;
const STEP: u32 = 32;
const BLOCKS: u32 = 10_000;
const BLOCKS_QUICK: u32 = 200;
const TURNS: u32 = 10;
const TURNS_QUICK: u32 = 2;

/// Runs the experiment on this machine.
pub(super) fn live(arguments: &Arguments) -> Result<ExitCode, Error> {
    let measured = measure(arguments)?;
    let text = match arguments.json {
        true => measured.objects().iter().map(|object| format!("{object}\n")).collect(),
        false => measured.to_string(),
    };
    if let Some(file) = &arguments.csv {
        whole_file::write(file, |to| {
            to.write_all(measured.csv().as_bytes()).map_err(|error| whole_file::refused(file, &error))
        })?;
    }
    show(&text, arguments.html.as_deref(), || measured.html(&draw))
}

/// Simulates the machines of the paper.
pub(super) fn simulated(arguments: &Arguments) -> Result<ExitCode, Error> {
    let simulated = Simulated::run(arguments.seeds);
    let text = match arguments.json {
        true => simulated.objects().iter().map(|object| format!("{object}\n")).collect(),
        false => simulated.to_string(),
    };
    show(&text, arguments.html.as_deref(), || simulated.html(&draw))
}

/// Everything that is run in a turn.
fn subjects(is_quick: bool) -> Vec<Subject> {
    let dimensions = if is_quick { 1..=2 } else { 1..=5 };
    let workers: &[u32] = if is_quick { &WORKERS_QUICK } else { &WORKERS };
    let of_dimension = |tens| Subject::Jmatrix { dimension: USUAL_DIMENSION * tens, workers: USUAL_WORKERS };
    let of_workers = workers.iter().filter(|workers| **workers != USUAL_WORKERS);
    let of_workers =
        of_workers.map(|workers| Subject::Jmatrix { dimension: USUAL_DIMENSION, workers: *workers });
    let blocks = if is_quick { BLOCKS_QUICK } else { BLOCKS };
    dimensions.map(of_dimension).chain(of_workers).chain([Subject::Jblock { blocks, step: STEP }]).collect()
}

/// Makes all runs: in each turn each program with two packets, and then with one.
fn measure(arguments: &Arguments) -> Result<Measured, Error> {
    let (subjects, mut place) = (subjects(arguments.quick), Place::default());
    let turns = arguments.runs.unwrap_or(if arguments.quick { TURNS_QUICK } else { TURNS });
    let fields = fields(arguments, &mut place)?;
    (place.processors, place.load_before) = (pinning::allowed()?.len(), load());
    let bar = bar(turns as usize * fields.len() * subjects.len() * Packets::BOTH.len());
    let mut samples = Vec::new();
    for turn in 0..turns {
        for field in &fields {
            for subject in &subjects {
                for packets in Packets::BOTH {
                    samples.push(field.run(*subject, packets, turn)?);
                    bar.inc(1);
                }
            }
        }
    }
    bar.finish_and_clear();
    place.load_after = load();
    Ok(Measured { samples, place })
}

/// One machine, two, or both, as was asked; why there are no two, where nobody asked for them alone.
fn fields(arguments: &Arguments, place: &mut Place) -> Result<Vec<Field>, Error> {
    let mut fields = Vec::new();
    if arguments.machines != Some(2) {
        fields.push(Field::one());
    }
    if arguments.machines != Some(1) {
        match Field::two() {
            Ok(field) => fields.push(field),
            // Who asks for two alone gets an error; who asks for all, what there is, and why not more.
            Err(error) if arguments.machines.is_none() => place.no_second = Some(error.to_string()),
            Err(error) => return Err(error),
        }
    }
    place.is_one_each = arguments.one_processor;
    match place.is_one_each {
        true => fields.into_iter().map(Field::with_one_processor_each).collect(),
        false => Ok(fields),
    }
}

/// What a terminal shows while so many runs are made.
pub(super) fn bar(runs: usize) -> ProgressBar {
    let bar = ProgressBar::new(runs as u64);
    let style = ProgressStyle::with_template("{bar:30} {pos} of {len} runs, {eta} left");
    bar.set_style(style.expect("the template is well-formed"));
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

/// How many processes wanted a processor, in the mean over the last minute; 0 where the system does not tell.
pub(super) fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_has_the_papers_runs_each_once() {
        let all = subjects(false);
        for tens in 1..=5 {
            assert!(all.contains(&Subject::Jmatrix { dimension: 10 * tens, workers: 5 }));
            assert!(all.contains(&Subject::Jmatrix { dimension: 10, workers: tens }));
        }
        assert!(all.contains(&Subject::Jblock { blocks: 10_000, step: 32 }));
        assert!(all.iter().all(|subject| all.iter().filter(|other| *other == subject).count() == 1));
        assert!(subjects(true).len() < all.len());
    }
}
