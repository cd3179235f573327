//! `quintet isotach`.
//!
//! | file | holds |
//! | --- | --- |
//! | `isotach/philosophers.rs` | the demo: philosophers, whose forks are shared variables |
//! | `isotach/places.rs` | the machines on which philosophers are started |
//! | `isotach/side.rs` | one philosopher, a process |
//! | `isotach/told.rs` | what a philosopher tells |

mod philosophers;
mod places;
mod side;
mod told;

pub(crate) use side::{FORK_BYTES, SideArguments, copies_of, forks_of, put, take};

use clap::{Args, Subcommand};
use quintet::Error;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "Example:\n  quintet isotach demo philosophers -n 5")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Show isochrons at work
    #[command(
        after_help = "Examples:\n  quintet isotach demo philosophers -n 5\n  quintet isotach demo philosophers -n 5 --hosts a,b,c --kill-one"
    )]
    Demo(Demo),
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
        let Action::Demo(Demo { which: Which::Philosophers(arguments) }) = &self.action;
        arguments.json
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let Action::Demo(Demo { which: Which::Philosophers(arguments) }) = &arguments.action;
    philosophers::run(arguments)
}
