//! `quintet init`.

use crate::commands::identity::{environment, refused};
use crate::commands::token::{self, USUAL_TIME};
use crate::output::{print, print_json};
use clap::Args;
use quintet::{Code, Error};
use quintet_agent::Record;
use quintet_identity::{Grants, IdentityError, Issued};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Args)]
#[command(
    after_help = "Makes the cluster's certificate authority and the identity of this machine, in a folder that only this user can enter: $XDG_CONFIG_HOME/quintet/NAME, or ~/.config/quintet/NAME. What is there already is never replaced. Prints the command with which one other machine joins, once and within 24 hours; `quintet token create` makes more of them. Certificates are valid for 90 days; the machines' agents, which `quintet up` starts, have them made anew in time. The authority's key signs the identities of all machines: keep a copy of the folder where nobody else can read it.\n\nExamples:\n  quintet init lab && quintet up lab\n  QUINTET_IDENTITY=lab quintet serve --listen tls:0.0.0.0:7500"
)]
pub(crate) struct Arguments {
    /// What to call the cluster; with a slash in it, the path of the folder to make
    #[arg(value_name = "NAME")]
    name: String,
    /// What to call this machine; else its host name
    #[arg(long, value_name = "NAME")]
    machine: Option<String>,
    /// The folder to make, instead of one below this user's configuration
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let usual = quintet_identity::place(&arguments.name, &environment).map_err(refused)?;
    let chosen = arguments.dir.as_ref().map(std::path::absolute).transpose();
    let chosen = chosen.map_err(|error| Error::new(Code::BadValue, format!("--dir: {error}")))?;
    let machine = arguments.machine.clone().unwrap_or_else(host_name);
    let named = chosen.as_ref().map_or_else(|| arguments.name.clone(), |folder| folder.display().to_string());
    let folder = chosen.unwrap_or(usual);
    let made =
        quintet_identity::create(&folder, &machine).map_err(|error| there_already(error, &folder, &named))?;
    quintet_agent::found(&folder, &machine).map_err(|error| Error::new(error.code(), error.to_string()))?;
    let Issued { cluster, path, days } = &made;
    let (token, record) = token::issue(path, Grants::JOIN, USUAL_TIME, "made by quintet init")?;
    if arguments.json {
        let path = path.to_string_lossy();
        let object =
            json!({"cluster": cluster, "path": path, "days": days, "token": token.text(), "id": record.id()});
        print_json(&object)?;
    } else {
        print(&format!(
            "{}: cluster {cluster}, valid for {days} days\n\
             this machine: quintet up {named}\n\
             another machine, once and within 24 hours: {}\n",
            path.display(),
            token::join_command(path, &token)
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What is there already, and what to type.
fn there_already(error: IdentityError, folder: &Path, named: &str) -> Error {
    let own = Record::read(folder).ok().flatten();
    match (&error, own) {
        (IdentityError::Exists { path }, Some(own)) => {
            let text = format!(
                "{} is there already: this machine belongs to that cluster as {}; quintet up {named} starts its agent, quintet token create \
                 --cluster {named} lets another machine in",
                path.display(),
                own.name
            );
            Error::new(Code::BadValue, text)
        }
        _ => refused(error),
    }
}

/// The machine's name, if that can be a name here.
pub(super) fn host_name() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    if name.is_empty() { "machine".to_owned() } else { name }
}
