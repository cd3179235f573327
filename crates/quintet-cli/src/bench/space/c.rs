//! The pair from C and from C-Linda, beside the same from Rust.

use super::super::case::{Beside, Better, Case, Group, Prepare, Round, Unit};
use super::super::peer::Statistic;
use super::pair::{small_in_process, small_in_shared_memory};
use super::served::Served;
use super::{PLACEMENT, WAITING};
use quintet::{Code, Error};
use std::path::PathBuf;
use std::process::Command;

/// What measures, below the folder of what was built; from C-Linda.
const PROGRAM: &str = "c/bench/pair";
const CLINDA: &str = "c/bench/pair-clinda";
/// What C may take, in times of what Rust takes: a handle is made for each tuple that is taken; and C-Linda, which adds to
/// a tuple what varies, each time.
const GOAL: f64 = 1.1;

pub(super) fn cases() -> Vec<Case> {
    let pair = |name, ours: Prepare, rust: Prepare| {
        Case::new(Group::Space, name, Unit::Nanoseconds, Better::Lower, ours)
            .beside(Beside::Itself { name: "rust", prepare: rust })
            .goal(GOAL)
    };
    let clinda: (Prepare, Prepare) = (clinda_in_process, clinda_in_shared_memory);
    vec![
        pair("c-pair-inprocess", in_process, small_in_process),
        pair("c-pair-shm", in_shared_memory, small_in_shared_memory).under(WAITING, PLACEMENT),
        pair("pair-clinda-inprocess", clinda.0, small_in_process),
        pair("pair-clinda-shm", clinda.1, small_in_shared_memory).under(WAITING, PLACEMENT),
    ]
}

/// A name and 64 bytes, each out and take awaited: 20,000 pairs a round, their median in nanoseconds.
fn in_process() -> Result<Round, Error> {
    Ok(Box::new(|| round(PROGRAM, None)))
}

/// The same, the space in another process.
fn in_shared_memory() -> Result<Round, Error> {
    let served = Served::start()?;
    let address = served.address().to_string();
    Ok(served.rounds(move || round(PROGRAM, Some(&address))))
}

/// The same from C-Linda, in process.
fn clinda_in_process() -> Result<Round, Error> {
    Ok(Box::new(|| round(CLINDA, None)))
}

/// The same, the space in another process.
fn clinda_in_shared_memory() -> Result<Round, Error> {
    let served = Served::start()?;
    let address = served.address().to_string();
    Ok(served.rounds(move || round(CLINDA, Some(&address))))
}

/// Runs the program, which stays on the processor of whoever starts it.
fn round(program: &str, address: Option<&str>) -> Result<f64, Error> {
    let built = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let program = built.join(program);
    let failed = |why: String| Error::new(Code::Resource, format!("{}: {why}", program.display()));
    let mut command = Command::new(&program);
    // Where there is none, the space is in the program's own process.
    command.env_remove("QUINTET_SPACE");
    if let Some(address) = address {
        command.env("QUINTET_SPACE", address).args(["--address", address]);
    }
    let output = command.output().map_err(|_| {
        failed("not here; start this in the repository's root, after `make -C bindings/c bench-clinda`, which makes both".to_owned())
    })?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    Statistic::Middle
        .find(&String::from_utf8_lossy(&output.stdout))
        .ok_or_else(|| failed("it said nothing that is known here".to_owned()))
}
