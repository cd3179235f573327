//! `quintet leave`.

use super::place::folder;
use super::refused;
use crate::output::{print, print_line};
use clap::Args;
use quintet::{Code, Error};
use quintet_agent::{AgentError, Client, Record};
use quintet_contract::NodeId;
use quintet_membership::{Reason, Request};
use std::path::Path;
use std::process::ExitCode;

#[derive(Args)]
#[command(
    after_help = "A machine that has left is let in nowhere any more, whatever certificate it has. To have it back, it joins anew with another token. A machine that is only off for a while need not leave. A machine that leaves by itself removes its folder, but for the authority's key where that is.\n\nExamples:\n  quintet leave\n  quintet leave b\n  quintet leave --forget"
)]
pub(crate) struct Arguments {
    /// The machine that leaves; else this one, whose agent ends
    #[arg(value_name = "MACHINE")]
    machine: Option<String>,
    /// The cluster; else that of QUINTET_IDENTITY, or the only one that this user has
    #[arg(long, value_name = "CLUSTER")]
    cluster: Option<String>,
    /// Only remove what this machine keeps of the cluster: others have removed it, or there are none any more
    #[arg(long, conflicts_with = "machine")]
    forget: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let folder = folder(arguments.cluster.as_deref())?;
    let own = Record::read(&folder).map_err(refused)?;
    let own = own.ok_or_else(|| refused(AgentError::NoMember(folder.clone())))?;
    if arguments.forget {
        return forget(&folder);
    }
    let name = arguments.machine.as_ref().unwrap_or(&own.name);
    let client = Client::local(&folder).map_err(refused)?;
    // Before a majority is asked for the number of another machine.
    if client.membership(false).map_err(refused)?.news.is_stale {
        return Err(nobody_decides(*name == own.name));
    }
    let node = match *name == own.name {
        true => own.node,
        false => number(&client, name)?,
    };
    let left = client.ask_member(&Request::Leave { node });
    match left {
        Ok(_) => {}
        // Of its own leaving it may hear before the answer is there.
        Err(AgentError::Refused(refusal)) if node == own.node && refusal.reason == Reason::Removed => {}
        Err(error) => return Err(refused(error)),
    }
    print_line(format!("{name} (node {}) has left the cluster", node.0))?;
    if node == own.node {
        end(client, &folder)?;
        remove(&folder)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Why no machine can be taken out, at once: whoever hears no majority would wait for it, only to say that.
fn nobody_decides(is_own: bool) -> Error {
    let removed = match is_own {
        true => {
            ". If another machine has removed this one meanwhile, as quintet status there says, it only has to forget: quintet down, and quintet leave --forget"
        }
        false => "",
    };
    let text = format!(
        "no majority of the voters is heard here, so that no machine can be taken out now; try again when more of them are up{removed}"
    );
    Error::new(Reason::NoMajority.code(), text)
}

/// The number of the machine of that name.
fn number(client: &Client, name: &str) -> Result<NodeId, Error> {
    let view = client.membership(true).map_err(refused)?.view;
    let found = view.members.iter().find(|(_, member)| member.name == name);
    found.map(|(node, _)| *node).ok_or_else(|| {
        let names: Vec<&str> = view.members.values().map(|member| member.name.as_str()).collect();
        let text = format!("no machine of the cluster is named {name:?}: there are {}", names.join(", "));
        Error::new(Code::BadValue, text)
    })
}

/// Ends the agent, which may have ended by itself: it is told that it is out.
fn end(client: Client, folder: &Path) -> Result<(), Error> {
    match client.end_agent(folder) {
        Ok(()) | Err(AgentError::Lost { code: Code::PeerDied | Code::Closed | Code::Unreachable, .. }) => {
            Ok(())
        }
        Err(error) => Err(refused(error)),
    }
}

fn forget(folder: &Path) -> Result<ExitCode, Error> {
    match Client::local(folder) {
        Err(AgentError::NotRunning(_)) => {}
        Err(error) => return Err(refused(error)),
        Ok(_) => {
            let text = "this machine's agent runs: end it with quintet down first, or leave without --forget";
            return Err(Error::new(Code::BadValue, text));
        }
    }
    remove(folder)?;
    Ok(ExitCode::SUCCESS)
}

fn remove(folder: &Path) -> Result<(), Error> {
    let keeps_authority = Record::remove(folder).map_err(refused)?;
    let path = folder.display();
    print(&match keeps_authority {
        true => format!(
            "{path} keeps the authority's key, without which nobody joins and no certificate is made anew: copy authority.key to the \
             cluster's folder of a machine that stays, for its user only, and delete it here\n"
        ),
        false => format!("{path} is removed\n"),
    })?;
    Ok(())
}
