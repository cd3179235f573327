//! The simulated network of a run: a manager, clients, and the layers between them.

use crate::client::{Client, STEP};
use crate::expiry::Expiring;
use crate::fault::{Fault, USUAL, Who};
use crate::history::SharedHistory;
use crate::item::{Item, Shape};
use crate::plan::{ClientPlan, Clock, Plan, Windows};
use quintet_contract::{
    Address, Effects, Incarnation, Kind, NodeId, OwnedFrame, Port, Protocol, Span, Time, Token,
};
use quintet_messaging::{Messages, Window};
use quintet_session::{Placed, Ports, Reliability, Sessions};
use quintet_simulate::{Choices, Distribution, Hosted, LinkModel, Picos, Restart, Simulation};
use quintet_stack::{self as stack, Liveness, StackConfig};
pub(crate) use quintet_stack::{SERVER, SPACE, SPACE_NODE};
use quintet_tuple_space::{
    Request, SpaceConfig, SpaceNumber, SpaceSettings, Spaces, SpacesRequest, stages, template,
};
use quintet_wire::registry::{PORT_USER, USER};
use std::any::Any;

/// The client that looks into the space at the end of a run.
pub(crate) const INSPECTOR: u16 = 100;
/// Tells a client that it was given something to ask.
const PROMPT: Kind = USER.kind(0);

const CLUSTER: u128 = 5;
/// What a step of a process costs, where work takes time.
const STEP_COST: Span = Span::from_micros(1);
/// No step takes longer, at the usual speed.
const LONGEST_STEP: Span = Span::from_micros(50);
pub(crate) const KEEP_ALIVE: Span = Span::from_millis(50);
pub(crate) const SILENCE_LIMIT: Span = Span::from_millis(200);

/// A defect of a run: none without the feature `seeded-defects`.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Seeded {
    #[cfg(feature = "seeded-defects")]
    pub(crate) defect: Option<crate::Defect>,
}

impl Seeded {
    #[cfg_attr(not(feature = "seeded-defects"), expect(clippy::unused_self, reason = "there is no defect"))]
    fn with_defect(self, config: StackConfig) -> StackConfig {
        #[cfg(feature = "seeded-defects")]
        let config = StackConfig {
            messaging_defect: self.defect.and_then(crate::Defect::of_messaging),
            session_defect: self.defect.and_then(crate::Defect::of_session),
            space: SpaceConfig { defect: self.defect.and_then(crate::Defect::of_space), ..config.space },
            ..config
        };
        config
    }
}

/// The named space of a run that has one: the first that its manager makes.
const NAMED: SpaceNumber = SpaceNumber(1);
/// The number of tuples that no client puts.
const UNSEEN: u64 = 1 << 40;

/// The network of one run.
pub(crate) struct Network {
    pub(crate) simulation: Simulation,
    history: SharedHistory,
    key: u64,
    pub(crate) has_messages: bool,
    resume_window: Span,
    pub(crate) windows: Windows,
    space: SpaceConfig,
    /// How the manager reaches each client.
    clients: Vec<Reliability>,
    /// Those that it dials itself.
    dialled: Vec<Address>,
    /// Whether work takes time: where any process is slow for a while.
    has_costs: bool,
    /// Which of the manager's spaces clients ask.
    number_of_space: SpaceNumber,
    expiring: Expiring,
    seeded: Seeded,
}

/// The sessions of a client's node.
pub(crate) fn address(client: u16) -> Address {
    stack::sessions_of(NodeId(client))
}

/// The port of the one instance at the sessions of a node.
fn port_at(sessions: Address) -> Port {
    if sessions == SERVER { SPACE.port } else { PORT_USER }
}

impl Network {
    /// The manager, and nobody else so far.
    pub(crate) fn new(plan: &Plan, choices: &Choices, history: SharedHistory, seeded: Seeded) -> Network {
        let mut network = Network {
            simulation: Simulation::explored(plan.key, choices.clone()),
            history,
            key: plan.key,
            has_messages: plan.has_messages,
            resume_window: plan.resume_window,
            windows: plan.windows,
            space: SpaceConfig { seed: plan.key, ..plan.space },
            clients: plan.clients.iter().map(|client| client.reliability).collect(),
            dialled: plan.dialled().map(|client| Address { node: NodeId(client), port: PORT_USER }).collect(),
            has_costs: plan
                .faults
                .iter()
                .any(|(_, fault)| matches!(fault, Fault::Slow { .. } | Fault::Freeze { .. })),
            number_of_space: if plan.is_in_named_space() { NAMED } else { SpaceNumber::UNNAMED },
            expiring: plan.expiring(),
            seeded,
        };
        let config = network.manager_config(Incarnation(1));
        let space = vec![network.space(&config)];
        if network.has_messages {
            network.simulation.add(SERVER, stack::node(SPACE.node, &config, space));
        } else {
            network.simulation.add(SERVER, stack::without_messages(SPACE.node, &config, space));
        }
        network.set_up(SERVER, plan.clock);
        network.furnish();
        network
    }

    /// Where clients ask a named space: makes it, with the limits of the run, and puts tuples like theirs beside it that none of them may see.
    fn furnish(&mut self) {
        if self.number_of_space == SpaceNumber::UNNAMED {
            return;
        }
        let SpaceConfig { max_bytes, max_tuples, .. } = self.space;
        let settings = SpaceSettings { max_bytes, max_tuples, ..SpaceSettings::default() };
        let name = "named".parse().expect("letters make a name");
        self.simulation.inject(SERVER, words(&Request::Spaces(&SpacesRequest::Create(name, settings))));
        for shape in [Shape::Job(0), Shape::Job(1), Shape::Note, Shape::Blob(10), Shape::Grid(1)] {
            let tuples = [Item { shape, number: UNSEEN }.tuple()];
            let deadline = Some(Span::ZERO);
            self.simulation.inject(SERVER, words(&Request::Out { deadline, tuples: &tuples, expiries: &[] }));
        }
    }

    /// Gives the instance at an address its costs and its clock.
    fn set_up(&mut self, at: Address, clock: Clock) {
        self.simulation.set_clock(at.node, clock.offset_nanos, clock.drift_ppb);
        self.simulation.set_tick(at.node, clock.tick);
        self.set_costs(at);
    }

    /// What a client's step and a manager's comparing and storing cost, where work takes time: [`STEP_COST`] each.
    fn set_costs(&mut self, at: Address) {
        if self.has_costs {
            let stages = [STEP, stages::MATCH, stages::STORE];
            let costs = stages
                .map(|stage| (stage, Distribution::Constant(STEP_COST.0 as f64 * 1e3)))
                .into_iter()
                .collect();
            self.simulation.set_costs(at, costs);
        }
    }

    /// What the stacks of this run have in common: their sessions end sooner than those of programs, so that a run may be short.
    fn config(&self, life: Incarnation) -> StackConfig {
        let Windows { slots, bytes, requests, fragments } = self.windows;
        let liveness = Liveness {
            keep_alive: KEEP_ALIVE,
            silence_limit: SILENCE_LIMIT,
            resume_window: self.resume_window,
        };
        let config = StackConfig::of_server(CLUSTER, life, self.key)
            .with_window(Window { slots, bytes })
            .with_space(self.space);
        self.seeded.with_defect(StackConfig { requests, fragments, liveness, ..config })
    }

    fn manager_config(&self, life: Incarnation) -> StackConfig {
        let lossy = |(index, link): (usize, &Reliability)| {
            (*link != Reliability::Link).then(|| (NodeId(number(index)), *link))
        };
        let links = self.clients.iter().enumerate().filter_map(lossy).collect();
        StackConfig { links, ..self.config(life) }
    }

    /// The space at its port. Who asks nobody dials nobody: here it is made to ask those clients that the manager dials.
    fn space(&self, config: &StackConfig) -> Placed<Spaces> {
        Placed { asks: self.dialled.clone(), ..stack::space(config) }
    }

    fn client_config(&self, life: Incarnation, reliability: Reliability) -> StackConfig {
        StackConfig { links: [(SPACE.node, reliability)].into(), ..self.config(life) }
    }

    /// Adds a client and its link.
    pub(crate) fn add(
        &mut self,
        mut client: Client,
        link: LinkModel,
        reliability: Reliability,
        clock: Clock,
    ) {
        let at = address(client.number);
        (client.number_of_space, client.expiring) = (self.number_of_space, self.expiring);
        let config = self.client_config(Incarnation(1), reliability);
        let client = vec![stack::asking_space(PORT_USER, client)];
        if self.has_messages {
            self.simulation.add(at, stack::node(at.node, &config, client));
        } else {
            self.simulation.add(at, stack::without_messages(at.node, &config, client));
        }
        self.set_up(at, clock);
        self.simulation.connect(SERVER, at, link);
    }

    /// Starts the crashed manager again, as a new process with an empty space.
    pub(crate) fn restart_manager(&mut self, life: u64) {
        let config = self.manager_config(Incarnation(life));
        let space = vec![self.space(&config)];
        let instance: Box<dyn Hosted> = if self.has_messages {
            Box::new(stack::node(SPACE.node, &config, space))
        } else {
            Box::new(stack::without_messages(SPACE.node, &config, space))
        };
        self.simulation.restart(SERVER.node, Restart::Fresh(vec![(SERVER.port, instance)]));
        self.set_costs(SERVER);
        self.furnish();
    }

    /// Starts a crashed client again, as a new process.
    pub(crate) fn restart(&mut self, mut client: Client, plan: &ClientPlan, life: u64) {
        let at = address(client.number);
        (client.number_of_space, client.expiring) = (self.number_of_space, self.expiring);
        let config = self.client_config(Incarnation(life), plan.reliability);
        let client = vec![stack::asking_space(PORT_USER, client)];
        let instance: Box<dyn Hosted> = if self.has_messages {
            Box::new(stack::node(at.node, &config, client))
        } else {
            Box::new(stack::without_messages(at.node, &config, client))
        };
        let instances: Vec<(Port, Box<dyn Hosted>)> = vec![(at.port, instance)];
        self.simulation.restart(at.node, Restart::Fresh(instances));
        self.set_costs(at);
    }

    /// Lets a process take so many thousandths of its time for everything.
    pub(crate) fn set_slowness(&mut self, node: NodeId, per_mille: u64) {
        for processor in self.simulation.processors_of(node) {
            self.simulation.set_slowness(processor, per_mille);
        }
    }

    /// Lets a process stand still for so long, in the middle of its next step: what comes meanwhile lies in its links. One that is in the
    /// middle of another step ends that first.
    pub(crate) fn freeze(&mut self, who: Who, span: Span, events: u64) {
        self.set_slowness(NodeId(who), span.0 * USUAL / STEP_COST.0);
        if who == 0 {
            self.simulation.inject(SERVER, nothing_to_count());
        } else {
            self.prompt(who);
        }
        let now = self.simulation.now();
        self.run_to(now + LONGEST_STEP, events);
        self.set_slowness(NodeId(who), USUAL);
    }

    /// A client, to be changed. What it is to ask goes with the next [`prompt`](Network::prompt).
    ///
    /// # Panics
    /// If there is none of this number.
    pub(crate) fn client_mut(&mut self, client: u16) -> &mut Client {
        let at = address(client);
        let found = if self.has_messages {
            self.instance_mut::<Messages<Client>>(at).map(Messages::inner_mut)
        } else {
            self.instance_mut::<Client>(at)
        };
        found.expect("the run added this client")
    }

    /// Whether this client and the manager are in the same session. One of them may not know yet that theirs is over.
    pub(crate) fn is_joined(&self, client: u16) -> bool {
        let at = address(client);
        if self.has_messages {
            self.session::<Messages<Client>>(at, SERVER) == self.session::<Messages<Spaces>>(SERVER, at)
        } else {
            self.session::<Client>(at, SERVER) == self.session::<Spaces>(SERVER, at)
        }
    }

    /// Whether the manager, or else a client, has a session with the other, with or without a link.
    pub(crate) fn has_session(&self, client: u16, at_space: bool) -> bool {
        let at = address(client);
        let session = match (self.has_messages, at_space) {
            (true, true) => self.session::<Messages<Spaces>>(SERVER, at),
            (true, false) => self.session::<Messages<Client>>(at, SERVER),
            (false, true) => self.session::<Spaces>(SERVER, at),
            (false, false) => self.session::<Client>(at, SERVER),
        };
        session.is_some()
    }

    /// Whether the manager's sessions, or else a client's, go on with theirs at this first frame of a link that the other has made.
    pub(crate) fn is_resumed_by(&self, client: u16, at_space: bool, word: &OwnedFrame) -> bool {
        let at = address(client);
        match (self.has_messages, at_space) {
            (true, true) => self.is_resumed::<Messages<Spaces>>(SERVER, at, word),
            (true, false) => self.is_resumed::<Messages<Client>>(at, SERVER, word),
            (false, true) => self.is_resumed::<Spaces>(SERVER, at, word),
            (false, false) => self.is_resumed::<Client>(at, SERVER, word),
        }
    }

    fn is_resumed<P: Protocol + Any>(&self, at: Address, from: Address, word: &OwnedFrame) -> bool {
        let sessions = self.simulation.get::<Sessions<Ports<P>>>(at);
        sessions.is_some_and(|sessions| sessions.is_resumed_by(from, word.borrow()))
    }

    /// What stands at the sessions of a node: the space of the manager's, a client of any other.
    pub(crate) fn instance<P: Protocol + Any>(&self, at: Address) -> Option<&P> {
        self.simulation.get::<Sessions<Ports<P>>>(at)?.inner().get(port_at(at))
    }

    fn instance_mut<P: Protocol + Any>(&mut self, at: Address) -> Option<&mut P> {
        self.simulation.get_mut::<Sessions<Ports<P>>>(at)?.inner_mut().get_mut(port_at(at))
    }

    fn session<P: Protocol + Any>(&self, at: Address, peer: Address) -> Option<u64> {
        self.simulation.get::<Sessions<Ports<P>>>(at)?.session(peer)
    }

    /// Whether every frame that the manager and this client sent has arrived.
    pub(crate) fn is_idle(&self, client: u16) -> bool {
        let at = address(client);
        if self.has_messages {
            self.has_delivered::<Messages<Client>>(at, SERVER)
                && self.has_delivered::<Messages<Spaces>>(SERVER, at)
        } else {
            self.has_delivered::<Client>(at, SERVER) && self.has_delivered::<Spaces>(SERVER, at)
        }
    }

    fn has_delivered<P: Protocol + Any>(&self, at: Address, peer: Address) -> bool {
        self.simulation.get::<Sessions<Ports<P>>>(at).is_some_and(|sessions| sessions.is_idle_with(peer))
    }

    /// Makes a new link for every client whose link was closed, as live hosts do.
    pub(crate) fn dial_again(&mut self, clients: &[ClientPlan]) {
        for (index, client) in clients.iter().enumerate() {
            let at = address(number(index));
            if self.simulation.is_closed(at.node, SPACE_NODE)
                && self.simulation.is_closed(SPACE_NODE, at.node)
            {
                self.simulation.connect(SERVER, at, client.link);
            }
        }
    }

    /// Lets a client send what it was given to ask.
    pub(crate) fn prompt(&mut self, client: u16) {
        let (body, bulk) = Default::default();
        self.simulation.inject(address(client), OwnedFrame { kind: PROMPT, token: Token(0), body, bulk });
    }

    /// Runs until `end`, or until there were `events` in all.
    pub(crate) fn run_to(&mut self, end: Time, events: u64) {
        while let Some(at) = self.simulation.next_at().filter(|at| *at <= Picos::reaching(end)) {
            self.history.borrow_mut().now = at.time();
            if self.simulation.events() >= events || !self.simulation.step() {
                break;
            }
        }
        let left = end.since(self.simulation.now());
        if self.simulation.events() < events {
            self.simulation.run_for(left);
        }
        self.history.borrow_mut().now = self.simulation.now();
    }
}

/// A question to the manager that costs it one step: how many tuples of a sort there are that nobody puts.
fn nothing_to_count() -> OwnedFrame {
    words(&Request::Count { template: &template!["nobody puts this"] })
}

/// What a caller of the manager's own node asks.
fn words(asked: &Request<'_>) -> OwnedFrame {
    let mut out = Effects::default();
    asked.send(&mut out, SPACE, Token(0), Token(0)).expect("an outbox without a limit");
    out.frames().pop().map(|(_, frame)| frame).expect("it was sent in the line before")
}

/// The number of the client at an index of the plan.
pub(crate) fn number(index: usize) -> u16 {
    u16::try_from(index + 1).expect("a handful of clients")
}
