//! Connections to a space that is kept by replicas, of which one leads; and what each of them says that it does.

use super::{Made, client_config, redial};
use crate::lab::{SHORTEST_LEASE, Seen};
use crate::{Code, Error, Lab, LinkAddress, LinkConfig, NodeId, Pending, SpaceAddress, life, stack};
use quintet_contract::Span;
use quintet_replicated::MAX_REPLICAS;
use quintet_runtime::{Elsewhere, PlacesNow};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// For how long a leader is looked for among replicas: they elect one within a second.
const LEADER_LIMIT: Duration = Duration::from_secs(10);

/// Between two rounds of asking all replicas.
const BETWEEN_ROUNDS: Duration = Duration::from_millis(50);

/// One of the servers of a replicated space.
#[derive(Clone, Debug)]
pub struct Replica {
    /// Which one, from 1.
    pub number: u16,
    /// Where it is.
    pub address: LinkAddress,
    /// What it says that it does, or why it says nothing.
    pub role: Result<ReplicaRole, Error>,
}

/// What a server of a replicated space does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReplicaRole {
    /// It leads: it serves the space.
    Leads,
    /// It writes down what the leader says, which is the replica of this number.
    Follows(u16),
    /// It knows of none that leads.
    KnowsNoLeader,
    /// It has no log of the space, as it lost it or is new: until it is sent the space it has no vote.
    HasNoLog,
}

impl Lab {
    /// Asks one replica after the other until one of them leads. None may for a while: they elect one, or a majority is not there.
    pub(super) fn connect_to_leader(
        replicas: &[LinkAddress],
        cluster: u128,
        lease: Duration,
        link: LinkConfig,
        now: Option<PlacesNow>,
    ) -> Result<Lab, Error> {
        let places = placed(replicas)?;
        let until = Instant::now() + LEADER_LIMIT;
        let mut why = Vec::new();
        while Instant::now() < until {
            why.clear();
            for at in 0..places.len() {
                match Lab::connect_to_replica(&places, at, cluster, lease, link, now.clone()) {
                    Ok(lab) => return Ok(lab),
                    Err(error) if is_of_one(&error) => {
                        why.push(format!("replica {} at {}: {}", at + 1, places[at].1, error.text()));
                    }
                    Err(error) => return Err(error),
                }
            }
            std::thread::sleep(BETWEEN_ROUNDS);
        }
        let text = format!(
            "none of the {} replicas leads, and a majority of them is needed: {}",
            replicas.len(),
            why.join("; ")
        );
        Err(Error::new(Code::Unreachable, text))
    }

    /// Connects to one of the replicas, if it leads; from then on to whichever does.
    fn connect_to_replica(
        places: &[(NodeId, LinkAddress)],
        at: usize,
        cluster: u128,
        lease: Duration,
        link: LinkConfig,
        now: Option<PlacesNow>,
    ) -> Result<Lab, Error> {
        let (lab, writes_together) = Lab::link_to_replica(places, at, cluster, lease, link)?;
        lab.space().status()?;
        let others = places[at + 1..].iter().chain(&places[..at]).cloned().collect();
        lab.go_on(writes_together, redial(&places[at].1, link, life::random()), Elsewhere { others, now });
        Ok(lab)
    }

    /// A connection to that one, whether it leads or not; and whether writing costs a system call.
    fn link_to_replica(
        places: &[(NodeId, LinkAddress)],
        at: usize,
        cluster: u128,
        lease: Duration,
        link: LinkConfig,
    ) -> Result<(Lab, bool), Error> {
        let (replica, address) = &places[at];
        let made = Made::link(address)?;
        let writes_together = made.writes_together;
        let (node, mut config) = client_config(cluster, link);
        // Each link begins anew: who leads then learns whose it is.
        config.liveness.resume_window = Span::ZERO;
        let seen = Seen::of_a_connection();
        let count = u8::try_from(places.len()).expect("there are MAX_REPLICAS at most");
        let instance = seen.instance(node, stack::client_of_replicas(count, node, &config));
        Ok((made.connected(node, *replica, instance, lease, link, seen)?, writes_together))
    }

    /// What each server of a replicated space says that it does, asked by itself; nothing of a space that has no replicas.
    ///
    /// # Errors
    /// The address is none, or names more than there can be. Who cannot be reached is no error of the others.
    pub fn replicas(
        address: impl Into<SpaceAddress>,
        cluster: u128,
        link: LinkConfig,
    ) -> Result<Vec<Replica>, Error> {
        let address = address.into();
        let (replicas, cluster) = match address {
            SpaceAddress::Replicas(replicas) => (replicas, cluster),
            _ => {
                let located = address.locate(&|name| std::env::var_os(name))?;
                (located.replicas, located.cluster.unwrap_or(cluster))
            }
        };
        let places = placed(&replicas)?;
        let ask = &|at| {
            let (lab, _) = Lab::link_to_replica(&places, at, cluster, SHORTEST_LEASE, link)?;
            Pending::role(&lab)
        };
        // All at once: one that is silent is waited for.
        Ok(std::thread::scope(|scope| {
            let asking: Vec<_> = (0..places.len()).map(|at| scope.spawn(move || ask(at))).collect();
            let answers =
                asking.into_iter().map(|asking| asking.join().unwrap_or_else(|panic| resume_unwind(panic)));
            let seen = places.iter().zip(answers);
            seen.map(|((node, address), role)| Replica { number: node.0, address: address.clone(), role })
                .collect()
        }))
    }
}

/// Whether another replica may do better.
fn is_of_one(error: &Error) -> bool {
    matches!(
        error.code(),
        Code::Unreachable | Code::PeerDied | Code::PeerSilent | Code::Closed | Code::DuplicateNode
    )
}

/// The replicas with their nodes.
///
/// # Errors
/// `BadValue`: they are too many.
fn placed(replicas: &[LinkAddress]) -> Result<Vec<(NodeId, LinkAddress)>, Error> {
    let count = u8::try_from(replicas.len()).ok().filter(|count| usize::from(*count) <= MAX_REPLICAS);
    let Some(count) = count else {
        let text = format!("{} replicas are too many: a space has {MAX_REPLICAS} at most", replicas.len());
        return Err(Error::new(Code::BadValue, text));
    };
    Ok(stack::replica_nodes(count).zip(replicas.iter().cloned()).collect())
}

/// Where the replicas of a space that a cluster keeps are by now, as this machine's agent has written it.
pub(super) fn replicas_now(address: SpaceAddress) -> PlacesNow {
    Arc::new(move || {
        // What cannot be read now may be at the next try.
        let located = address.locate(&|name| std::env::var_os(name)).ok();
        let replicas = located.map(|located| located.replicas).unwrap_or_default();
        let count = u8::try_from(replicas.len()).unwrap_or(0);
        stack::replica_nodes(count).zip(replicas).collect()
    })
}
