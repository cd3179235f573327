//! Kernels against direct connections, with 1 to 64 processes; and one packet against two through them.

use super::{Arguments, bar, draw, fields, load, show};
use crate::pinning;
use quintet::Error;
use quintet_reproduce::linda_lan::{KERNEL_RUNS, KernelStudy};
use std::process::ExitCode;

/// Of the simulated comparison as well.
const DIMENSION: u32 = 20;
const DIMENSION_QUICK: u32 = 5;
const PROCESSES: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
const PROCESSES_QUICK: [u32; 2] = [1, 3];
const TURNS: u32 = 10;
const TURNS_QUICK: u32 = 2;

/// Runs jmatrix both ways in each turn, and through kernels with two packets.
pub(crate) fn live(arguments: &Arguments) -> Result<ExitCode, Error> {
    let study = measure(arguments)?;
    let text = match arguments.json {
        true => study.objects().iter().map(|object| format!("{object}\n")).collect(),
        false => study.to_string(),
    };
    show(&text, arguments.html.as_deref(), || study.html(&draw))
}

fn measure(arguments: &Arguments) -> Result<KernelStudy, Error> {
    let mut study = KernelStudy::default();
    let (dimension, processes, turns) = match arguments.quick {
        true => (DIMENSION_QUICK, &PROCESSES_QUICK[..], TURNS_QUICK),
        false => (DIMENSION, &PROCESSES[..], TURNS),
    };
    let turns = arguments.runs.unwrap_or(turns);
    let fields = fields(arguments, &mut study.place)?;
    (study.place.processors, study.place.load_before) = (pinning::allowed()?.len(), load());
    let bar = bar(turns as usize * fields.len() * processes.len() * KERNEL_RUNS.len());
    for turn in 0..turns {
        for field in &fields {
            for processes in processes {
                for run in KERNEL_RUNS {
                    study.samples.push(field.run_jmatrix(run, dimension, *processes, turn)?);
                    bar.inc(1);
                }
            }
        }
    }
    bar.finish_and_clear();
    study.place.load_after = load();
    Ok(study)
}
