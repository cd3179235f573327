//! The pair from C and from C-Linda, beside the same from Rust; and what the C-Linda compiler's options save, beside the same without.

use super::super::case::{Beside, Better, Case, Group, Prepare, Round, Unit};
use super::super::peer::Statistic;
use super::pair::{
    made_anew_in_process, made_anew_in_shared_memory, small_in_process, small_in_shared_memory,
};
use super::served::Served;
use super::{PLACEMENT, WAITING};
use quintet::{Code, Error};
use std::path::PathBuf;
use std::process::Command;

/// What measures, below the folder of what was built; from C-Linda.
const PROGRAM: &str = "c/bench/pair";
const CLINDA: &str = "c/bench/pair-clinda";
/// Steps of C-Linda, as they are written, and as the compiler makes them with `-fhoist` and with `-ffuse`.
const STEPS: &str = "c/bench/steps";
const HOISTED: &str = "c/bench/steps-hoist";
const FUSED: &str = "c/bench/steps-fuse";
/// What C may take, in times of what Rust takes: a handle is made for each tuple that is taken; and C-Linda, which adds to
/// a tuple what varies, each time.
const GOAL: f64 = 1.1;

pub(super) fn cases() -> Vec<Case> {
    let beside = |name, ours: Prepare, peer, prepare: Prepare| {
        Case::new(Group::Space, name, Unit::Nanoseconds, Better::Lower, ours)
            .beside(Beside::Itself { name: peer, prepare })
            .goal(GOAL)
    };
    let pair = |name, ours, rust| beside(name, ours, "rust", rust);
    // C-Linda makes the tuple of each pair, where the one that Rust puts lies ready.
    let alike = |name, ours, rust| beside(name, ours, "rust, each tuple made", rust);
    let steps = |name, ours: Prepare, plain: Prepare| {
        Case::new(Group::Space, name, Unit::Nanoseconds, Better::Lower, ours)
            .beside(Beside::Itself { name: "as written", prepare: plain })
            .under(WAITING, PLACEMENT)
    };
    vec![
        pair("c-pair-inprocess", || in_process(PROGRAM), small_in_process),
        pair("c-pair-shm", || served(PROGRAM, &[]), small_in_shared_memory).under(WAITING, PLACEMENT),
        pair("pair-clinda-inprocess", || in_process(CLINDA), small_in_process),
        alike("pair-clinda-inprocess", || in_process(CLINDA), made_anew_in_process),
        pair("pair-clinda-shm", || served(CLINDA, &[]), small_in_shared_memory).under(WAITING, PLACEMENT),
        alike("pair-clinda-shm", || served(CLINDA, &[]), made_anew_in_shared_memory)
            .under(WAITING, PLACEMENT),
        steps("farm-clinda-hoist-shm", || served(HOISTED, &["farm"]), || served(STEPS, &["farm"])),
        steps("reads-clinda-hoist-shm", || served(HOISTED, &["reads"]), || served(STEPS, &["reads"])),
        steps("token-clinda-fuse-shm", || served(FUSED, &["token"]), || served(STEPS, &["token"])),
    ]
}

/// A program whose space is in its own process: 20,000 pairs or steps a round, their median in nanoseconds.
fn in_process(program: &'static str) -> Result<Round, Error> {
    Ok(Box::new(move || round(program, &[], None)))
}

/// The same over shared memory, told which steps.
fn served(program: &'static str, which: &'static [&str]) -> Result<Round, Error> {
    let served = Served::start()?;
    let address = served.address().to_string();
    Ok(served.rounds(move || round(program, which, Some(&address))))
}

/// Runs the program, which stays on the processor of whoever starts it.
fn round(program: &str, which: &[&str], address: Option<&str>) -> Result<f64, Error> {
    let built = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let program = built.join(program);
    let failed = |why: String| Error::new(Code::Resource, format!("{}: {why}", program.display()));
    let mut command = Command::new(&program);
    command.args(which);
    // Where there is none, the space is in the program's own process.
    command.env_remove("QUINTET_SPACE");
    if let Some(address) = address {
        command.env("QUINTET_SPACE", address).args(["--address", address]);
    }
    let output = command.output().map_err(|_| {
        failed("not here; start this in the repository's root, after `make -C bindings/c bench-clinda`, which makes all of them".to_owned())
    })?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    Statistic::Middle
        .find(&String::from_utf8_lossy(&output.stdout))
        .ok_or_else(|| failed("it said nothing that is known here".to_owned()))
}
