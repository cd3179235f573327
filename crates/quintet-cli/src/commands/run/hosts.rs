//! `--hosts`: the machines of a cluster on which a job's workers run, and which runs which.

use super::display::Printer;
use super::happening::Happening;
use super::machine::{Machine, Sent};
use crate::commands::cluster::{place, refused};
use crate::connection::random;
use crate::python::is_script;
use bytes::Bytes;
use clap::ValueEnum;
use quintet::{Code, Error, LinkAddress, LinkConfig};
use quintet_agent::{Client, Liveness, Record, credentials, hash};
use quintet_contract::{NodeId, Span};
use quintet_launch::JobFile;
use quintet_link::Credentials;
use quintet_membership::{Member, View};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// Bytes of the modules that go along with a script, at most: a folder of data beside it does not.
const MAX_MODULE_BYTES: u64 = 64 << 20;

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
}

/// What is known of the cluster before the job's space is served.
pub(super) struct Cluster {
    view: View,
    own: Record,
    credentials: Credentials,
    number: u128,
}

impl Cluster {
    /// The one to which this machine belongs, as its agent knows it.
    ///
    /// # Errors
    /// The machine belongs to none, or its agent does not run.
    pub(super) fn of_this_machine() -> Result<Cluster, Error> {
        let folder = place::folder(None)?;
        let own = Record::read(&folder).map_err(refused)?;
        let own = own.ok_or_else(|| refused(quintet_agent::AgentError::NoMember(folder.clone())))?;
        let view = Client::local(&folder).and_then(|client| client.membership(true)).map_err(refused)?.view;
        let (credentials, number) = credentials(&folder).map_err(refused)?;
        Ok(Cluster { view, own, credentials, number })
    }

    /// Where the job's space is served for the others: any free port of this machine, for its members.
    ///
    /// # Errors
    /// The library refuses the identity.
    pub(super) fn listen(&self) -> Result<LinkAddress, Error> {
        let members: BTreeSet<_> = self.view.members.values().map(|member| member.identity).collect();
        let rule = Arc::new(move |proof: &quintet_link::Proof| {
            proof.is_of_cluster && members.contains(&proof.identity)
        });
        let credentials = self.credentials.admitting(rule);
        let credentials = credentials.map_err(|error| Error::new(Code::BadFile, error.to_string()))?;
        let host = if self.own_host().contains(':') { "::" } else { "0.0.0.0" };
        Ok(LinkAddress::Tls { host: host.to_owned(), port: 0, credentials: Some(credentials) })
    }

    /// Where the others reach what listens at such a port of this machine.
    pub(super) fn reached(&self, port: u16) -> LinkAddress {
        LinkAddress::Tls { host: self.own_host().to_owned(), port, credentials: None }
    }

    fn own_host(&self) -> &str {
        let host = self.own.address.rsplit_once(':').map_or(&*self.own.address, |(host, _)| host);
        host.trim_start_matches('[').trim_end_matches(']')
    }

    fn member(&self, name: &str) -> Result<(NodeId, &Member), Error> {
        let found = self.view.members.iter().find(|(_, member)| member.name == name);
        found.map(|(node, member)| (*node, member)).ok_or_else(|| {
            let names: Vec<&str> = self.view.members.values().map(|member| member.name.as_str()).collect();
            let text = format!(
                "--hosts: no machine of the cluster is named {name:?}: there are {}",
                names.join(", ")
            );
            Error::new(Code::BadValue, text)
        })
    }
}

impl Hosts {
    /// This machine alone.
    pub(super) fn none() -> Hosts {
        Hosts { places: vec![Place::Here], plan: Vec::new() }
    }

    /// Connects to the agents of these machines.
    ///
    /// # Errors
    /// There is no such machine, or its agent cannot be reached.
    pub(super) fn connect(
        cluster: &Cluster,
        names: &[String],
        link: &LinkConfig,
        printer: &Printer,
        tell: &Sender<Happening>,
    ) -> Result<Hosts, Error> {
        let mut seen = BTreeSet::new();
        let mut places = Vec::new();
        let job = u128::from(random()) << 64 | u128::from(random());
        for name in names.iter().filter(|name| seen.insert(name.as_str())) {
            let (node, member) = cluster.member(name)?;
            if node == cluster.own.node {
                places.push(Place::Here);
                continue;
            }
            let address: LinkAddress = format!("tls:{}", member.address).parse().map_err(|error| {
                Error::new(
                    Code::BadValue,
                    format!("{name}: its agent has said that it is nowhere to be reached: {error}"),
                )
            })?;
            let address = address.identified(Some(&cluster.credentials));
            let client = Client::connect_with(address, node, cluster.number, liveness(link))
                .map_err(|error| Error::new(error.code(), format!("{name}: {error}")))?;
            places.push(Place::There(Arc::new(Machine::new(
                name,
                client,
                job,
                printer.clone(),
                tell.clone(),
            ))));
        }
        Ok(Hosts { places, plan: Vec::new() })
    }

    /// Decides which machine runs which worker.
    ///
    /// # Errors
    /// A machine does not say how many processors it has.
    pub(super) fn plan(&mut self, placement: Placement, workers: u64) -> Result<(), Error> {
        let weights = match placement {
            Placement::RoundRobin => vec![1; self.places.len()],
            Placement::Cores => self.places.iter().map(Place::cores).collect::<Result<_, _>>()?,
        };
        self.plan = plan(&weights, workers);
        Ok(())
    }

    /// Sends what workers need to the machines that do not have it.
    pub(super) fn send(&self, files: &[Sent]) -> Result<(), Error> {
        self.machines().try_for_each(|machine| machine.send(files))
    }

    /// Where this worker runs: where it is planned to, or, where that machine is lost, on the next one that is not.
    pub(super) fn of(&self, rank: u64) -> Option<Place> {
        let planned = usize::try_from(rank).ok().and_then(|rank| self.plan.get(rank)).copied().unwrap_or(0);
        let (before, from) = self.places.split_at(planned);
        from.iter().chain(before).find(|place| !place.is_lost()).cloned()
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

/// How the links to agents are looked after: as those to the space are.
fn liveness(link: &LinkConfig) -> Liveness {
    Liveness {
        keep_alive: Span::from(link.keep_alive),
        silence_limit: Span::from(link.silence_limit),
        resume_window: Span::from(link.resume_window),
    }
}

impl Place {
    fn cores(&self) -> Result<usize, Error> {
        match self {
            Place::Here => Ok(std::thread::available_parallelism().map_or(1, usize::from)),
            Place::There(machine) => machine.cores(),
        }
    }

    fn is_lost(&self) -> bool {
        matches!(self, Place::There(machine) if machine.is_lost())
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

/// What workers need of a job's program: the program itself, and beside a Python script the modules that lie there.
///
/// # Errors
/// A file cannot be read, or has a name that cannot be sent.
pub(super) fn files(program: &Path) -> Result<Vec<Sent>, Error> {
    let mut paths = vec![program.to_owned()];
    if is_script(program) {
        let beside =
            program.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let found = std::fs::read_dir(beside)
            .map_err(crate::connection::refused("look for modules beside the script"))?;
        let modules = found.filter_map(|entry| Some(entry.ok()?.path()));
        paths.extend(
            modules
                .filter(|path| is_script(path) && path.is_file() && path.file_name() != program.file_name()),
        );
    }
    let mut left = MAX_MODULE_BYTES;
    paths.sort();
    paths.iter().map(|path| file(path, &mut left)).collect()
}

fn file(path: &Path, left: &mut u64) -> Result<Sent, Error> {
    let refused = |error: std::io::Error| {
        Error::new(
            Code::BadFile,
            format!("{}, which workers on other machines need: {error}", path.display()),
        )
    };
    let found = path.metadata().map_err(refused)?;
    *left = left.checked_sub(found.len()).ok_or_else(|| {
        let text = format!(
            "the program and the modules beside it have more than {MAX_MODULE_BYTES} bytes: {}",
            path.display()
        );
        Error::new(Code::TooLarge, text)
    })?;
    let contents = Bytes::from(std::fs::read(path).map_err(refused)?);
    let name = path.file_name().map(OsString::from).unwrap_or_default().as_bytes().to_vec();
    let mode = (found.permissions().mode() & 0o777) as u16;
    Ok((JobFile { path: name, hash: hash(&contents), mode }, contents))
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
