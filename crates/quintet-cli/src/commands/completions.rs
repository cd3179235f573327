//! `quintet completions`.

use crate::output::print;
use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::{Shell, generate};
use quintet::Error;
use std::process::ExitCode;

#[derive(Args)]
#[command(
    after_help = "Example:\n  quintet completions bash > ~/.local/share/bash-completion/completions/quintet"
)]
pub(crate) struct Arguments {
    /// The shell
    shell: Kind,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    Bash,
    Zsh,
    Fish,
}

pub(crate) fn run<C: CommandFactory>(arguments: &Arguments) -> Result<ExitCode, Error> {
    let shell = match arguments.shell {
        Kind::Bash => Shell::Bash,
        Kind::Zsh => Shell::Zsh,
        Kind::Fish => Shell::Fish,
    };
    // `generate` ends the program when it cannot write.
    let mut script = Vec::new();
    generate(shell, &mut C::command(), "quintet", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
