//! `quintet rotate`.

use super::place::ClusterName;
use super::refused;
use crate::output::{print_json, print_line};
use clap::Args;
use quintet::Error;
use quintet_agent::renew;
use serde_json::json;
use std::process::ExitCode;
use std::time::UNIX_EPOCH;

#[derive(Args)]
#[command(
    after_help = "Agents do so by themselves when a third of a certificate's time is left. The machine with the authority's key signs for itself; any other asks the machines of the cluster, one of which has it. The key stays: a machine with a new key is a new member, which leaves and joins again. An agent that runs shows the new certificate within a minute.\n\nExample:\n  quintet rotate"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    cluster: ClusterName,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let folder = arguments.cluster.folder()?;
    let renewed = renew(&folder).map_err(refused)?;
    if arguments.json {
        let until = renewed.valid.until.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        print_json(&json!({"valid_until": until, "signed_by": renewed.by.map(|node| node.0)}))?;
    } else {
        print_line(renewed)?;
    }
    Ok(ExitCode::SUCCESS)
}
