//! `quintet isotach`.
//!
//! | file | holds |
//! | --- | --- |
//! | `isotach/simulate.rs` | isochrons on a network of a file, simulated |
//! | `isotach/philosophers.rs` | the demo: philosophers, whose forks are shared variables |
//! | `isotach/heard.rs` | what is heard of all of them |
//! | `isotach/picture.rs` | how they do, at a terminal and elsewhere |
//! | `isotach/places.rs` | the machines on which philosophers are started |
//! | `isotach/side.rs` | one philosopher, a process |
//! | `isotach/told.rs` | what a philosopher tells |

mod heard;
mod philosophers;
mod picture;
mod places;
mod side;
mod simulate;
mod told;

pub(crate) use side::{FORK_BYTES, SideArguments, copies_of, forks_of, put, take};

use clap::{Args, Subcommand};
use quintet::Error;
use std::process::ExitCode;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  quintet isotach demo philosophers -n 5\n  quintet isotach simulate examples/isotach/two-switches.topology"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Show isochrons at work
    #[command(
        after_help = "Examples:\n  quintet isotach demo philosophers -n 5\n  quintet isotach demo philosophers -n 5 --hosts a,b,c --kill-one\n  quintet isotach demo philosophers -n 5 --kill-one 2 --come-back\n  quintet isotach demo philosophers -n 5 --stop-one 3 --silence 0.5"
    )]
    Demo(Demo),
    /// Simulate isochrons on a network of switches that a file describes: how long they take, how many tokens pass
    Simulate(simulate::Arguments),
}

#[derive(Args)]
struct Demo {
    #[command(subcommand)]
    which: Which,
}

#[derive(Subcommand)]
enum Which {
    /// Philosophers, each a process, take both their forks at one instant: no lock, no deadlock, one order
    Philosophers(philosophers::Arguments),
}

impl Arguments {
    /// Whether a program reads what it prints.
    pub(crate) fn is_for_a_program(&self) -> bool {
        match &self.action {
            Action::Demo(Demo { which: Which::Philosophers(arguments) }) => arguments.json,
            Action::Simulate(arguments) => arguments.json,
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    match &arguments.action {
        Action::Demo(Demo { which: Which::Philosophers(arguments) }) => philosophers::run(arguments),
        Action::Simulate(arguments) => simulate::run(arguments),
    }
}
