//! How a connection is made: to one server, to whichever of several replicas leads, to all managers of a space.

mod managers;
mod replicas;

use managers::Managers;
pub(crate) use managers::managers_at;
pub use replicas::{Replica, ReplicaRole};

use super::{Lab, SHORTEST_LEASE, Seen};
use crate::pending::Pending;
use crate::space_address::Located;
use crate::stack::{self, StackConfig};
use crate::{Error, KeptSpaces, LinkConfig, SpaceAddress, histograms, life, trace};
use quintet_contract::{NodeId, Protocol};
use quintet_errors::Code;
use quintet_link::{End, LinkAddress};
use quintet_replicated::MAX_REPLICAS;
use quintet_runtime::{Calls, Elsewhere, Instance, LinkUse, Redial};
use std::time::Duration;

/// How often another node number is tried when one is in use.
const NODE_NUMBERS_TRIED: u32 = 5;

/// How long a connection may take to be made.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// For how long a cut link to a cluster's space is made again, at most: whoever waits learns within a second that its agent has ended.
const CLUSTER_RESUME_LIMIT: Duration = Duration::from_millis(900);

impl Lab {
    /// Connects to the space at `address`, as a member of `cluster`: a path, for shared memory, a [`LinkAddress`] of any kind, or a
    /// [`SpaceAddress`] that names a cluster of this machine: then its number counts, whatever `cluster` says, and this machine's identity in it
    /// is shown. `lease`: how long a leased tuple stays hidden after this process was last heard; it is renewed every third of that while the process lives. At least
    /// [`SHORTEST_LEASE`].
    ///
    /// # Errors
    /// [`Code::BadValue`] for a shorter lease. Nobody listens there, or whoever listens does not answer within
    /// [`LinkConfig::silence_limit`] ([`Code::PeerSilent`]), or it is another user's ([`Code::NotAllowed`]), cluster's or version's; or the system refused.
    /// [`Code::BadValue`], [`Code::BadFile`]: this machine belongs to no such cluster, or its files cannot be used.
    pub fn connect(address: impl Into<SpaceAddress>, cluster: u128, lease: Duration) -> Result<Lab, Error> {
        Lab::connect_with(address, cluster, lease, LinkConfig::default())
    }

    /// As [`connect`](Lab::connect), over a link that is used as `link` says.
    ///
    /// # Errors
    /// As [`connect`](Lab::connect).
    pub fn connect_with(
        address: impl Into<SpaceAddress>,
        cluster: u128,
        lease: Duration,
        link: LinkConfig,
    ) -> Result<Lab, Error> {
        if lease < SHORTEST_LEASE {
            let text = format!("a lease of {lease:?} is too short: it lives for {SHORTEST_LEASE:?} or more");
            return Err(Error::new(Code::BadValue, text));
        }
        let address = address.into();
        if let SpaceAddress::Replicas(replicas) = &address {
            return Lab::connect_to_leader(replicas, cluster, lease, link, None);
        }
        let located = address.locate(&|name| std::env::var_os(name))?;
        let lab = Lab::connect_at(&address, &located, cluster, lease, link)
            .map_err(|error| located.explained(error))?;
        let lab = match located.cluster_folder() {
            Some(folder) => lab.of_cluster(KeptSpaces::of(folder.to_owned(), lease, link)),
            None => lab,
        };
        match &located.space {
            Some(name) => lab.meaning(name),
            None => Ok(lab),
        }
    }

    fn connect_at(
        address: &SpaceAddress,
        located: &Located,
        cluster: u128,
        lease: Duration,
        link: LinkConfig,
    ) -> Result<Lab, Error> {
        let cluster = located.cluster.unwrap_or(cluster);
        if !located.replicas.is_empty() {
            let now = Some(replicas::replicas_now(address.clone()));
            return Lab::connect_to_leader(&located.replicas, cluster, lease, link, now);
        }
        let link = match located.ends_with_its_agent() {
            true => {
                let resume_window = link.resume_window.min(CLUSTER_RESUME_LIMIT);
                LinkConfig { resume_window, ..link }
            }
            false => link,
        };
        under_a_free_number(|| Lab::connect_once(&located.address, cluster, lease, link))
            .map_err(|error| managers::explained(error, &located.address, cluster, link))
    }

    /// Connects, and again as a client of several managers where the server says that there are.
    fn connect_once(
        address: &LinkAddress,
        cluster: u128,
        lease: Duration,
        link: LinkConfig,
    ) -> Result<Lab, Error> {
        let made = Made::link(address)?;
        let writes_together = made.writes_together;
        let (node, config) = client_config(cluster, link);
        let seen = Seen::of_a_connection();
        let instance = seen.instance(node, stack::client(node, &config));
        let lab = made.connected(node, stack::SPACE_NODE, instance, lease, link, seen)?;
        if let Some(routes) = Pending::managers(&lab)? {
            lab.close();
            return Lab::connect_to_managers(&Managers::at(address, &routes)?, cluster, lease, link);
        }
        lab.go_on(writes_together, redial(address, link, life::random()), Elsewhere::default());
        Ok(lab)
    }

    /// From now on the link is made again, to the same node or to one elsewhere, and what is begun is written together. Not before the first answer: who is refused because its number is in use tries
    /// another one.
    fn go_on(&self, writes_together: bool, redial: Option<Redial>, elsewhere: Elsewhere) {
        if writes_together {
            self.shared.calls.write_behind();
        }
        if let Some(redial) = redial {
            let window = redial.window;
            self.shared.calls.redial_among(redial, elsewhere);
            if self.shared.calls.is_redialled() {
                self.shared.heartbeat.keep_link(window);
            }
        }
    }
}

/// Connects under one node number by chance after the other, until one is neither in use nor kept for whose session was cut.
fn under_a_free_number(connect: impl Fn() -> Result<Lab, Error>) -> Result<Lab, Error> {
    let mut tries = 1..NODE_NUMBERS_TRIED;
    loop {
        match connect() {
            Err(error)
                if matches!(error.code(), Code::PeerDied | Code::DuplicateNode) && tries.next().is_some() => {
            }
            connected => return connected,
        }
    }
}

impl Seen {
    /// What is told of a connection, as the environment says.
    fn of_a_connection() -> Seen {
        Seen { tracer: trace::of_this_process(), histograms: histograms::of_a_connection() }
    }

    /// An instance at the node's sessions that is seen so.
    fn instance(&self, node: NodeId, protocol: impl Protocol + Send + 'static) -> Instance {
        let mut instance = Instance::new(protocol);
        if let Some(tracer) = &self.tracer {
            instance = instance.traced(tracer, stack::sessions_of(node), trace::NAMES);
        }
        if let Some(histograms) = &self.histograms {
            instance = instance.timed(histograms, trace::NAMES);
        }
        instance
    }
}

/// A link that was made.
struct Made {
    end: End,
    /// Writing costs a system call.
    writes_together: bool,
    may_be_cut: bool,
}

impl Made {
    fn link(address: &LinkAddress) -> Result<Made, Error> {
        let end = quintet_link::connect(address, CONNECT_LIMIT)?;
        let (writes_together, may_be_cut) = (!end.sender.is_free_to_flush(), end.sender.info().may_be_cut);
        Ok(Made { end, writes_together, may_be_cut })
    }

    /// The connection over it, to that server.
    fn connected(
        self,
        node: NodeId,
        server: NodeId,
        instance: Instance,
        lease: Duration,
        link: LinkConfig,
        seen: Seen,
    ) -> Result<Lab, Error> {
        let used = LinkUse { spin: link.spin, packets: link.packets };
        let (here, there) = (stack::sessions_of(node), stack::sessions_of(server));
        let calls = Calls::linked_with(here, instance, there, self.end, used);
        let calls = calls.map_err(|error| unwatched(&error))?;
        Ok(Lab::over(calls, Some(lease), seen, link.packing))
    }
}

/// How a link is made again, if it is to be.
fn redial(address: &LinkAddress, link: LinkConfig, seed: u64) -> Option<Redial> {
    let is_redialled = !link.resume_window.is_zero();
    is_redialled.then(|| Redial { address: address.clone(), window: link.resume_window, seed })
}

/// A node number by chance, none of a replica's or a manager's, and its configuration. If the number is in use the link is closed, which the first call shows.
pub(crate) fn client_config(cluster: u128, link: LinkConfig) -> (NodeId, StackConfig) {
    let seed = life::random();
    let lowest = 1 + MAX_REPLICAS as u64;
    let numbers = u64::from(stack::FIRST_MANAGER_NODE.0) - lowest;
    let node = NodeId((lowest + seed % numbers) as u16);
    let mut config = StackConfig::of_client(cluster, life::incarnation(), seed)
        .with_window(link.window)
        .with_liveness(link.liveness_of_client());
    config.client = (!link.resume_window.is_zero()).then(life::client);
    (node, config)
}

fn unwatched(error: &std::io::Error) -> Error {
    Error::new(Code::Resource, format!("cannot watch the link: {error}"))
}
