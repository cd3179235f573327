//! The machines of a cluster, as `quintet status` shows them.

use super::agents::{Agents, Answers};
use crate::activity::Names;
use quintet::{Code, Error};
use quintet_agent::{AgentError, Client, Membership, Record, certificate, ends_soon};
use quintet_contract::NodeId;
use quintet_identity::{DAY, Validity};
use quintet_launch::Info;
use quintet_membership::{Member, Reason, Suspicion};
use rustix::fs::statvfs;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The machines as this machine's agent, and the leader of the cluster, know them.
pub(crate) struct Machines {
    membership: Membership,
    own: Record,
    certificate: Validity,
    /// What the machines' agents say of them.
    infos: Answers<Info>,
    /// Bytes that are left to this user on the disk of the cluster's folder.
    room: u64,
}

/// With less room on its disk than that somebody should look after a machine.
const LITTLE_ROOM: u64 = 1 << 20;

impl Machines {
    /// With what their agents say of them.
    pub(crate) fn with_infos(mut self, agents: &mut Agents) -> Machines {
        let (infos, latest) = agents.infos(&self);
        self.infos = infos;
        if let Some(latest) = latest {
            self.membership = latest;
            let membership = &self.membership;
            self.infos.retain(|node, answer| answer.is_ok() || suspicion(membership, *node).is_none());
        }
        self
    }

    /// Who is in, by number.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&NodeId, &Member)> {
        self.membership.view.members.iter()
    }

    /// Whether that is the number of this machine.
    pub(crate) fn is_own(&self, node: NodeId) -> bool {
        node == self.own.node
    }

    /// Whether nothing is known against asking that machine.
    pub(crate) fn seems_up(&self, node: NodeId) -> bool {
        self.suspicion(node.0).is_none()
    }

    /// What the machines are called. The space is served on the one with the lowest number.
    pub(crate) fn names(&self) -> Names {
        let by_identity = self.members().map(|(_, member)| (member.identity, member.name.clone())).collect();
        Names { by_identity, here: self.members().next().map(|(_, member)| member.name.clone()) }
    }

    /// Why the cluster's space is not to be had, where the machine on which it is served does not seem to be there.
    pub(crate) fn why_without_space(&self) -> Option<Error> {
        let (node, member) = self.members().next()?;
        let state = self.suspicion(node.0)?;
        let text = format!("{} serves it, which is {}", member.name, state_words(state));
        let code = if state == Suspicion::Silent { Code::PeerSilent } else { Code::Unreachable };
        Some(Error::new(code, text))
    }

    /// Asks the agent of that folder.
    ///
    /// # Errors
    /// It does not run, or does not answer.
    pub(crate) fn ask(folder: &Path) -> Result<Machines, AgentError> {
        let membership = Machines::known(&Client::local(folder)?)?;
        let own = Record::read(folder)?.ok_or_else(|| AgentError::NoMember(folder.to_owned()))?;
        let infos = Answers::new();
        let disk = statvfs(folder).map_err(|errno| AgentError::System {
            doing: format!("look at the disk of {}", folder.display()),
            error: errno.into(),
        })?;
        let room = disk.f_bavail.saturating_mul(disk.f_frsize);
        Ok(Machines { membership, own, certificate: certificate(folder)?, infos, room })
    }

    /// Who is in and who of them is there, as the agent knows that is asked, and the leader that it asks.
    ///
    /// # Errors
    /// It does not answer.
    pub(crate) fn known(client: &Client) -> Result<Membership, AgentError> {
        match client.membership(false)? {
            // Whoever hears no majority would wait for it, only to say that.
            known if known.news.is_stale => Ok(known),
            _ => match client.membership(true) {
                Err(AgentError::Refused(refusal)) if refusal.reason == Reason::NoMajority => {
                    client.membership(false)
                }
                agreed => agreed,
            },
        }
    }

    pub(crate) fn as_json(&self) -> Value {
        let Membership { view, news } = &self.membership;
        let machines: Vec<Value> = view
            .members
            .iter()
            .map(|(node, member)| {
                json!({
                    "name": member.name, "node": node.0, "address": member.address, "votes": member.votes,
                    "incarnation": member.incarnation.0, "state": self.state(node.0), "agent": self.agent(*node),
                })
            })
            .collect();
        let until = self.certificate.until.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        json!({
            "view": view.number, "machines": machines, "majority": !news.is_stale, "this": self.own.name,
            "certificate_until": until,
        })
    }

    pub(crate) fn as_table(&self) -> String {
        let Membership { view, news } = &self.membership;
        let mut lines = vec![format!(
            "{:<16} {:>5}  {:<28} {:<7} {:<20} agent",
            "machine", "node", "address", "part", "state"
        )];
        for (node, member) in &view.members {
            let part = if member.votes { "voter" } else { "learner" };
            let state = self.state(node.0);
            lines.push(format!(
                "{:<16} {:>5}  {:<28} {part:<7} {state:<20} {}",
                member.name,
                node.0,
                member.address,
                self.agent_words(*node)
            ));
        }
        let majority = if news.is_stale { ", which may be old" } else { "" };
        lines.push(format!("view {}{majority}", view.number));
        lines.extend(self.warnings(SystemTime::now()));
        lines.join("\n") + "\n"
    }

    /// What the agent of a machine says of it.
    fn agent(&self, node: NodeId) -> Value {
        match self.infos.get(&node) {
            Some(Ok(info)) => json!({
                "version": info.version, "jobs": info.jobs, "processes": info.processes, "cores": info.cores,
                "load": f64::from(info.load) / 100.0,
            }),
            Some(Err(why)) => json!({"error": why}),
            None => Value::Null,
        }
    }

    fn agent_words(&self, node: NodeId) -> String {
        match self.infos.get(&node) {
            Some(Ok(info)) => format!(
                "{}, {} jobs, {} processes, load {:.2} of {}",
                info.version,
                info.jobs,
                info.processes,
                f64::from(info.load) / 100.0,
                info.cores
            ),
            Some(Err(why)) => format!("does not answer: {why}"),
            None => "-".to_owned(),
        }
    }

    /// What somebody should look after.
    fn warnings(&self, now: SystemTime) -> Vec<String> {
        let Membership { view, news } = &self.membership;
        let mut warnings = Vec::new();
        if view.number == 0 {
            warnings.push("this machine has not heard from the cluster since it joined".to_owned());
        }
        if news.is_stale {
            warnings.push(
                "no majority of the voters is heard: too many of them are down or cut off, or they have removed this machine \
                 (then type quintet down and quintet leave --forget, and join anew)"
                    .to_owned(),
            );
        }
        warnings.extend((self.room < LITTLE_ROOM).then(|| {
            format!(
                "WARNING: the disk of the cluster's folder has {} KiB left: what this machine has to write waits until there is room",
                self.room / 1024
            )
        }));
        warnings.extend(ends_soon(self.certificate, now).map(certificate_warning));
        warnings
    }

    fn state(&self, node: u16) -> &'static str {
        match self.suspicion(node) {
            None if node == self.own.node.0 => "up (this machine)",
            None if self.membership.news.is_stale => "unknown",
            None => "up",
            Some(cause) => state_words(cause),
        }
    }

    /// Why a machine does not seem to be there.
    fn suspicion(&self, node: u16) -> Option<Suspicion> {
        suspicion(&self.membership, NodeId(node))
    }
}

fn suspicion(membership: &Membership, node: NodeId) -> Option<Suspicion> {
    let suspect = membership.news.suspects.iter().find(|suspect| suspect.node == node);
    suspect.map(|suspect| suspect.cause)
}

/// How a machine is said to be that does not seem to be there.
fn state_words(cause: Suspicion) -> &'static str {
    match cause {
        Suspicion::Silent => "silent",
        Suspicion::Died => "lost",
        Suspicion::Closed => "down",
        Suspicion::Misbehaved => "misbehaved",
        Suspicion::Refused => "refuses this machine",
    }
}

fn certificate_warning(left: Duration) -> String {
    let when = match left.as_secs() / DAY.as_secs() {
        _ if left.is_zero() => "has ended".to_owned(),
        0 => "ends in less than a day".to_owned(),
        1 => "ends in a day".to_owned(),
        days => format!("ends in {days} days"),
    };
    format!(
        "WARNING: this machine's certificate {when}, after which no other lets it in; the agent's log says why it was not made anew, quintet rotate tries it now"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_membership::{News, View};

    fn machines(left: Duration) -> Machines {
        let now = SystemTime::now();
        let own = Record {
            name: "b".to_owned(),
            node: NodeId(1),
            ticket: 0,
            founding: false,
            listen: String::new(),
            address: String::new(),
            view: 0,
            life: 0,
            removed: false,
            peers: Vec::new(),
            spaces: Vec::new(),
        };
        let membership = Membership { view: View::default(), news: News::default() };
        let certificate = Validity { from: now, until: now + left };
        Machines { membership, own, certificate, infos: Answers::new(), room: LITTLE_ROOM }
    }

    #[test]
    fn a_certificate_that_ends_soon_is_warned_of() {
        let warns = |left| {
            let said = machines(left).warnings(SystemTime::now());
            said.iter().find(|line| line.contains("certificate")).cloned().unwrap_or_default()
        };
        assert_eq!(warns(DAY * 15), "");
        assert!(warns(DAY * 13).contains("ends in 12 days, "), "{}", warns(DAY * 13));
        assert!(warns(DAY / 2).contains("less than a day"));
        assert!(warns(Duration::ZERO).contains("has ended"));
    }

    #[test]
    fn a_disk_that_is_full_is_warned_of() {
        let mut machines = machines(DAY * 60);
        let warns = |machines: &Machines| {
            machines.as_table().contains("the disk of the cluster's folder has 0 KiB left")
        };
        assert!(!warns(&machines));
        machines.room = 1023;
        assert!(warns(&machines));
    }

    #[test]
    fn without_a_majority_nobody_is_said_to_be_up_and_it_says_why_that_may_be() {
        let mut machines = machines(DAY * 60);
        assert_eq!((machines.state(0), machines.state(1)), ("up", "up (this machine)"));
        machines.membership.news.is_stale = true;
        assert_eq!((machines.state(0), machines.state(1)), ("unknown", "up (this machine)"));
        let table = machines.as_table();
        assert!(table.contains("no majority") && table.contains("quintet leave --forget"), "{table}");
    }
}
