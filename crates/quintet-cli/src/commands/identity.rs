//! `quintet identity`.

use crate::output::{print, print_json};
use clap::{Args, Subcommand};
use quintet::Error;
use quintet_identity::{IdentityError, Issued};
use serde_json::json;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Issue an identity for another machine, as one file to carry there
    Issue(IssueArguments),
}

#[derive(Args)]
#[command(
    after_help = "The file holds a private key: carry it over a way that nobody else can read, and delete it here. It is valid for 90 days; issue a new one before.\n\nExample:\n  quintet identity issue --cluster lab --name b --out b.identity\n  scp b.identity b: && ssh b QUINTET_IDENTITY=./b.identity quintet status --space tls:a:7400"
)]
struct IssueArguments {
    /// The cluster, by the name that `quintet init` was given, or the path, with a slash in it, of its folder
    #[arg(long, value_name = "NAME")]
    cluster: String,
    /// What to call the machine
    #[arg(long, value_name = "NAME")]
    name: String,
    /// The file to write
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

impl Arguments {
    /// Whether a program reads what it prints.
    pub(crate) fn is_for_a_program(&self) -> bool {
        match &self.command {
            Command::Issue(arguments) => arguments.json,
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let Command::Issue(issue) = &arguments.command;
    let folder = quintet_identity::place(&issue.cluster, &environment).map_err(refused)?;
    let issued = quintet_identity::issue(&folder, &issue.name, &issue.out).map_err(|error| match error {
        IdentityError::NotAnAuthority => Error::new(error.code(), format!("{}: {error}", folder.display())),
        other => refused(other),
    })?;
    let Issued { cluster, path, days } = issued;
    if issue.json {
        print_json(&json!({"cluster": cluster, "path": path.to_string_lossy(), "days": days}))?;
    } else {
        let path = path.display();
        print(&format!(
            "{path}: cluster {cluster}, valid for {days} days\n\
             carry it to that machine, and set QUINTET_IDENTITY to its path there, with a slash in it\n"
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn environment(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

pub(super) fn refused(error: IdentityError) -> Error {
    Error::new(error.code(), error.to_string())
}
