//! Three replicas, their clients, and what befalls them.

use quintet_contract::{
    Address, Frame, Incarnation, Input, NodeId, Outbox, PeerChange, Port, Protocol, Random, Span, Time, Token,
};
use quintet_durable::LogNews;
use quintet_replicated::codec::LEADER;
use quintet_replicated::{Replicated, ReplicatedConfig};
use quintet_simulate::{DiskModel, Hosted, LinkModel, Restart, ServiceModel, Simulation};
use quintet_tests_workload::{Worker, account};
use quintet_tuple_space::{Answer, Request, Space, SpaceConfig, Value, Wait, template};
use quintet_wire::Decode;
use quintet_wire::registry::{DISK_DONE, DISK_REPLACE, LOG_NEWS, PORT_CALLERS, PORT_DISK, PORT_SPACE, USER};
use std::collections::BTreeMap;

const REPLICAS: u16 = 3;
const WORKERS: u16 = 3;
const FIRST_WORKER: u16 = 10;
/// Who empties the space in the end.
const KEEPER: Address = Address { node: NodeId(20), port: PORT_SPACE };

pub(crate) fn replica(node: u16) -> Address {
    Address { node: NodeId(node), port: PORT_SPACE }
}

/// How a run goes.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    pub(crate) seed: u64,
    pub(crate) faults: u64,
    pub(crate) takes: bool,
    pub(crate) is_bad: bool,
    /// How often machines lose their disks, of ten crashes.
    pub(crate) lost_disks: u64,
    #[cfg(feature = "seeded-defects")]
    pub(crate) defect: Option<quintet_replicated::Defect>,
}

impl Style {
    pub(crate) fn new(seed: u64) -> Style {
        let mut random = Random::new(seed, 1);
        Style {
            seed,
            faults: 4 + random.below(24),
            takes: random.below(3) == 0,
            is_bad: random.below(3) == 0,
            lost_disks: [0, 0, 3][usize::try_from(random.below(3)).expect("below 3")],
            #[cfg(feature = "seeded-defects")]
            defect: None,
        }
    }
}

/// A replica's machine: its disk may be gone when it starts.
struct Machine {
    inner: Replicated<Space>,
    is_lost: bool,
}

impl Protocol for Machine {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Started if self.is_lost => {
                out.send(self.disk(), DISK_REPLACE, Token(99), &[]).expect("it has a disk");
            }
            Input::Frame(from, frame) if frame.kind == DISK_DONE && frame.token == Token(99) => {
                assert_eq!(from, self.disk());
                self.inner.handle(now, Input::Started, out);
            }
            input => self.inner.handle(now, input, out),
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.inner.deadline()
    }
}

impl Machine {
    fn disk(&self) -> Address {
        Address { port: PORT_DISK, ..self.inner.me() }
    }
}

/// The callers of a replica's node.
#[derive(Default)]
pub(crate) struct Watcher {
    news: Vec<LogNews>,
}

impl Protocol for Watcher {
    fn handle(&mut self, _now: Time, input: Input<'_>, _out: &mut dyn Outbox) {
        if let Input::Frame(_, frame) = input
            && frame.kind == LOG_NEWS
        {
            self.news.push(LogNews::decode_all(frame.body).expect("news"));
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// Empties the space: asks whoever leads.
struct Keeper {
    asks: u16,
    token: u64,
    taken: Vec<(String, i64)>,
    is_empty: bool,
    is_waiting: bool,
    /// Takes that had no answer: they may have taken something.
    lost_takes: u32,
    again_at: Option<Time>,
}

impl Keeper {
    fn turn(&mut self, now: Time) {
        self.asks = (self.asks + 1) % REPLICAS;
        self.again_at = Some(now + Span::from_millis(20));
    }

    fn take(&mut self, now: Time, out: &mut dyn Outbox) {
        self.token += 1;
        let template = template![?str, ?i64];
        let request = Request::Take { wait: Wait::AtOnce, lease: None, template: &template };
        let to = replica(self.asks);
        self.is_waiting = request.send(out, to, Token(self.token), Token(self.token)).is_ok();
        if !self.is_waiting {
            self.turn(now);
        }
    }
}

impl Protocol for Keeper {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Frame(_, frame) if frame.kind == LEADER => {
                let was_waiting = core::mem::take(&mut self.is_waiting);
                was_waiting.then(|| self.turn(now));
            }
            Input::Frame(_, frame) if USER.contains(frame.kind) => self.take(now, out),
            Input::Frame(_, frame) => {
                self.is_waiting = false;
                match Answer::decode(frame.kind, frame.body, frame.bulk).expect("good bytes") {
                    Answer::Tuple(tuple, None) => {
                        let [Value::Text(name), Value::I64(item)] = tuple.values() else {
                            panic!("nobody puts {tuple:?}")
                        };
                        self.taken.push((name.to_string(), *item));
                        self.take(now, out);
                    }
                    Answer::NoMatch => self.is_empty = true,
                    other => panic!("a take is not answered so: {other:?}"),
                }
            }
            Input::Wake if self.again_at.take().is_some() => self.take(now, out),
            Input::Peer(peer, PeerChange::Down(_)) if peer == replica(self.asks) && self.is_waiting => {
                (self.is_waiting, self.lost_takes) = (false, self.lost_takes + 1);
                self.turn(now);
            }
            _ => {}
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.again_at
    }
}

pub(crate) struct Group {
    style: Style,
    pub(crate) simulation: Simulation,
    random: Random,
    lives: u64,
    /// Replicas that are down.
    down: Vec<u16>,
    /// Those whose disk was lost and that have not come back so far.
    lost: Vec<u16>,
    /// The state of the protocol at an index.
    digests: BTreeMap<u64, u64>,
    client_link: LinkModel,
}

impl Group {
    pub(crate) fn new(style: Style) -> Group {
        let mut simulation = Simulation::new(style.seed);
        simulation.set_services(ServiceModel { disk: Some(DiskModel::default()), ..ServiceModel::default() });
        let max_bulk_bytes = 1 << 24;
        let client_link = LinkModel { max_bulk_bytes, ..LinkModel::default() };
        let replica_link =
            if style.is_bad { LinkModel { max_bulk_bytes, ..LinkModel::bad() } } else { client_link };
        let random = Random::new(style.seed, 2);
        let mut group = Group {
            style,
            simulation,
            random,
            lives: 0,
            down: Vec::new(),
            lost: Vec::new(),
            digests: BTreeMap::new(),
            client_link,
        };
        for node in 0..REPLICAS {
            let machine = group.machine(node, false);
            group.simulation.add(Address { node: NodeId(node), port: PORT_CALLERS }, Watcher::default());
            group.simulation.add(replica(node), machine);
            for other in 0..node {
                group.simulation.connect(replica(other), replica(node), replica_link);
            }
        }
        let all: Vec<Address> = (0..REPLICAS).map(replica).collect();
        for worker in FIRST_WORKER..FIRST_WORKER + WORKERS {
            let me = Address { node: NodeId(worker), port: PORT_SPACE };
            let worker = Worker::new(&all, worker, style.seed, 60, style.takes).with_elsewhere(LEADER);
            group.simulation.add(me, worker);
            all.iter().for_each(|replica| group.simulation.connect(*replica, me, client_link));
        }
        let keeper = Keeper {
            asks: 0,
            token: 0,
            taken: Vec::new(),
            is_empty: false,
            is_waiting: false,
            lost_takes: 0,
            again_at: None,
        };
        group.simulation.add(KEEPER, keeper);
        all.iter().for_each(|replica| group.simulation.connect(*replica, KEEPER, client_link));
        group
    }

    fn machine(&mut self, node: u16, is_lost: bool) -> Machine {
        self.lives += 1;
        let nodes = (0..REPLICAS).map(NodeId).collect();
        let seed = self.style.seed ^ self.lives << 32;
        let mut config = ReplicatedConfig::new(7, replica(node), nodes, Incarnation(self.lives), seed);
        config.spare_log_bytes = self.random.below(4_000);
        config.kept_entries = 1 + u16::try_from(self.random.below(20)).expect("a few");
        config.ahead = 1 + u16::try_from(self.random.below(8)).expect("a few");
        config.part_bytes = 300;
        #[cfg(feature = "seeded-defects")]
        {
            config.defect = self.style.defect;
        }
        let space = SpaceConfig { max_attempts: u32::MAX, index_step: 3, ..SpaceConfig::default() };
        let inner = Replicated::new(config, |_| true, space, |space| Space::new(*space));
        Machine { inner, is_lost }
    }

    fn at(&self, node: u16) -> Option<&Replicated<Space>> {
        self.simulation.get::<Machine>(replica(node)).map(|machine| &machine.inner)
    }

    /// Whether what workers were told, and what is left, fits.
    pub(crate) fn account(&self, left: &[(String, i64)]) -> Result<(), String> {
        account(self.workers().flat_map(Worker::told), left, self.lost_takes())
    }

    fn workers(&self) -> impl Iterator<Item = &Worker> {
        (FIRST_WORKER..FIRST_WORKER + WORKERS)
            .filter_map(|node| self.simulation.get(Address { node: NodeId(node), port: PORT_SPACE }))
    }

    pub(crate) fn all_done(&self) -> bool {
        self.workers().all(Worker::is_done)
    }

    pub(crate) fn is_level(&self) -> bool {
        let applied = |node| self.at(node).and_then(Replicated::digest).map(|(index, _)| index);
        let first = applied(0);
        first.is_some() && (1..REPLICAS).all(|node| applied(node) == first)
    }

    /// Goes on for a while, and looks at all replicas again and again.
    pub(crate) fn go_on(&mut self, span: Span) -> Result<(), String> {
        for _ in 0..span.0.div_ceil(1_000_000) {
            self.simulation.run_for(Span::from_millis(1));
            self.link_again();
            self.look()?;
        }
        Ok(())
    }

    /// Clients whose links were closed come again.
    fn link_again(&mut self) {
        let clients = (FIRST_WORKER..FIRST_WORKER + WORKERS).chain([KEEPER.node.0]);
        for (client, node) in clients.flat_map(|client| (0..REPLICAS).map(move |node| (client, node))) {
            let (a, b) = (NodeId(node), NodeId(client));
            if self.simulation.is_closed(a, b) && !self.down.contains(&node) {
                self.simulation.connect_again(a, b, self.client_link);
            }
        }
    }

    fn look(&mut self) -> Result<(), String> {
        for node in (0..REPLICAS).filter(|node| !self.down.contains(node)) {
            let Some(machine) = self.simulation.get::<Machine>(replica(node)) else { continue };
            if machine.inner.is_closed() {
                let watcher = self.simulation.get::<Watcher>(Address { port: PORT_CALLERS, ..replica(node) });
                return Err(format!("replica {node} is closed: {:?}", watcher.map(|watcher| &watcher.news)));
            }
            let Some((index, digest)) = machine.inner.digest().filter(|(index, _)| *index > 0) else {
                continue;
            };
            if *self.digests.entry(index).or_insert(digest) != digest {
                return Err(format!("replica {node} is in another state at index {index}"));
            }
        }
        Ok(())
    }

    pub(crate) fn until(&mut self, problem: &str, done: fn(&Group) -> bool) -> Result<(), String> {
        for _ in 0..400 {
            if done(self) {
                return Ok(());
            }
            self.go_on(Span::from_millis(50))?;
        }
        let standings: Vec<_> = (0..REPLICAS).map(|node| self.at(node).map(Replicated::standing)).collect();
        Err(format!("{problem}: {standings:?}"))
    }

    /// Something befalls a replica.
    pub(crate) fn harm(&mut self) {
        let node = u16::try_from(self.random.below(REPLICAS.into())).expect("a few");
        let other = (node + 1 + u16::try_from(self.random.below(2)).expect("a few")) % REPLICAS;
        let (a, b) = (NodeId(node), NodeId(other));
        match self.random.below(10) {
            0..4 => self.crash(node),
            4 => self.restart_all(),
            5 => self.simulation.set_cut(a, b, true),
            6 => {
                for other in (0..REPLICAS).filter(|other| *other != node) {
                    self.simulation.set_cut(a, NodeId(other), true);
                    self.simulation.set_cut(NodeId(other), a, true);
                }
            }
            7 => self.heal(),
            8 => {
                self.crash(node);
                self.crash(other);
            }
            _ => {}
        }
        // A longer rest, so that there is a leader now and then.
        let rest = self.random.below(8);
        for _ in 0..rest {
            self.simulation.run_for(Span::from_millis(50));
        }
    }

    /// Who leads.
    pub(crate) fn leader(&self) -> Option<u16> {
        (0..REPLICAS)
            .filter(|node| !self.down.contains(node))
            .find(|node| self.at(*node).and_then(Replicated::standing).is_some_and(|standing| standing.leads))
    }

    /// Up to where a replica's protocol was given the log.
    pub(crate) fn applied(&self, node: u16) -> u64 {
        self.at(node).and_then(Replicated::standing).map_or(0, |standing| standing.applied)
    }

    /// Whether a replica has the log on its disk, and votes.
    pub(crate) fn votes(&self, node: u16) -> bool {
        self.at(node).and_then(Replicated::standing).is_some_and(|standing| standing.votes)
    }

    /// Nothing that the one says is heard by the other.
    pub(crate) fn cut(&mut self, from: u16, to: u16) {
        self.simulation.set_cut(NodeId(from), NodeId(to), true);
    }

    pub(crate) fn heal(&mut self) {
        for (a, b) in (0..REPLICAS).flat_map(|a| (0..REPLICAS).map(move |b| (a, b))) {
            if a != b {
                self.simulation.set_cut(NodeId(a), NodeId(b), false);
            }
        }
    }

    /// A replica ends; one that has ended begins again.
    fn crash(&mut self, node: u16) {
        match self.down.contains(&node) {
            true => self.restart(node),
            false => self.end(node),
        }
    }

    pub(crate) fn end(&mut self, node: u16) {
        self.simulation.crash(NodeId(node), Span::from_millis(1));
        self.down.push(node);
    }

    fn restart(&mut self, node: u16) {
        // As a supervisor does, and no disk but one of a group's is lost before it is there again.
        let has_log = self.at(node).is_some_and(|inner| inner.digest().is_some_and(|(index, _)| index > 0));
        self.lost.retain(|lost| *lost != node || !has_log);
        let others_whole =
            (0..REPLICAS).filter(|other| *other != node).all(|other| !self.lost.contains(&other));
        let is_lost = others_whole && self.random.below(10) < self.style.lost_disks && self.is_settled(node);
        self.start(node, is_lost);
    }

    /// A replica begins a new life, with its disk or without.
    pub(crate) fn start(&mut self, node: u16, is_lost: bool) {
        if is_lost {
            self.lost.push(node);
        }
        self.simulation.run_for(Span::from_micros(1_100));
        let machine = self.machine(node, is_lost);
        let instances: Vec<(Port, Box<dyn Hosted>)> =
            vec![(PORT_CALLERS, Box::<Watcher>::default()), (PORT_SPACE, Box::new(machine))];
        self.simulation.restart(NodeId(node), Restart::Fresh(instances));
        self.down.retain(|down| *down != node);
    }

    /// Whether the others are in, so that a disk that is lost is one of three.
    fn is_settled(&self, node: u16) -> bool {
        let mut others = (0..REPLICAS).filter(|other| *other != node);
        others.all(|other| {
            !self.down.contains(&other)
                && self.at(other).and_then(Replicated::digest).is_some_and(|(index, _)| index > 0)
        })
    }

    fn restart_all(&mut self) {
        let down = core::mem::take(&mut self.down);
        self.down.clone_from(&down);
        down.into_iter().for_each(|node| self.restart(node));
    }

    /// Everything works from here on.
    pub(crate) fn mend(&mut self) {
        self.heal();
        self.restart_all();
    }

    /// Takes that the keeper has no answer to.
    fn lost_takes(&self) -> u32 {
        self.simulation.get::<Keeper>(KEEPER).map_or(0, |keeper| keeper.lost_takes)
    }

    /// All that is left in the space.
    pub(crate) fn empty(&mut self) -> Result<Vec<(String, i64)>, String> {
        let frame = Frame::new(USER.kind(0), Token(0), &[]).to_owned();
        self.simulation.inject_from(PORT_CALLERS, KEEPER, frame);
        self.until("the space is not emptied", |group| {
            group.simulation.get::<Keeper>(KEEPER).is_some_and(|keeper| keeper.is_empty)
        })?;
        Ok(self.simulation.get::<Keeper>(KEEPER).expect("there is one").taken.clone())
    }
}
