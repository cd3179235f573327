//! `quintet init`.

use crate::commands::identity::{environment, refused, show};
use clap::Args;
use quintet::{Code, Error};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args)]
#[command(
    after_help = "Makes the cluster's certificate authority and the identity of this machine, in a folder that only this user can enter: $XDG_CONFIG_HOME/quintet/NAME, or ~/.config/quintet/NAME. What is there already is never replaced. Machines' identities are valid for 90 days, this one's too: issue new ones before with `quintet identity issue`. The authority's key signs the identities of all machines: keep a copy of the folder where nobody else can read it.\n\nExample:\n  quintet init lab\n  QUINTET_IDENTITY=lab quintet serve --listen tls:0.0.0.0:7400"
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
    let made = quintet_identity::create(&folder, &machine).map_err(refused)?;
    quintet_agent::found(&folder, &machine).map_err(|error| Error::new(error.code(), error.to_string()))?;
    let next = format!(
        "serve: QUINTET_IDENTITY={named} quintet serve --listen tls:0.0.0.0:7400\n\
         another machine: quintet identity issue --cluster {named} --name MACHINE --out MACHINE.identity"
    );
    show(&made, arguments.json, &next)
}

/// The machine's name, if that can be a name here.
pub(crate) fn host_name() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    if name.is_empty() { "machine".to_owned() } else { name }
}
