//! `quintet simulate`: what modelled machines would do.

mod cluster;
mod managers;
pub(crate) mod run;

use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use quintet::Error;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// A model of machines and programs that a file describes: how busy is what, how long does what take
    Run(run::Arguments),
    /// A worker farm on the product's own tuple space, on machines that a file describes
    Cluster(cluster::Arguments),
    /// A space over several managers, each with a core of its own: what more of them give
    Managers(managers::Arguments),
}

impl Arguments {
    /// Whether a program reads what it prints.
    pub(crate) fn is_for_a_program(&self) -> bool {
        match &self.what {
            What::Run(arguments) => arguments.json,
            What::Cluster(arguments) => arguments.json,
            What::Managers(arguments) => arguments.json,
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    match &arguments.what {
        What::Run(arguments) => run::run(arguments),
        What::Cluster(arguments) => cluster::run(arguments),
        What::Managers(arguments) => managers::run(arguments),
    }
}

/// How many of so many runs are made. It draws nothing where standard error is not a terminal.
fn progress(runs: u64) -> ProgressBar {
    let bar = ProgressBar::new(runs);
    let style = ProgressStyle::with_template("{bar:30} {pos} of {len} runs, {per_sec}, {eta} left");
    bar.set_style(style.expect("the template is well-formed"));
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}
