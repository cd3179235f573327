//! The command line of Quintet.
//!
//! Each command is a file of `commands/` with its arguments and its code; this file only says which there are. What a
//! command prints for a program stands on standard output and is one JSON object with `--json`; what it says to a person
//! meanwhile stands on standard error.
//!
//! | file | holds |
//! | --- | --- |
//! | `main.rs` | which commands there are |
//! | `commands/` | one command a file; `run` is the largest: begin at `commands/run.rs` |
//! | `activity.rs` | what goes on in a space: workers, tasks, who waits for what |
//! | `bench.rs` | `quintet bench`: measurements beside peers |
//! | `chart.rs` | lines in a diagram, as SVG |
//! | `companion.rs` | another process of this program |
//! | `connection.rs` | `--space`, `--cluster-id` and settings, for the commands that share them |
//! | `core_dumps.rs` | no core dumps of what holds keys |
//! | `descriptors.rs` | how many descriptors this process may have |
//! | `interrupt.rs` | ctrl-C and its kin |
//! | `log.rs` | `--log`: events on standard error |
//! | `metrics.rs` | `--metrics`: an endpoint for Prometheus |
//! | `output.rs` | standard output and standard error |
//! | `pinning.rs` | which processors there are, and staying on one |
//! | `python.rs` | which Python is used |
//! | `telemetry.rs` | those two together |
//! | `template.rs` | templates as a person writes them |
//! | `terminal.rs` | a terminal that is drawn on in place |
//! | `watch.rs` | `--watch`: drawn in place, again and again |
//! | `whole_file.rs` | files that are there as a whole, or not at all |
#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr, reason = "they end the program when nobody can be told")]

mod activity;
mod asking;
mod bench;
mod chart;
mod commands;
mod companion;
mod connection;
mod core_dumps;
mod descriptors;
#[cfg(test)]
mod documents;
mod interrupt;
mod log;
mod metrics;
mod output;
mod pinning;
mod python;
mod replicas;
mod telemetry;
mod template;
mod terminal;
mod watch;
mod whole_file;

use clap::{Parser, Subcommand};
use commands::cluster::{down, join, leave, rotate, up};
use commands::{
    clc, completions, doctor, exit_status, explore, identity, init, isotach, kernel, peek, ps, replay,
    reproduce, run, scope, serve, simulate, slurm_agent, space, status, supervise_child, supervise_job,
    testbed, token, top,
};
use quintet::{Code, Error};
use std::process::ExitCode;

/// The status of a command line that cannot be understood: EX_USAGE of sysexits.h.
const USAGE: u8 = 64;

#[derive(Parser)]
#[command(
    name = "quintet",
    version,
    about = "Coordinates a handful of machines: tasks survive crashes",
    after_help = "`quintet help COMMAND` shows an example of each; `quintet help exit-status` what a status means."
)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make a cluster: its certificate authority, and this machine's identity
    Init(init::Arguments),
    /// Start this machine's agent: its part in a cluster
    Up(up::Arguments),
    /// Join a cluster with a token, and start this machine's agent
    Join(join::Arguments),
    /// End this machine's agent, and all that it has started
    Down(down::Arguments),
    /// Take a machine out of the cluster for good
    Leave(leave::Arguments),
    /// Have this machine's certificate made anew, for the same key
    Rotate(rotate::Arguments),
    /// Issue identities for other machines of a cluster
    Identity(identity::Arguments),
    /// Make, list and revoke tokens: with one a machine joins a cluster
    Token(token::Arguments),
    /// Run a job: a space, workers and a master, all ended together
    Run(run::Arguments),
    /// Serve a tuple space until ctrl-C
    Serve(serve::Arguments),
    /// Stand between the programs of this machine and a space, so that its server has one connection to the machine
    Kernel(kernel::Arguments),
    /// Isochrons: operations of several processes at one instant, in one order, without locks
    Isotach(isotach::Arguments),
    /// Show how a cluster and its space are: machines, workers, tasks, and who waits for whom
    Status(status::Arguments),
    /// List the processes of jobs, on all machines of a cluster
    Ps(ps::Arguments),
    /// Show what workers do: tasks done, how busy they are, processors and memory
    Top(top::Arguments),
    /// Create, list, show and remove named spaces
    Space(space::Arguments),
    /// Show a space live: partitions, rates, waiters, leases, hot keys, leaks
    Scope(scope::Arguments),
    /// List tuples of a space without taking them
    Peek(peek::Arguments),
    /// Print what happens to tuples of a space, as it happens
    Watch(commands::watch::Arguments),
    /// Replay a recording and compare every byte
    Replay(replay::Arguments),
    /// Search random schedules and faults for a broken promise
    Explore(explore::Arguments),
    /// Predict: run the product's own protocols on modelled machines
    Simulate(simulate::Arguments),
    /// Simulate a published study again, or run its experiment, and compare with what is printed
    Reproduce(reproduce::Arguments),
    /// Make several machines of this one, whose network can be cut, slowed and made lossy
    Testbed(testbed::Arguments),
    /// Compile C-Linda: C with operations on a tuple space
    Clc(clc::Arguments),
    /// Check this machine, and say what to do
    Doctor(doctor::Arguments),
    /// Measure beside peers and limits
    Bench(bench::Arguments),
    /// Print a script that completes this command in a shell
    Completions(completions::Arguments),
    /// Say what each exit status means
    #[command(long_about = exit_status::text(), after_help = "Example:\n  quintet help exit-status")]
    ExitStatus,
    #[command(hide = true)]
    SuperviseChild(supervise_child::Arguments),
    #[command(hide = true)]
    SuperviseJob(supervise_job::Arguments),
    #[command(hide = true)]
    SlurmAgent,
    #[command(hide = true)]
    Philosopher(isotach::SideArguments),
    #[command(hide = true)]
    LindaLanSide(reproduce::SideArguments),
    #[command(hide = true)]
    BenchSide(bench::SideArguments),
    #[command(hide = true)]
    BenchMemory(bench::MemoryArguments),
    #[command(hide = true)]
    BenchNodes(bench::NodesArguments),
}

impl Command {
    /// Whether a program reads what it prints.
    fn is_for_a_program(&self) -> bool {
        match self {
            Command::Init(arguments) => arguments.json,
            Command::Up(arguments) => arguments.json,
            Command::Join(arguments) => arguments.json,
            Command::Rotate(arguments) => arguments.json,
            Command::Identity(arguments) => arguments.is_for_a_program(),
            Command::Token(arguments) => arguments.is_for_a_program(),
            Command::Run(arguments) => arguments.json,
            Command::SlurmAgent => true,
            Command::Serve(arguments) => arguments.json,
            Command::Kernel(arguments) => arguments.json,
            Command::Isotach(arguments) => arguments.is_for_a_program(),
            Command::Status(arguments) => arguments.json,
            Command::Ps(arguments) => arguments.json,
            Command::Top(arguments) => arguments.json,
            Command::Space(arguments) => arguments.is_for_a_program(),
            Command::Scope(arguments) => arguments.json,
            Command::Peek(arguments) => arguments.json,
            Command::Watch(arguments) => arguments.json,
            Command::Replay(arguments) => arguments.json,
            Command::Explore(arguments) => arguments.json,
            Command::Simulate(arguments) => arguments.is_for_a_program(),
            Command::Reproduce(arguments) => arguments.json,
            Command::Testbed(arguments) => arguments.is_for_a_program(),
            Command::Doctor(arguments) => arguments.json,
            Command::Bench(arguments) => arguments.json,
            Command::Clc(arguments) => arguments.is_for_a_program(),
            _ => false,
        }
    }

    /// Whether it may read keys of a cluster, or tokens.
    fn holds_keys(&self) -> bool {
        match self {
            Command::Init(_)
            | Command::Up(_)
            | Command::Join(_)
            | Command::Down(_)
            | Command::Leave(_)
            | Command::Rotate(_)
            | Command::Identity(_)
            | Command::Token(_)
            | Command::Run(_)
            | Command::Serve(_)
            | Command::Kernel(_)
            | Command::SlurmAgent
            | Command::Ps(_)
            | Command::Top(_)
            | Command::Space(_)
            | Command::Scope(_)
            | Command::Peek(_)
            | Command::Watch(_)
            | Command::Status(_) => true,
            Command::Replay(_)
            | Command::Explore(_)
            | Command::Simulate(_)
            | Command::Reproduce(_)
            | Command::Testbed(_)
            | Command::Clc(_)
            | Command::Doctor(_)
            | Command::Bench(_)
            | Command::Completions(_)
            | Command::ExitStatus
            | Command::SuperviseChild(_)
            | Command::SuperviseJob(_)
            | Command::Isotach(_)
            | Command::Philosopher(_)
            | Command::LindaLanSide(_)
            | Command::BenchSide(_)
            | Command::BenchMemory(_)
            | Command::BenchNodes(_) => false,
        }
    }

    fn run(self) -> Result<ExitCode, Error> {
        if self.holds_keys() {
            core_dumps::forbid()?;
        }
        match self {
            Command::Init(arguments) => init::run(&arguments),
            Command::Up(arguments) => up::run(&arguments),
            Command::Join(arguments) => join::run(&arguments),
            Command::Down(arguments) => down::run(&arguments),
            Command::Leave(arguments) => leave::run(&arguments),
            Command::Rotate(arguments) => rotate::run(&arguments),
            Command::Identity(arguments) => identity::run(&arguments),
            Command::Token(arguments) => token::run(&arguments),
            Command::Run(arguments) => run::run(&arguments),
            Command::Serve(arguments) => serve::run(&arguments),
            Command::Kernel(arguments) => kernel::run(&arguments),
            Command::Status(arguments) => status::run(arguments),
            Command::Ps(arguments) => ps::run(arguments),
            Command::Top(arguments) => top::run(arguments),
            Command::Space(arguments) => space::run(arguments),
            Command::Scope(arguments) => scope::run(arguments),
            Command::Peek(arguments) => peek::run(arguments),
            Command::Watch(arguments) => commands::watch::run(&arguments),
            Command::Replay(arguments) => replay::run(&arguments),
            Command::Explore(arguments) => explore::run(&arguments),
            Command::Simulate(arguments) => simulate::run(&arguments),
            Command::Reproduce(arguments) => reproduce::run(&arguments),
            Command::Testbed(arguments) => testbed::run(&arguments),
            Command::Clc(arguments) => clc::run(&arguments),
            Command::Doctor(arguments) => doctor::run(&arguments),
            Command::Bench(arguments) => bench::run(&arguments),
            Command::Completions(arguments) => completions::run::<CommandLine>(&arguments),
            Command::ExitStatus => exit_status::run(),
            Command::SuperviseChild(arguments) => Err(supervise_child::run(&arguments)),
            Command::SlurmAgent => slurm_agent::run(),
            Command::SuperviseJob(arguments) => supervise_job::run(&arguments),
            Command::Isotach(arguments) => isotach::run(&arguments),
            Command::Philosopher(arguments) => arguments.run(),
            Command::LindaLanSide(arguments) => arguments.run(),
            Command::BenchSide(arguments) => arguments.run(),
            Command::BenchMemory(arguments) => arguments.run(),
            Command::BenchNodes(arguments) => arguments.run(),
        }
    }
}

fn main() -> ExitCode {
    let command_line = match CommandLine::try_parse() {
        Ok(command_line) => command_line,
        Err(error) => {
            // If the terminal is gone there is nobody to tell.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(USAGE) } else { ExitCode::SUCCESS };
        }
    };
    let for_a_program = command_line.command.is_for_a_program();
    command_line.command.run().unwrap_or_else(|error| {
        // What a value is wrong for stands in its text; most are no values but what was typed.
        match error.code() {
            Code::BadValue => output::tell(error.text()),
            _ => output::tell(&error),
        }
        if for_a_program {
            let object = serde_json::json!({"error": error.code().name(), "text": error.text()});
            // It was told above, and the status says it, too.
            let _ = output::print_json(&object);
        }
        ExitCode::from(error.code().exit_status())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// A paragraph is one line: the terminal's width breaks it, and nothing else.
    #[test]
    fn no_help_has_a_line_that_breaks_a_sentence() {
        // An example stands two places in; a row of a table begins with a number.
        let is_example = |line: &str| line.strip_prefix("  ").is_some_and(|line| !line.starts_with(' '));
        let goes_on = |line: &str| {
            line.starts_with(|first: char| first.is_alphanumeric())
                || !is_example(line) && line.trim_start().starts_with(|first: char| first.is_alphabetic())
        };
        let mut commands = vec![CommandLine::command()];
        while let Some(command) = commands.pop() {
            let texts = [command.get_after_help(), command.get_long_about(), command.get_about()];
            for text in texts.into_iter().flatten().map(ToString::to_string) {
                let breaks = text.lines().zip(text.lines().skip(1)).find(|(line, next)| {
                    line.ends_with(|last: char| last.is_alphanumeric() || last == ',') && goes_on(next)
                });
                assert_eq!(breaks, None, "{}", command.get_name());
            }
            commands.extend(command.get_subcommands().cloned());
        }
    }
}
