//! `quintet bench`: what operations take, beside what a peer or the machine's limit takes in the same run.
//!
//! The rounds of a case and of its peer take turns, and a ratio is taken within each turn: a machine's pace drifts, and
//! only neighbours in time compare. See benches/peers/README.md.
//!
//! | file | holds |
//! | --- | --- |
//! | `bench/case.rs` | what a case is: read this first |
//! | `bench/link.rs`, `space.rs`, `engine.rs`, `simulate.rs`, `membership.rs`, `explore.rs`, `predict.rs`, `cluster.rs`, `executor.rs`, `isotach.rs` | the cases, each with its goal |
//! | `bench/turns.rs` | the rounds of a case, in turn with what is beside it |
//! | `bench/disk.rs` | where that lies which has to outlive its process |
//! | `bench/quiet.rs` | whether the machine was quiet meanwhile |
//! | `bench/peer.rs` | the programs of benches/peers |
//! | `bench/script.rs` | the scripts of benches/python |
//! | `bench/row.rs` | a result |

mod case;
mod cluster;
mod disk;
mod engine;
mod executor;
mod explore;
pub(crate) mod isotach;
pub(crate) mod link;
mod membership;
mod peer;
mod predict;
mod quiet;
mod row;
mod script;
mod simulate;
mod space;
mod turns;

use crate::output::{print_line, tell};
use case::{Case, Group};
use clap::Args;
use quintet::{Code, Error};
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

pub(crate) use link::SideArguments;
pub(crate) use simulate::NodesArguments;
pub(crate) use space::MemoryArguments;

#[derive(Args)]
#[command(
    after_help = "Build with --release, and the peers with make -C benches/peers. The cases of clusters, and of executors and isochrons on two machines, make machines as quintet testbed does: as root, with the package iproute2. Those of executors start the Python of the package: .venv, built for release. What has to be on a disk, ours and the peers', lies below TMPDIR, or /tmp, which may not be in memory then.\nThe figures of a row are medians over all rounds. Its ratio is the median of the ratios within each round, of ours and what was measured beside it just then: a machine's pace drifts, so that it need not be the ratio of the two medians. A case with several things beside it, each with a goal of its own, is measured once for all of them and has a row for each.\nThe rows of predict say whether the machine was quiet: before, between and after the rounds of each turn a fixed loop runs on the first two processors. If it lost more than 2% of its time, took more than 1.15 times its least, or the host gave more than 1% to others, the figures say little.\nOf isotach an isochron is done when it is executed at all that have a part of it, a plain message when it has arrived at the other member's handler, and a call, beside them as messaging, when the handler's reply has come back by the broker.\n\nExample:\n  quintet bench space --rounds 11 --json\n  quintet bench --case shm-rtt-64"
)]
pub(crate) struct Arguments {
    /// Only these
    #[arg(value_enum)]
    group: Option<Group>,
    /// Only the cases over this kind of link
    #[arg(long, value_enum)]
    link: Option<link::Over>,
    /// Only the case of this name; may be given again
    #[arg(long = "case", value_name = "NAME", value_parser = known)]
    cases: Vec<String>,
    /// Say which cases there are, and measure nothing
    #[arg(long)]
    list: bool,
    /// How often each case is measured
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    rounds: u64,
    /// Where the peers are built
    #[arg(long, default_value = "benches/peers/build", value_name = "FOLDER")]
    peers: PathBuf,
    /// Print a JSON object a case, one a line
    #[arg(long)]
    pub(crate) json: bool,
}

fn cases() -> Vec<Case> {
    let mut cases = link::cases();
    cases.extend(space::cases());
    cases.extend(engine::cases());
    cases.extend(simulate::cases());
    cases.extend(membership::cases());
    cases.extend(explore::cases());
    cases.extend(predict::cases());
    cases.extend(cluster::cases());
    cases.extend(executor::cases());
    cases.extend(isotach::cases());
    cases
}

/// A name that a case has.
fn known(name: &str) -> Result<String, String> {
    let mut names: Vec<&str> = cases().iter().map(|case| case.name).collect();
    names.dedup();
    if names.contains(&name) {
        return Ok(name.to_owned());
    }
    Err(format!("there are {}", names.join(", ")))
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let wanted: Vec<Case> = cases().into_iter().filter(|case| arguments.wants(case)).collect();
    if wanted.is_empty() {
        let text = "no case fits all that is asked for; quintet bench --list names them with their groups";
        return Err(Error::new(Code::BadValue, text));
    }
    let mut failed = None;
    for case in together(&wanted) {
        let lines = match arguments.lines(&case) {
            Ok(lines) => lines,
            Err(error) => {
                // The other cases do not depend on it.
                let first = case.first().map(|case| format!("{}/{} ", case.group.name(), case.name));
                tell(format!("{}failed: {error}", first.unwrap_or_default()));
                failed.get_or_insert(error);
                continue;
            }
        };
        for line in lines {
            if !print_line(line)? {
                return failed.map_or(Ok(ExitCode::SUCCESS), Err);
            }
        }
    }
    failed.map_or(Ok(ExitCode::SUCCESS), Err)
}

/// The cases, those that share a name together, where the first of them was.
fn together(cases: &[Case]) -> Vec<Vec<&Case>> {
    let mut all: Vec<Vec<&Case>> = Vec::new();
    for case in cases {
        let same = |other: &&mut Vec<&Case>| {
            other.first().is_some_and(|other| (other.group, other.name) == (case.group, case.name))
        };
        match all.iter_mut().find(same) {
            Some(others) => others.push(case),
            None => all.push(vec![case]),
        }
    }
    all
}

impl Arguments {
    fn wants(&self, case: &Case) -> bool {
        self.group.is_none_or(|group| group == case.group)
            && self.link.is_none_or(|over| case.name.split('-').any(|word| word == over.name()))
            && (self.cases.is_empty() || self.cases.iter().any(|name| name == case.name))
    }

    /// What is said of cases that share a name: a line each.
    fn lines(&self, cases: &[&Case]) -> Result<Vec<String>, Error> {
        if self.list {
            return Ok(cases.iter().map(|case| self.describe(case)).collect());
        }
        let rows = turns::measure(cases, self.rounds, &self.peers)?;
        Ok(rows
            .iter()
            .map(|row| if self.json { row.as_json().to_string() } else { row.to_string() })
            .collect())
    }

    /// A case without its figures.
    fn describe(&self, case: &Case) -> String {
        let (bench, beside) = (case.group.name(), case.beside.names());
        if self.json {
            let (unit, better) = (case.unit.name(), case.better.name());
            return json!({"bench": bench, "case": case.name, "unit": unit, "better": better, "beside": beside, "goal": case.goal})
                .to_string();
        }
        let beside = if beside.is_empty() { String::new() } else { format!(" beside {}", beside.join(", ")) };
        let goal = case.show_goal().map(|goal| format!(", {goal}")).unwrap_or_default();
        format!("{bench}/{}{beside}{goal}", case.name)
    }
}
