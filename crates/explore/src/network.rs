//! The simulated network of a run: a manager, clients, and the layers between them.

use crate::client::Client;
use crate::plan::{ClientPlan, Plan};
use quintet_contract::{Address, Incarnation, Kind, OwnedFrame, Port, Protocol, Span, Time, Token};
use quintet_messaging::{Messages, MessagingConfig};
use quintet_session::{PeerConfig, Reliability, SessionConfig, Sessions};
use quintet_simulate::{Hosted, LinkModel, Restart, Simulation};
use quintet_tuple_space::{Space, SpaceConfig};
use quintet_wire::registry::{PORT_SPACE, PORT_USER, USER};
use std::any::Any;

/// Where the manager is.
pub(crate) const SPACE: Address = Address { node: quintet_contract::NodeId(0), port: PORT_SPACE };
/// The client that looks into the space at the end of a run.
pub(crate) const INSPECTOR: u16 = 100;
/// Tells a client that it was given something to ask.
const PROMPT: Kind = USER.kind(0);

const CLUSTER: u128 = 5;
const KEEP_ALIVE: Span = Span::from_millis(50);
const SILENCE_LIMIT: Span = Span::from_millis(200);

/// A defect of a run: none without the feature `seeded-defects`.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Seeded {
    #[cfg(feature = "seeded-defects")]
    pub(crate) defect: Option<crate::Defect>,
}

impl Seeded {
    #[cfg_attr(not(feature = "seeded-defects"), expect(clippy::unused_self, reason = "there is no defect"))]
    fn space(self, config: SpaceConfig) -> SpaceConfig {
        #[cfg(feature = "seeded-defects")]
        let config = SpaceConfig { defect: self.defect.and_then(crate::Defect::of_space), ..config };
        config
    }

    #[cfg_attr(not(feature = "seeded-defects"), expect(clippy::unused_self, reason = "there is no defect"))]
    fn messaging(self, config: MessagingConfig) -> MessagingConfig {
        #[cfg(feature = "seeded-defects")]
        let config = MessagingConfig { defect: self.defect.and_then(crate::Defect::of_messaging), ..config };
        config
    }
}

/// The network of one run.
pub(crate) struct Network {
    pub(crate) simulation: Simulation,
    seed: u64,
    has_messages: bool,
    resume_window: Span,
    windows: crate::plan::Windows,
    seeded: Seeded,
}

/// The address of a client.
pub(crate) fn address(client: u16) -> Address {
    Address { node: quintet_contract::NodeId(client), port: PORT_USER }
}

impl Network {
    /// The manager, and nobody else so far.
    pub(crate) fn new(seed: u64, plan: &Plan, seeded: Seeded) -> Network {
        let mut network = Network {
            simulation: Simulation::new(seed),
            seed,
            has_messages: plan.has_messages,
            resume_window: plan.resume_window,
            windows: plan.windows,
            seeded,
        };
        let mut sessions = network.sessions(SPACE, Incarnation(1));
        for (index, client) in plan.clients.iter().enumerate() {
            let peer = PeerConfig { initiate: false, reliability: client.reliability };
            sessions.peers.insert(address(number(index)), peer);
        }
        let inspector = PeerConfig { initiate: false, reliability: Reliability::Link };
        sessions.peers.insert(address(INSPECTOR), inspector);
        let space = Space::new(seeded.space(plan.space));
        if network.has_messages {
            let messages = Messages::new(network.messaging(SPACE), space);
            network.simulation.add(SPACE, Sessions::new(sessions, messages));
        } else {
            network.simulation.add(SPACE, Sessions::new(sessions, space));
        }
        network
    }

    fn sessions(&self, me: Address, incarnation: Incarnation) -> SessionConfig {
        SessionConfig {
            keep_alive: KEEP_ALIVE,
            silence_limit: SILENCE_LIMIT,
            resume_window: self.resume_window,
            others: None,
            ..SessionConfig::new(me, CLUSTER, incarnation, self.seed)
        }
    }

    fn messaging(&self, me: Address) -> MessagingConfig {
        let mut config = MessagingConfig::new(me, quintet::stack::class);
        self.windows.apply(&mut config);
        self.seeded.messaging(config)
    }

    fn client_sessions(
        &self,
        me: Address,
        incarnation: Incarnation,
        reliability: Reliability,
    ) -> SessionConfig {
        let mut sessions = self.sessions(me, incarnation);
        sessions.peers.insert(SPACE, PeerConfig { initiate: true, reliability });
        sessions
    }

    /// Adds a client and its link.
    pub(crate) fn add(&mut self, client: Client, link: LinkModel, reliability: Reliability) {
        let at = address(client.number);
        let sessions = self.client_sessions(at, Incarnation(1), reliability);
        if self.has_messages {
            let messages = Messages::new(self.messaging(at), client);
            self.simulation.add(at, Sessions::new(sessions, messages));
        } else {
            self.simulation.add(at, Sessions::new(sessions, client));
        }
        self.simulation.connect(SPACE, at, link);
    }

    /// Starts a crashed client again, as a new process.
    pub(crate) fn restart(&mut self, client: Client, plan: &ClientPlan, life: u64) {
        let at = address(client.number);
        let sessions = self.client_sessions(at, Incarnation(life), plan.reliability);
        let instance: Box<dyn Hosted> = if self.has_messages {
            Box::new(Sessions::new(sessions, Messages::new(self.messaging(at), client)))
        } else {
            Box::new(Sessions::new(sessions, client))
        };
        let instances: Vec<(Port, Box<dyn Hosted>)> = vec![(at.port, instance)];
        self.simulation.restart(at.node, Restart::Fresh(instances));
    }

    /// A client, to be changed. What it is to ask goes with the next [`prompt`](Network::prompt).
    ///
    /// # Panics
    /// If there is none of this number.
    pub(crate) fn client_mut(&mut self, client: u16) -> &mut Client {
        let at = address(client);
        let found = if self.has_messages {
            self.simulation.get_mut::<Sessions<Messages<Client>>>(at).map(|node| node.inner_mut().inner_mut())
        } else {
            self.simulation.get_mut::<Sessions<Client>>(at).map(Sessions::inner_mut)
        };
        found.expect("the run added this client")
    }

    /// Whether every frame that the manager and this client sent has arrived.
    pub(crate) fn is_idle(&self, client: u16) -> bool {
        let at = address(client);
        if self.has_messages {
            self.has_delivered::<Messages<Client>>(at) && self.has_delivered::<Messages<Space>>(SPACE)
        } else {
            self.has_delivered::<Client>(at) && self.has_delivered::<Space>(SPACE)
        }
    }

    fn has_delivered<P: Protocol + Any>(&self, at: Address) -> bool {
        self.simulation.get::<Sessions<P>>(at).is_some_and(Sessions::is_idle)
    }

    /// Lets a client send what it was given to ask.
    pub(crate) fn prompt(&mut self, client: u16) {
        let (body, bulk) = Default::default();
        self.simulation.inject(address(client), OwnedFrame { kind: PROMPT, token: Token(0), body, bulk });
    }

    /// Runs until `end`, or until there were `events` in all.
    pub(crate) fn run_to(&mut self, end: Time, events: u64) {
        let span = end.since(self.simulation.now());
        if !self.simulation.run_until(span, |simulation| simulation.events() >= events) {
            let left = end.since(self.simulation.now());
            self.simulation.run_for(left);
        }
    }
}

/// The number of the client at an index of the plan.
pub(crate) fn number(index: usize) -> u16 {
    u16::try_from(index + 1).expect("a handful of clients")
}
