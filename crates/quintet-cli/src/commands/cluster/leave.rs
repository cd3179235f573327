//! `quintet leave`.

use super::place::folder;
use super::refused;
use crate::output::print_line;
use clap::Args;
use quintet::{Code, Error};
use quintet_agent::{AgentError, Client, Record};
use quintet_membership::Request;
use std::process::ExitCode;

#[derive(Args)]
#[command(
    after_help = "A machine that has left is let in nowhere any more, whatever certificate it has. To have it back, it joins anew with another token. A machine that is only off for a while need not leave.\n\nExamples:\n  quintet leave\n  quintet leave b"
)]
pub(crate) struct Arguments {
    /// The machine that leaves; else this one, whose agent ends
    #[arg(value_name = "MACHINE")]
    machine: Option<String>,
    /// The cluster; else that of QUINTET_IDENTITY, or the only one that this user has
    #[arg(long, value_name = "CLUSTER")]
    cluster: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let folder = folder(arguments.cluster.as_deref())?;
    let own = Record::read(&folder).map_err(refused)?;
    let own = own.ok_or_else(|| refused(AgentError::NoMember(folder.clone())))?;
    let name = arguments.machine.as_ref().unwrap_or(&own.name);
    let client = Client::local(&folder).map_err(refused)?;
    let view = client.membership(true).map_err(refused)?.view;
    let found = view.members.iter().find(|(_, member)| member.name == *name);
    let Some((node, _)) = found else {
        let names: Vec<&str> = view.members.values().map(|member| member.name.as_str()).collect();
        let text = format!("no machine of the cluster is named {name:?}: there are {}", names.join(", "));
        return Err(Error::new(Code::BadValue, text));
    };
    client.ask_member(&Request::Leave { node: *node }).map_err(refused)?;
    if *node == own.node {
        // It may have ended by itself: it is told that it is out.
        let _ = client.end_agent(&folder);
        Record::remove(&folder).map_err(refused)?;
    }
    print_line(format!("{name} (node {}) has left the cluster", node.0))?;
    Ok(ExitCode::SUCCESS)
}
