//! What runs on the nodes: servers and clients as `quintet-stack` makes them, without the sessions and messages below.

use super::asking::cancelled;
use super::{Placement, REMEMBERED, SEVERAL, Spaces};
use crate::system::Birth;
use quintet_contract::{
    Address, Frame, Incarnation, Input, NodeId, Outbox, PeerChange, Protocol, Random, Span, Time,
};
use quintet_durable::{Logged, LoggedConfig};
use quintet_messaging::relay::{self, Relay};
use quintet_replicated::{Replicated, ReplicatedConfig, ToLeader};
use quintet_resume::{ClientId, Resuming};
use quintet_stack::{self as stack, ResumedSpaces, ResumingRelay, SPACE, StackConfig};
use quintet_tuple_space::codec::CANCEL;
use quintet_tuple_space::{HotKeysConfig, Manager, ManagersConfig, Router, RouterConfig, SpaceConfig};
use quintet_wire::registry::{PORT_CALLERS, PORT_SPACE};
use std::collections::BTreeSet;

const CLUSTER: u128 = 5;
/// So few templates of a signature are looked at before it is spread.
const SPREAD_AFTER: u32 = 3;
/// Managers compare what they are asked in so long a time: a key may move soon.
const PERIOD: Span = Span::from_millis(2);
/// Room for all tuples of a run, and for a dozen events.
const FEW_EVENTS: u64 = 24_000;
/// Replicas choose another leader sooner than those of programs, so that runs may be short.
const HEARTBEAT: Span = Span::from_millis(20);
const ELECTION: Span = Span::from_millis(100);

/// A server or a client.
pub struct Node {
    kind: Kind,
    /// Who it was told is up.
    up: BTreeSet<Address>,
}

enum Kind {
    Logged(Box<Logged<ResumedSpaces>>),
    Replica(Box<Replicated<ResumedSpaces>>),
    Manager(Box<Manager>),
    Client(ResumingRelay),
    ClientOfReplicas(ToLeader<ResumingRelay>),
    ClientOfManagers(Router),
}

/// Where the space's part of a node is.
pub(super) fn at(node: u16) -> Address {
    Address { node: NodeId(node), port: PORT_SPACE }
}

fn servers() -> Vec<Address> {
    (1..=SEVERAL).map(at).collect()
}

impl Spaces {
    pub(super) fn make(&self, birth: &Birth) -> Node {
        let is_server = self.placement.serves(birth.node);
        let kind = match self.placement {
            Placement::Logged if is_server => {
                let placed = stack::logged_space(&self.of_log(birth));
                Kind::Logged(Box::new(placed.protocol))
            }
            Placement::Replicated if is_server => {
                let placed = stack::replicated_space(&self.of_replica(birth));
                Kind::Replica(Box::new(placed.protocol))
            }
            Placement::Managers if is_server => {
                Kind::Manager(Box::new(stack::manager(&self.of_manager(birth)).protocol))
            }
            Placement::Logged => Kind::Client(resuming(birth, at(1))),
            Placement::Replicated => {
                Kind::ClientOfReplicas(ToLeader::new(SPACE, servers(), resuming(birth, SPACE)))
            }
            Placement::Managers => Kind::ClientOfManagers(self.router(birth.node)),
        };
        Node { kind, up: BTreeSet::new() }
    }

    fn of_server(&self, birth: &Birth) -> StackConfig {
        let mut space = SpaceConfig { max_attempts: u32::MAX, index_step: 3, ..SpaceConfig::default() };
        if birth.seed.is_multiple_of(2) {
            space.index_step = 100;
        }
        if birth.seed.is_multiple_of(4) {
            space.max_bytes = FEW_EVENTS;
        }
        let mut config = StackConfig::of_server(CLUSTER, Incarnation(birth.life), birth.seed);
        config.resume.window = REMEMBERED;
        self.seeded(config.with_space(SpaceConfig { seed: birth.seed, ..space }))
    }

    #[cfg_attr(not(feature = "seeded-defects"), expect(clippy::unused_self, reason = "there is no defect"))]
    fn seeded(&self, config: StackConfig) -> StackConfig {
        #[cfg(feature = "seeded-defects")]
        let config = {
            let mut config = config;
            config.space.defect = self.defect.and_then(super::Defect::of_space);
            config.resume.defect = self.defect.and_then(super::Defect::of_clients);
            config
        };
        config
    }

    fn of_log(&self, birth: &Birth) -> StackConfig {
        let mut log = LoggedConfig::new(CLUSTER, at(birth.node.0));
        log.spare_log_bytes = Random::new(birth.seed, birth.life).below(4_000);
        #[cfg(feature = "seeded-defects")]
        {
            log.defect = self.defect.and_then(super::Defect::of_log);
        }
        StackConfig { log: Some(log), ..self.of_server(birth) }
    }

    fn of_replica(&self, birth: &Birth) -> StackConfig {
        let mut random = Random::new(birth.seed, u64::from(birth.node.0) << 32 | birth.life);
        let mut few = |most: u64| 1 + u16::try_from(random.below(most)).expect("a few");
        let replicas = (1..=SEVERAL).map(NodeId).collect();
        let seed = birth.seed ^ birth.life << 32;
        let mut config =
            ReplicatedConfig::new(CLUSTER, at(birth.node.0), replicas, Incarnation(birth.life), seed);
        (config.heartbeat, config.election, config.part_bytes) = (HEARTBEAT, ELECTION, 300);
        (config.kept_entries, config.ahead) = (few(20), few(8));
        config.spare_log_bytes = random.below(4_000);
        #[cfg(feature = "seeded-defects")]
        {
            config.defect = self.defect.and_then(super::Defect::of_replicas);
        }
        StackConfig { replication: Some(config), ..self.of_server(birth) }
    }

    fn of_manager(&self, birth: &Birth) -> StackConfig {
        let managers = ManagersConfig {
            managers: servers(),
            addresses: vec![String::new(); usize::from(SEVERAL)],
            me: u8::try_from(birth.node.0 - 1).expect("a few"),
            seed: birth.seed,
            spread_after: SPREAD_AFTER,
            hot_keys: HotKeysConfig { period: PERIOD, requests: 2 },
            told: None,
        };
        StackConfig { managers: Some(managers), ..self.of_server(birth) }
    }

    #[cfg_attr(not(feature = "seeded-defects"), expect(clippy::unused_self, reason = "there is no defect"))]
    fn router(&self, node: NodeId) -> Router {
        let router =
            Router::new(RouterConfig { callers: callers(node), managers: servers(), loss: relay::loss });
        #[cfg(feature = "seeded-defects")]
        let router = router.with_defect(self.defect.and_then(super::Defect::of_space));
        router
    }
}

fn callers(node: NodeId) -> Address {
    Address { node, port: PORT_CALLERS }
}

fn resuming(birth: &Birth, service: Address) -> ResumingRelay {
    let callers = callers(birth.node);
    let client = ClientId(u128::from(birth.life) << 16 | u128::from(birth.node.0));
    Resuming::new(Some(client), callers, service, Relay::new(callers, service, stack::class))
}

impl Node {
    fn protocol(&self) -> &dyn Protocol {
        match &self.kind {
            Kind::Logged(logged) => &**logged,
            Kind::Replica(replica) => &**replica,
            Kind::Manager(manager) => &**manager,
            Kind::Client(client) => client,
            Kind::ClientOfReplicas(client) => client,
            Kind::ClientOfManagers(router) => router,
        }
    }

    fn protocol_mut(&mut self) -> &mut dyn Protocol {
        match &mut self.kind {
            Kind::Logged(logged) => &mut **logged,
            Kind::Replica(replica) => &mut **replica,
            Kind::Manager(manager) => &mut **manager,
            Kind::Client(client) => client,
            Kind::ClientOfReplicas(client) => client,
            Kind::ClientOfManagers(router) => router,
        }
    }

    /// Whether it is a replica that leads.
    pub(super) fn leads(&self) -> bool {
        let Kind::Replica(replica) = &self.kind else { return false };
        replica.standing().is_some_and(|standing| standing.leads)
    }

    /// Whether it is a replica that has the log on its disk, and votes.
    pub(super) fn votes(&self) -> bool {
        let Kind::Replica(replica) = &self.kind else { return false };
        replica.standing().is_some_and(|standing| standing.votes)
    }

    /// Up to where a replica's protocol was given the log, and the digest of its state there.
    pub(super) fn digest(&self) -> Option<(u64, u64)> {
        let Kind::Replica(replica) = &self.kind else { return None };
        replica.digest()
    }
}

impl Protocol for Node {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Frame(from, frame) if from.port == PORT_CALLERS && frame.kind == CANCEL => {
                let (token, body) = cancelled(frame.body).expect("callers of these runs say which");
                let frame = Frame::new(CANCEL, token, body);
                self.protocol_mut().handle(now, Input::Frame(from, frame), out);
            }
            // Links of the life before: no host tells of the end of what it has not told of.
            Input::Peer(peer, PeerChange::Down(_)) if !self.up.remove(&peer) => {}
            Input::Peer(peer, change @ PeerChange::Up { .. }) => {
                self.up.insert(peer);
                self.protocol_mut().handle(now, Input::Peer(peer, change), out);
            }
            input => self.protocol_mut().handle(now, input, out),
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.protocol().deadline()
    }
}
