//! All that a stack is made with.

use crate::isotach::IsotachConfig;
use crate::stacks::sessions_of;
use quintet_broker::BrokerConfig;
use quintet_broker::limits::MAX_MESSAGE_BYTES;
use quintet_contract::{Address, Incarnation, NodeId, Span};
use quintet_durable::LoggedConfig;
use quintet_launch::LauncherConfig;
use quintet_membership::{FIRST_CLIENT, MembershipConfig};
use quintet_messaging::upcall::MAX_OPEN_OF_PEER;
use quintet_messaging::{MessagingConfig, Window};
use quintet_replicated::ReplicatedConfig;
use quintet_resume::{ClientId, ResumeLimits};
use quintet_session::{PeerConfig, Reliability, SessionConfig};
use quintet_tuple_space::{ManagersConfig, SpaceConfig, SpacesConfig};
use quintet_wire::registry::{PORT_BROKER, serves_tokens};
use std::collections::{BTreeMap, BTreeSet};

/// What a stack is made with: all that decides what it does, besides its inputs. A recording keeps it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StackConfig {
    /// The cluster; both sides must name the same.
    pub cluster: u128,
    /// This life of the node.
    pub incarnation: Incarnation,
    /// Keys what is random.
    pub seed: u64,
    /// What a peer may have under way to this side.
    pub window: Window,
    /// Requests that may be unanswered, of one peer here and of this side there.
    pub requests: u32,
    /// Fragments of large data that a peer may have under way to this side.
    pub fragments: u32,
    /// How this side looks after its sessions.
    pub liveness: Liveness,
    /// Nodes of whose links is known what they leave to the session; else the link tells.
    pub links: BTreeMap<NodeId, Reliability>,
    /// The unnamed space's limits. A client's are not used.
    pub space: SpaceConfig,
    /// Which managers there are, where the space has several; none: it has one. No recording keeps it.
    pub managers: Option<ManagersConfig>,
    /// With what the space keeps a log of its inputs on the host's disk; none: it ends with its process.
    pub log: Option<LoggedConfig>,
    /// Who the client is to a space that outlives its server: it goes on when that comes back. Chosen by chance, never 0; none: it is known by its link.
    pub client: Option<ClientId>,
    /// How a space that outlives its server keeps its clients. A client's is not used.
    pub resume: ResumeLimits,
    /// With what other replicas the space is kept together, if it is replicated. No recording keeps it.
    pub replication: Option<ReplicatedConfig>,
    /// The limits of the named spaces. A client's are not used.
    pub spaces: SpacesConfig,
    /// Whether spaces that outlive their server are for those alone whom the server names. No recording keeps it.
    pub is_restricted: bool,
    /// The member of the cluster that the node is, if it is one.
    pub membership: Option<MembershipConfig>,
    /// The launcher of the node, if it has one.
    pub launcher: Option<LauncherConfig>,
    /// The member of an isonet that the node is, if it is one.
    pub isotach: Option<IsotachConfig>,
    /// The broker's limits. A client's are not used.
    pub broker: BrokerConfig,
    /// A defect of the messages, in tests that show that it is found. No recording keeps it.
    #[cfg(feature = "seeded-defects")]
    pub messaging_defect: Option<quintet_messaging::Defect>,
    /// A defect of the sessions, likewise.
    #[cfg(feature = "seeded-defects")]
    pub session_defect: Option<quintet_session::Defect>,
    /// A defect of the member of an isonet, likewise.
    #[cfg(feature = "seeded-defects")]
    pub isotach_defect: Option<quintet_isotach::Defect>,
}

/// How a side looks after its sessions. Zero is never.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Liveness {
    /// A peer unheard for this long is pinged.
    pub keep_alive: Span,
    /// A peer unheard for this long is down.
    pub silence_limit: Span,
    /// How long a session outlives its link, where links can be made again.
    pub resume_window: Span,
}

impl Liveness {
    /// A server's: a link tells it when a client's process ends, and a client that stands still costs it nothing.
    pub const OF_SERVER: Liveness =
        Liveness { keep_alive: Span::ZERO, silence_limit: Span::ZERO, resume_window: Span::ZERO };

    /// A client's, one, ten and ten seconds: it learns of a frozen server in the time that somebody would wait for it, and a disk
    /// or a machine that stands still for seconds ends no job.
    pub const OF_CLIENT: Liveness = Liveness {
        keep_alive: Span::from_secs(1),
        silence_limit: Span::from_secs(10),
        resume_window: Span::from_secs(10),
    };
}

impl StackConfig {
    /// A server with the defaults of everything else.
    #[must_use]
    pub fn of_server(cluster: u128, incarnation: Incarnation, seed: u64) -> StackConfig {
        StackConfig {
            cluster,
            incarnation,
            seed,
            window: Window::default(),
            requests: requests(&SpaceConfig::default()),
            fragments: 16,
            liveness: Liveness::OF_SERVER,
            links: BTreeMap::new(),
            space: SpaceConfig { seed, ..SpaceConfig::default() },
            managers: None,
            log: None,
            client: None,
            resume: ResumeLimits::default(),
            replication: None,
            spaces: SpacesConfig::default(),
            is_restricted: false,
            membership: None,
            launcher: None,
            isotach: None,
            broker: BrokerConfig::default(),
            #[cfg(feature = "seeded-defects")]
            messaging_defect: None,
            #[cfg(feature = "seeded-defects")]
            session_defect: None,
            #[cfg(feature = "seeded-defects")]
            isotach_defect: None,
        }
    }

    /// A client with the defaults of everything else.
    #[must_use]
    pub fn of_client(cluster: u128, incarnation: Incarnation, seed: u64) -> StackConfig {
        StackConfig { liveness: Liveness::OF_CLIENT, ..StackConfig::of_server(cluster, incarnation, seed) }
    }

    /// The same with this window.
    #[must_use]
    pub fn with_window(self, window: Window) -> StackConfig {
        StackConfig { window, ..self }
    }

    /// The same with this liveness.
    #[must_use]
    pub fn with_liveness(self, liveness: Liveness) -> StackConfig {
        StackConfig { liveness, ..self }
    }

    /// The same with these limits of the space, the seed of its hashing included. More requests are taken than it lets wait, so that
    /// it can refuse one too many and answer others.
    #[must_use]
    pub fn with_space(self, space: SpaceConfig) -> StackConfig {
        StackConfig { space, requests: requests(&space), ..self }
    }

    /// The sessions of a node at `me`, which says HELLO to the nodes that are asked. A member's says it to all nodes that may be members: who will be
    /// is not known when it is made, and either of two may find itself to be the one who reaches the other.
    pub(crate) fn sessions(&self, me: Address, asked: &BTreeSet<NodeId>) -> SessionConfig {
        let Liveness { keep_alive, silence_limit, resume_window } = self.liveness;
        let peer = |node: &NodeId| {
            let reliability = self.links.get(node).copied().unwrap_or(Reliability::ByLink);
            (sessions_of(*node), PeerConfig { initiate: asked.contains(node), reliability })
        };
        SessionConfig {
            keep_alive,
            silence_limit,
            resume_window,
            // All others of an isonet stand still until one that is silent is given up.
            resumes_silent: self.isotach.is_none(),
            peers: self.links.keys().chain(asked).map(peer).collect(),
            others: Some(PeerConfig { initiate: false, reliability: Reliability::ByLink }),
            greets_below: self.membership.as_ref().map_or(NodeId(0), |_| FIRST_CLIENT),
            #[cfg(feature = "seeded-defects")]
            defect: self.session_defect,
            ..SessionConfig::new(me, self.cluster, self.incarnation, self.seed)
        }
    }

    pub(crate) fn messaging(&self, me: Address) -> MessagingConfig {
        let mut messaging = MessagingConfig::new(me, crate::class).with_window(self.window);
        (messaging.requests, messaging.window_fragments) = (self.requests, self.fragments);
        // Who asks there need be no member, and says nothing that is large.
        if serves_tokens(me.port) {
            messaging = messaging.with_waiting_requests(MAX_OPEN_OF_PEER);
            (messaging.max_bulk_bytes, messaging.bulk_budget_bytes) = (0, 0);
        }
        // A broker and its clients take no more of each other than a handler may.
        if me.port == PORT_BROKER {
            messaging.max_bulk_bytes = MAX_MESSAGE_BYTES;
            messaging.total_budget_bytes = crate::broker::MAX_ARRIVING_BYTES;
        }
        #[cfg(feature = "seeded-defects")]
        {
            messaging.defect = self.messaging_defect;
        }
        messaging
    }
}

/// Requests that may be unanswered where the space has these limits.
fn requests(space: &SpaceConfig) -> u32 {
    MessagingConfig::new(crate::SPACE, crate::class).with_waiting_requests(space.max_waiting).requests
}
