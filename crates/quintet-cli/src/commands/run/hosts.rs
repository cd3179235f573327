//! `--hosts`: the machines of a cluster on which a job's workers run, and which runs which.

use super::cluster::Cluster;
use super::display::Printer;
use super::files::Sent;
use super::happening::Happening;
use super::machine::{END_LIMIT, Machine};
use super::sight::Sight;
use crate::connection::random;
use crate::output::tell as say;
use clap::ValueEnum;
use quintet::{Code, Error, LinkAddress, LinkConfig};
use quintet_agent::{Client, LIVENESS, Liveness};
use quintet_contract::Span;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// So long nothing is said of machines that are waited for in the end.
const QUIET: Duration = Duration::from_millis(500);

/// Which machine runs which worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Placement {
    /// One after the other, in the order of --hosts
    RoundRobin,
    /// In proportion to their processors
    Cores,
}

/// A place for workers.
#[derive(Clone)]
pub(super) enum Place {
    /// This machine.
    Here,
    There(Arc<Machine>),
}

/// The machines of a job.
pub(super) struct Hosts {
    places: Vec<Place>,
    /// The place of each worker, by its rank, at first.
    plan: Vec<usize>,
    /// What this machine is called, where there is a name for it.
    here: Option<String>,
}

/// Where other processes of the machine with that address can be reached over TLS, at ports that they are given.
pub(super) fn beside(address: &LinkAddress) -> Option<LinkAddress> {
    let LinkAddress::Tls { host, .. } = address else { return None };
    Some(LinkAddress::Tls { host: host.clone(), port: 0, credentials: None })
}

impl Hosts {
    /// This machine alone.
    pub(super) fn none() -> Hosts {
        Hosts { places: vec![Place::Here], plan: Vec::new(), here: None }
    }

    /// Connects to the agents of these machines.
    ///
    /// # Errors
    /// There is no such machine, its agent cannot be reached, or this machine may start nothing there.
    pub(super) fn connect(
        cluster: &Cluster,
        names: &[String],
        link: &LinkConfig,
        printer: &Printer,
        tell: &Sender<Happening>,
    ) -> Result<Hosts, Error> {
        let mut seen = BTreeSet::new();
        let mut hosts = Hosts { here: Some(cluster.own_name().to_owned()), ..Hosts::none() };
        hosts.places.clear();
        let job = u128::from(random()) << 64 | u128::from(random());
        for name in names.iter().map(|name| name.trim()).filter(|name| seen.insert(*name)) {
            let (node, member) = cluster.member(name)?;
            if cluster.is_own(node) {
                hosts.places.push(Place::Here);
                continue;
            }
            check_granted(cluster)?;
            let (address, number) = cluster.agent(member)?;
            let listen = beside(&address);
            let liveness = liveness(link);
            let client = Client::connect_with(address, node, number, liveness)
                .map_err(|error| Error::new(error.code(), format!("{name}: {error}")))?;
            let patience = Duration::from(liveness.silence_limit) + Duration::from(liveness.resume_window);
            let (client, tell) = ((client, patience), tell.clone());
            let machine = Machine::new((name, node), listen, client, job, printer.clone(), tell);
            hosts.places.push(Place::There(Arc::new(machine)));
        }
        Ok(hosts)
    }

    /// Decides which machine runs which worker.
    pub(super) fn plan(&mut self, placement: Placement, workers: u64) {
        let weights = match placement {
            Placement::RoundRobin => vec![1; self.places.len()],
            Placement::Cores => self.places.iter().map(Place::cores).collect(),
        };
        self.plan = plan(&weights, workers);
    }

    /// Sends what workers need to the machines that do not have it.
    pub(super) fn send(&self, files: &[Sent]) {
        thread::scope(|scope| self.machines().for_each(|machine| _ = scope.spawn(|| machine.send(files))));
    }

    /// What this machine is called, where there is a name for it.
    pub(super) fn here(&self) -> Option<&str> {
        self.here.as_deref()
    }

    /// Where this worker may run: where it is planned to, and, where that machine starts none, on the next ones that do.
    pub(super) fn of(&self, rank: u64) -> impl Iterator<Item = &Place> {
        let planned = usize::try_from(rank).ok().and_then(|rank| self.plan.get(rank)).copied().unwrap_or(0);
        let (before, from) = self.places.split_at(planned);
        from.iter().chain(before).filter(|place| !place.is_left_out())
    }

    /// Says which of the machines do not seem to be there, and which are there again. `lease`: how long they may hold tasks.
    pub(super) fn see(&self, sight: &Sight, lease: Duration) {
        self.machines().for_each(|machine| machine.see(sight, lease));
    }

    /// Why no machine is left that starts workers.
    pub(super) fn nobody_left(&self) -> Error {
        let reasons: Vec<&str> = self.machines().filter_map(|machine| machine.left_out()).collect();
        let text = format!("no machine of --hosts starts workers any more: {}", reasons.join("; "));
        Error::new(Code::PeerDied, text)
    }

    /// Ends everything of the job on the other machines, on all of them at a time, and says for which it waits. Those that were not reached:
    /// their agents end it by themselves.
    pub(super) fn end(&self) -> Vec<&str> {
        let (tell, ended) = channel();
        thread::scope(|scope| {
            for machine in self.machines() {
                let tell = tell.clone();
                // Whoever listens waits for all.
                scope.spawn(move || _ = tell.send((machine.name(), machine.end())));
            }
            drop(tell);
            unreached(self.machines().map(|machine| machine.name()).collect(), &ended)
        })
    }

    /// The other machines.
    pub(super) fn machines(&self) -> impl Iterator<Item = &Arc<Machine>> {
        self.places.iter().filter_map(|place| match place {
            Place::Here => None,
            Place::There(machine) => Some(machine),
        })
    }

    /// Whether a worker may run elsewhere.
    pub(super) fn are_several(&self) -> bool {
        self.machines().next().is_some()
    }
}

/// Those of the machines that say that they have not ended their part of a job.
fn unreached<'a>(mut waiting: BTreeSet<&'a str>, ended: &Receiver<(&'a str, bool)>) -> Vec<&'a str> {
    let (mut unreached, mut has_said) = (Vec::new(), false);
    loop {
        let limit = if has_said { END_LIMIT } else { QUIET };
        match ended.recv_timeout(limit) {
            Ok((name, has_ended)) => {
                waiting.remove(name);
                unreached.extend((!has_ended).then_some(name));
            }
            Err(RecvTimeoutError::Disconnected) => return unreached,
            Err(RecvTimeoutError::Timeout) if has_said => {}
            Err(RecvTimeoutError::Timeout) => {
                let names: Vec<&str> = waiting.iter().copied().collect();
                let most = (END_LIMIT - QUIET).as_secs_f64().ceil();
                say(format!("waiting for {} to end what it runs, {most} s at most", names.join(", ")));
                has_said = true;
            }
        }
    }
}

/// Whether this machine may start anything on others.
fn check_granted(cluster: &Cluster) -> Result<(), Error> {
    if cluster.grant().run {
        return Ok(());
    }
    let name = cluster.own_name();
    let text = format!(
        "--hosts: this machine, {name}, was let in without `run`, so it starts nothing on other machines: run the job from one that may, or have \
         it join anew (quintet leave, then quintet join with a token of quintet token create --allow join,run,code)"
    );
    Err(Error::new(Code::NotAllowed, text))
}

/// How the links to agents are looked after: as those to the space are. An agent that was cut off for longer than its own window has ended
/// its part of the job, so that nothing is gained by a longer one.
fn liveness(link: &LinkConfig) -> Liveness {
    Liveness {
        keep_alive: Span::from(link.keep_alive),
        silence_limit: Span::from(link.silence_limit),
        resume_window: Span::from(link.resume_window).min(LIVENESS.resume_window),
    }
}

impl Place {
    fn cores(&self) -> usize {
        match self {
            Place::Here => std::thread::available_parallelism().map_or(1, usize::from),
            Place::There(machine) => machine.cores(),
        }
    }

    fn is_left_out(&self) -> bool {
        matches!(self, Place::There(machine) if machine.left_out().is_some())
    }
}

/// A place for each worker: the one that is least full, by its weight, with one more; of equals the first.
fn plan(weights: &[usize], workers: u64) -> Vec<usize> {
    let mut taken = vec![0usize; weights.len()];
    let next = |taken: &[usize]| {
        // (taken + 1) / weight, compared without a fraction.
        (0..weights.len())
            .min_by(|a, b| ((taken[*a] + 1) * weights[*b]).cmp(&((taken[*b] + 1) * weights[*a])))
    };
    (0..workers)
        .filter_map(|_| {
            let place = next(&taken)?;
            taken[place] += 1;
            Some(place)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_go_where_there_is_most_room() {
        assert_eq!(plan(&[1, 1, 1], 5), [0, 1, 2, 0, 1]);
        assert_eq!(plan(&[2, 4], 6), [1, 0, 1, 1, 0, 1]);
        assert_eq!(plan(&[1], 3), [0, 0, 0]);
        assert_eq!(plan(&[], 3), [0usize; 0]);
    }
}
