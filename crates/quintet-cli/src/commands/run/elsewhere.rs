//! `--hosts`: what is prepared so that workers run on other machines.

use super::cluster::Cluster;
use super::display::Printer;
use super::files::{self, Sent};
use super::happening::Happening;
use super::hosts::{Hosts, Placement};
use super::managers::PlacedManagers;
use super::slurm::Agents;
use super::{Arguments, own_workers};
use quintet::{Code, Error, LinkAddress, LinkConfig};
use quintet_settings::Settings;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;

/// The machines of a job, and what those need that are not this one.
pub(super) struct Elsewhere {
    pub(super) hosts: Hosts,
    /// What was sent to them.
    pub(super) files: Vec<Sent>,
    /// Whether they are those of an allocation of Slurm.
    pub(super) is_allocation: bool,
    /// Their cluster, if workers may run on others than this one.
    cluster: Option<Cluster>,
}

impl Elsewhere {
    /// Connects to the agents of the machines that are named, or that Slurm has given, and sends them what they need. Without any all workers run here.
    ///
    /// # Errors
    /// This machine belongs to no cluster, one that is named is not there, or it may not start there what it is to start.
    pub(super) fn find(
        arguments: &Arguments,
        settings: &Settings,
        workers: u64,
        agents: Option<&Agents>,
        (printer, tell): (&Printer, &Sender<Happening>),
    ) -> Result<Elsewhere, Error> {
        let (cluster, names) = match agents {
            Some(agents) => (Cluster::of(agents.folder().to_owned())?, agents.names()),
            None if arguments.hosts.is_empty() => {
                check_alone(arguments)?;
                let (hosts, files) = (Hosts::none(), Vec::new());
                return Ok(Elsewhere { hosts, files, is_allocation: false, cluster: None });
            }
            None => (Cluster::of_this_machine()?, &arguments.hosts[..]),
        };
        let mut hosts =
            Hosts::connect(&cluster, names, &LinkConfig::from_settings(settings)?, printer, tell)?;
        hosts.plan(arguments.place.unwrap_or(Placement::RoundRobin), workers);
        let is_used = workers > 0 || arguments.managers > 1;
        let cluster = Some(cluster).filter(|_| hosts.are_several() && is_used);
        let files = cluster.as_ref().map(|cluster| sent(arguments, cluster, &hosts, printer)).transpose()?;
        Ok(Elsewhere { hosts, files: files.unwrap_or_default(), is_allocation: agents.is_some(), cluster })
    }

    /// Where the identity lies with which processes here are reached by those on the other machines, if there are any.
    pub(super) fn folder(&self) -> Option<PathBuf> {
        self.cluster.as_ref().map(|cluster| cluster.folder().to_owned())
    }

    /// Where the space is served for the other machines, if there are any. From now on it is told who of the cluster is there.
    ///
    /// # Errors
    /// The library refuses this machine's identity.
    pub(super) fn listen(&self, tell: &Sender<Happening>) -> Result<Option<LinkAddress>, Error> {
        self.cluster.as_ref().map(|cluster| cluster.listen(tell.clone())).transpose()
    }

    /// The machines on which managers of the space are, if it has several and there are other machines.
    pub(super) fn managers<'a>(
        &'a self,
        managers: u8,
        settings: &'a Settings,
        printer: &'a Printer,
    ) -> Option<PlacedManagers<'a>> {
        let cluster = self.cluster.as_ref().filter(|_| managers > 1)?;
        let machines = self.hosts.machines().collect();
        Some(PlacedManagers { cluster, machines, managers, settings, printer })
    }

    /// Where workers on other machines reach the space: at the last of its addresses, if there are any.
    pub(super) fn address(&self, addresses: &[LinkAddress]) -> LinkAddress {
        let last = &addresses[addresses.len() - 1];
        self.cluster.as_ref().map_or_else(|| last.clone(), |cluster| cluster.reached_at(last))
    }
}

/// Where all workers run here, nothing may be said of other machines.
fn check_alone(arguments: &Arguments) -> Result<(), Error> {
    let option = match (arguments.place, &arguments.files[..]) {
        (None, []) => return Ok(()),
        (Some(_), _) => "--place",
        (None, _) => "--file",
    };
    let text = format!(
        "{option} is for workers on other machines: name those with --hosts, or begin in an allocation of Slurm"
    );
    Err(Error::new(Code::BadValue, text))
}

/// Sends workers on other machines what they need, where that is allowed.
fn sent(
    arguments: &Arguments,
    cluster: &Cluster,
    hosts: &Hosts,
    printer: &Printer,
) -> Result<Vec<Sent>, Error> {
    let own_workers = own_workers(arguments);
    let files = files::files(Path::new(&arguments.command[0]), own_workers, &arguments.files, printer)?;
    if files.is_empty() {
        return Ok(files);
    }
    if cluster.grant().code {
        let names: Vec<&str> = hosts.machines().map(|machine| machine.name()).collect();
        printer.say(&format!("sent along to {}: {}", names.join(", "), files::in_words(&files)));
        hosts.send(&files);
        return Ok(files);
    }
    let who = format!("this machine, {}, was let in without `code`", cluster.own_name());
    if own_workers || !arguments.files.is_empty() {
        let what = if own_workers { "the program" } else { "what --file names" };
        let text = format!(
            "{who}, so {what} cannot be sent to other machines: run the job from one that may, or have it join anew with a token that \
             allows it (quintet token create --allow join,run,code)"
        );
        return Err(Error::new(Code::NotAllowed, text));
    }
    printer.say(&format!(
        "{who}, so no files are sent: workers on other machines import what is installed there"
    ));
    Ok(Vec::new())
}
