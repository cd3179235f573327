//! `quintet down`.

use super::place::ClusterName;
use super::refused;
use crate::output::print_line;
use clap::Args;
use quintet::Error;
use quintet_agent::Client;
use std::process::ExitCode;

#[derive(Args)]
#[command(
    after_help = "Ends this machine's agent, and every process that it has started. The machine stays a member: `quintet up` starts the agent again. To take it out of the cluster, `quintet leave`.\n\nExample:\n  quintet down"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    cluster: ClusterName,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let folder = arguments.cluster.folder()?;
    Client::local(&folder).and_then(|client| client.end_agent(&folder)).map_err(refused)?;
    print_line("this machine's agent has ended")?;
    Ok(ExitCode::SUCCESS)
}
