//! The same of a replicated space: machines end at any moment, often the one that leads, and come back; clients go from one replica to the next until
//! one leads, over links that nobody but them makes again.

use super::{Keeper, WORKERS, account, services, worker_of_relay};
use crate::worker::Worker;
use quintet_contract::{Address, Frame, Incarnation, NodeId, OwnedFrame, Port, Random, Span, Token};
use quintet_replicated::{Replicated, ReplicatedConfig, Standing, ToLeader};
use quintet_resume::{ClientId, Resuming};
use quintet_simulate::{Hosted, LinkModel, Restart, Simulation};
use quintet_stack::{
    PORT_RELAY, ResumedSpaces, SPACE, SpaceRequests, Stack, StackConfig, asking_space, node, replica_nodes,
    replicated_space, sessions_of,
};
use quintet_tuple_space::SpaceConfig;
use quintet_wire::registry::{PORT_CALLERS, PORT_SESSION, PORT_SPACE, USER};
use std::collections::BTreeSet;

const REPLICAS: u8 = 3;
const FIRST_CLIENT: u16 = 10;

type Server = Stack<Replicated<ResumedSpaces>>;
pub(super) type Client = Stack<ToLeader<Resuming<Worker, SpaceRequests>>>;

#[derive(Clone, Copy)]
struct Style {
    seed: u64,
    crashes: u64,
    #[cfg(feature = "seeded-defects")]
    defect: Option<quintet_resume::Defect>,
}

impl Style {
    fn new(seed: u64) -> Style {
        let mut random = Random::new(seed, 1);
        Style {
            seed,
            crashes: 1 + random.below(6),
            #[cfg(feature = "seeded-defects")]
            defect: None,
        }
    }
}

struct Run {
    style: Style,
    simulation: Simulation,
    random: Random,
    lives: u64,
    down: Vec<NodeId>,
    /// Replicas and clients that were linked before.
    joined: BTreeSet<(NodeId, NodeId)>,
    /// How often clients were linked.
    links: u16,
}

fn callers(replica: NodeId) -> Address {
    Address { node: replica, port: PORT_CALLERS }
}

fn clients() -> impl Iterator<Item = NodeId> {
    (FIRST_CLIENT..FIRST_CLIENT + WORKERS).map(NodeId)
}

impl Run {
    fn new(style: Style) -> Run {
        let mut simulation = Simulation::new(style.seed);
        simulation.set_services(services(0));
        let (random, down, joined) = (Random::new(style.seed, 2), Vec::new(), BTreeSet::new());
        let mut run = Run { style, simulation, random, lives: 0, down, joined, links: 0 };
        for replica in replica_nodes(REPLICAS) {
            let server = run.server(replica);
            run.simulation.add(callers(replica), Keeper::default());
            run.simulation.add(sessions_of(replica), server);
            for other in replica_nodes(REPLICAS).filter(|other| *other < replica) {
                run.simulation.connect(sessions_of(other), sessions_of(replica), LinkModel::default());
            }
        }
        run
    }

    fn server(&mut self, replica: NodeId) -> Server {
        self.lives += 1;
        let mut config = StackConfig::of_server(7, Incarnation(self.lives), self.lives);
        config.space = SpaceConfig { max_attempts: u32::MAX, index_step: 3, seed: 1, ..config.space };
        let me = Address { node: replica, port: PORT_SPACE };
        let replicas = replica_nodes(REPLICAS).collect();
        let seed = self.style.seed ^ self.lives << 32;
        let mut replication = ReplicatedConfig::new(7, me, replicas, Incarnation(self.lives), seed);
        replication.spare_log_bytes = self.random.below(4_000);
        replication.kept_entries = 1 + u16::try_from(self.random.below(20)).expect("a few");
        config.replication = Some(replication);
        config.resume.max_kept_bytes = 8_000;
        #[cfg(feature = "seeded-defects")]
        {
            config.resume.defect = self.style.defect;
        }
        node(replica, &config, vec![replicated_space(&config)])
    }

    fn standing(&self, replica: NodeId) -> Option<Standing> {
        let server = self.simulation.get::<Server>(sessions_of(replica))?;
        server.inner().get(PORT_SPACE)?.inner().standing()
    }

    fn leader(&self) -> Option<NodeId> {
        let leads = |replica: &NodeId| self.standing(*replica).is_some_and(|standing| standing.leads);
        replica_nodes(REPLICAS).filter(|replica| !self.down.contains(replica)).find(leads)
    }

    /// Goes on, and links clients that have no link to the next replica each.
    fn go_on(&mut self, span: Span) -> Result<(), String> {
        for _ in 0..span.0.div_ceil(1_000_000) {
            self.simulation.run_for(Span::from_millis(1));
            if let Some(lost) = self.workers().find_map(|worker| worker.lost.clone()) {
                return Err(lost);
            }
            for client in clients() {
                if !replica_nodes(REPLICAS).any(|replica| self.is_linked(replica, client)) {
                    self.link_next(client);
                }
            }
        }
        Ok(())
    }

    fn is_linked(&self, replica: NodeId, client: NodeId) -> bool {
        !self.down.contains(&replica)
            && self.joined.contains(&(replica, client))
            && !self.simulation.is_closed(replica, client)
    }

    fn link_next(&mut self, client: NodeId) {
        self.links += 1;
        let replica = NodeId(1 + self.links % u16::from(REPLICAS));
        if !self.down.contains(&replica) {
            self.link(client, replica);
        }
    }

    fn link(&mut self, client: NodeId, replica: NodeId) {
        let link = LinkModel { may_be_cut: true, ..LinkModel::default() };
        self.simulation.connect(sessions_of(replica), sessions_of(client), link);
        self.joined.insert((replica, client));
    }

    /// Begins the clients once one leads.
    fn begin(&mut self) -> Result<(), String> {
        for _ in 0..1_000 {
            self.simulation.run_for(Span::from_millis(5));
            let Some(leader) = self.leader() else { continue };
            for client in clients() {
                self.simulation.add(sessions_of(client), resuming(client, self.style.seed));
                self.link(client, leader);
            }
            // Who has not been told that it may come back is as any client.
            return self.go_on(Span::from_millis(20));
        }
        Err("nobody leads".to_owned())
    }

    fn crash(&mut self) {
        let drawn = NodeId(1 + u16::try_from(self.random.below(REPLICAS.into())).expect("a few"));
        let replica = self.leader().filter(|_| self.random.below(3) > 0).unwrap_or(drawn);
        if !self.down.contains(&replica) {
            self.simulation.crash(replica, Span::from_millis(1));
            self.down.push(replica);
        }
    }

    fn restart_all(&mut self) {
        self.simulation.run_for(Span::from_micros(1_100));
        for replica in core::mem::take(&mut self.down) {
            let server = self.server(replica);
            let instances: Vec<(Port, Box<dyn Hosted>)> =
                vec![(PORT_CALLERS, Box::<Keeper>::default()), (PORT_SESSION, Box::new(server))];
            self.simulation.restart(replica, Restart::Fresh(instances));
        }
    }

    fn workers(&self) -> impl Iterator<Item = &Worker> {
        clients().filter_map(|at| self.simulation.get::<Client>(sessions_of(at))).map(worker_of_relay)
    }

    /// All that is left in the space.
    fn empty(&mut self) -> Result<Vec<(String, i64)>, String> {
        // Who was restarted last may have to be heard before one is elected.
        self.go_on(Span::from_secs(3))?;
        let leader = self.leader().ok_or("nobody leads in the end")?;
        let begin = OwnedFrame { kind: USER.kind(0), ..Frame::new(USER.kind(0), Token(0), &[]).to_owned() };
        self.simulation.inject_from(PORT_CALLERS, callers(leader), begin);
        for _ in 0..100 {
            self.go_on(Span::from_millis(20))?;
            let keeper = self.simulation.get::<Keeper>(callers(leader)).expect("there is one");
            if keeper.is_empty {
                return Ok(keeper.taken.clone());
            }
        }
        Err("the space is not emptied".to_owned())
    }
}

fn resuming(at: NodeId, seed: u64) -> Client {
    let mut config = StackConfig::of_client(7, Incarnation(1), seed);
    config.liveness.resume_window = Span::ZERO;
    let callers = Address { node: at, port: PORT_CALLERS };
    let id = ClientId(u128::from(at.0) << 64 | u128::from(seed));
    let relay = Resuming::new(Some(id), callers, SPACE, Worker::new(at.0, seed, 150));
    let asks: Vec<Address> = replica_nodes(REPLICAS).map(|node| Address { node, port: PORT_SPACE }).collect();
    let mut placed = asking_space(PORT_RELAY, ToLeader::new(SPACE, asks.clone(), relay));
    placed.asks = asks;
    node(at, &config, vec![placed])
}

/// One schedule, and what is wrong with what was told.
fn explore(style: Style) -> Result<(), String> {
    let mut run = Run::new(style);
    run.begin()?;
    for _ in 0..style.crashes {
        let until = Span::from_micros(run.random.below(300_000));
        run.go_on(until)?;
        run.crash();
        let until = Span::from_micros(run.random.below(900_000));
        run.go_on(until)?;
        run.restart_all();
    }
    for _ in 0..1_000 {
        if run.workers().all(Worker::is_done) {
            break;
        }
        run.go_on(Span::from_millis(5))?;
    }
    if !run.workers().all(Worker::is_done) {
        return Err("somebody was never answered".to_owned());
    }
    let left = run.empty()?;
    account(run.workers(), &left)
}

fn explore_all(seeds: core::ops::Range<u64>) {
    for seed in seeds {
        if let Err(problem) = explore(Style::new(seed)) {
            panic!("seed {seed}: {problem}");
        }
    }
}

#[test]
fn no_request_fails_and_each_has_its_effect_once_whichever_replica_ends() {
    explore_all(0..100);
}

/// Many more, for `make explore`.
#[test]
#[ignore = "takes minutes"]
fn no_request_of_a_replicated_space_fails_in_many_more_schedules() {
    explore_all(100..5_000);
}

#[cfg(feature = "seeded-defects")]
#[test]
fn answers_that_are_forgotten_are_found_among_replicas() {
    let defect = Some(quintet_resume::Defect::AnswersForgotten);
    let find = |seed| explore(Style { defect, ..Style::new(seed) }).err();
    assert!((0..500).find_map(find).is_some(), "it was not found");
}
