//! `quintet down`.

use super::place::ClusterName;
use super::refused;
use crate::output::print_line;
use clap::Args;
use quintet::Error;
use quintet_agent::{AgentError, Client, Record};
use std::process::ExitCode;

#[derive(Args)]
#[command(
    after_help = "Ends this machine's agent, if it runs, and every process that it has started. The machine stays a member: `quintet up` starts the agent again. To take it out of the cluster, `quintet leave`.\n\nExample:\n  quintet down"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    cluster: ClusterName,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let folder = arguments.cluster.folder()?;
    if Record::read(&folder).map_err(refused)?.is_none() {
        return Err(refused(AgentError::NoMember(folder)));
    }
    match Client::local(&folder).and_then(|client| client.end_agent(&folder)) {
        Ok(()) => print_line("this machine's agent has ended")?,
        // That is what was asked for.
        Err(AgentError::NotRunning(_)) => print_line("no agent of this machine runs")?,
        Err(error) => return Err(refused(error)),
    };
    Ok(ExitCode::SUCCESS)
}
