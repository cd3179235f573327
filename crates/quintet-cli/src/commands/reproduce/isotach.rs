//! `quintet reproduce isotach-1.0`.

use super::linda_lan::{bar, load};
use super::{Arguments, draw, show};
use crate::bench::isotach::{Length, Nets};
use crate::pinning;
use quintet::Error;
use quintet_reproduce::isotach_1_0::Simulated;
use quintet_reproduce::isotach_1_0::live::{Live, Machine, runs};
use std::process::ExitCode;

const TURNS: u32 = 9;
const TURNS_QUICK: u32 = 2;
const LENGTH: Length = Length { round_trips: 500, messages: 4_000 };
const LENGTH_QUICK: Length = Length { round_trips: 20, messages: 200 };

/// The figures on a model of the study's machines, and what is beyond them.
pub(super) fn simulated(arguments: &Arguments) -> Result<ExitCode, Error> {
    let simulated = Simulated::run(arguments.quick, arguments.seeds);
    let text = match arguments.json {
        true => simulated.objects().iter().map(|object| format!("{object}\n")).collect(),
        false => simulated.to_string(),
    };
    show(&text, arguments.html.as_deref(), || simulated.html(&draw))
}

/// The experiments on this machine.
pub(super) fn live(arguments: &Arguments) -> Result<ExitCode, Error> {
    let measured = measure(arguments)?;
    let text = match arguments.json {
        true => measured.objects().iter().map(|object| format!("{object}\n")).collect(),
        false => measured.to_string(),
    };
    show(&text, arguments.html.as_deref(), || measured.html(&draw))
}

/// Each run once a turn, after a short one of each that is not counted.
fn measure(arguments: &Arguments) -> Result<Live, Error> {
    let (runs, mut live) = (runs(arguments.quick), Live::default());
    let turns = arguments.runs.unwrap_or(if arguments.quick { TURNS_QUICK } else { TURNS });
    let length = if arguments.quick { LENGTH_QUICK } else { LENGTH };
    live.machine = Machine { processors: pinning::allowed()?.len(), load_before: load(), load_after: 0.0 };
    let nets = Nets::start()?;
    let bar = bar((turns as usize + 1) * runs.len());
    for run in &runs {
        nets.measure(run, LENGTH_QUICK)?;
        bar.inc(1);
    }
    for _ in 0..turns {
        for run in &runs {
            live.values.entry(*run).or_default().push(nets.measure(run, length)?);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    live.machine.load_after = load();
    Ok(live)
}
