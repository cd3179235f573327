//! Clients of a logged space, and of a replicated one (`replicas.rs`), whose server ends at any moment and comes back, over sessions and messages, on simulated disks and links: no request fails,
//! and each has its effect once.

mod replicas;
mod worker;

use quintet_contract::{
    Address, Frame, Incarnation, Input, NodeId, Outbox, OwnedFrame, Port, Protocol, Random, Span, Time, Token,
};
use quintet_durable::{LogNews, LoggedConfig};
use quintet_replicated::codec::LEADER;
use quintet_resume::{ClientId, Resuming};
use quintet_simulate::{DiskModel, Hosted, LinkModel, Restart, ServiceModel, Simulation};
use quintet_stack::{
    PORT_RELAY, SERVER, SPACE, SPACE_NODE, SpaceRequests, Stack, StackConfig, asking_space, logged_space,
    node, sessions_of,
};
use quintet_tuple_space::{Answer, Request, SpaceConfig, Value, Wait, template};
use quintet_wire::Decode;
use quintet_wire::registry::{LOG_NEWS, PORT_CALLERS, PORT_SESSION, USER};
use std::collections::BTreeMap;
use worker::{Told, Worker};

const CALLERS: Address = Address { node: SPACE_NODE, port: PORT_CALLERS };
const WORKERS: u16 = 3;

type Client = Stack<Resuming<Worker, SpaceRequests>>;

/// The callers of the server's node: hears how it goes with the log, and empties the space when told to.
#[derive(Default)]
struct Keeper {
    news: Vec<LogNews>,
    taken: Vec<(String, i64)>,
    is_empty: bool,
}

impl Keeper {
    fn take(node: NodeId, out: &mut dyn Outbox, token: u64) {
        let template = template![?str, ?i64];
        let request = Request::Take { wait: Wait::AtOnce, lease: None, template: &template };
        request.send(out, sessions_of(node), Token(token), Token(token)).expect("a space of this node");
    }
}

impl Protocol for Keeper {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        let Input::Frame(from, frame) = input else { return };
        if frame.kind == LOG_NEWS {
            self.news.push(LogNews::decode_all(frame.body).expect("news"));
        } else if frame.kind == LEADER {
            // A replica tells its node who leads.
        } else if from.port == PORT_CALLERS {
            Keeper::take(from.node, out, 1);
        } else {
            match Answer::decode(frame.kind, frame.body, frame.bulk).expect("the space's bytes are good") {
                Answer::Tuple(tuple, None) => {
                    let [Value::Text(name), Value::I64(item)] = tuple.values() else {
                        panic!("nobody puts {tuple:?}")
                    };
                    self.taken.push((name.to_string(), *item));
                    Keeper::take(from.node, out, frame.token.0 + 1);
                }
                Answer::NoMatch => self.is_empty = true,
                other => panic!("a take is not answered so: {other:?}"),
            }
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// How a run goes.
#[derive(Clone, Copy)]
struct Style {
    seed: u64,
    crashes: u64,
    may_be_cut: bool,
    failures_per_million: u32,
    #[cfg(feature = "seeded-defects")]
    defect: Option<quintet_resume::Defect>,
}

impl Style {
    fn new(seed: u64) -> Style {
        let mut random = Random::new(seed, 1);
        Style {
            seed,
            crashes: 1 + random.below(8),
            may_be_cut: random.below(2) == 0,
            failures_per_million: if random.below(3) == 0 { 20_000 } else { 0 },
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
}

impl Run {
    fn new(style: Style) -> Run {
        let mut simulation = Simulation::new(style.seed);
        simulation.set_services(services(0));
        let mut run = Run { style, simulation, random: Random::new(style.seed, 2), lives: 0 };
        let server = run.server();
        run.simulation.add(CALLERS, Keeper::default());
        run.simulation.add(SERVER, server);
        let link = LinkModel { may_be_cut: style.may_be_cut, ..LinkModel::default() };
        for number in 1..=WORKERS {
            let at = NodeId(number);
            run.simulation.add(sessions_of(at), client(at, style.seed));
            run.simulation.connect(SERVER, sessions_of(at), link);
        }
        run
    }

    fn server(&mut self) -> Stack<quintet_durable::Logged<quintet_stack::ResumedSpaces>> {
        self.lives += 1;
        let mut config = StackConfig::of_server(7, Incarnation(self.lives), self.lives);
        config.space = SpaceConfig { max_attempts: u32::MAX, index_step: 3, ..config.space };
        let spare_log_bytes = self.random.below(4_000);
        config.log = Some(LoggedConfig { spare_log_bytes, ..LoggedConfig::new(7, SPACE) });
        config.resume.max_kept_bytes = 8_000;
        #[cfg(feature = "seeded-defects")]
        {
            config.resume.defect = self.style.defect;
        }
        node(SPACE_NODE, &config, vec![logged_space(&config)])
    }

    fn restart(&mut self) {
        let server = self.server();
        let instances: Vec<(Port, Box<dyn Hosted>)> =
            vec![(PORT_CALLERS, Box::<Keeper>::default()), (PORT_SESSION, Box::new(server))];
        self.simulation.crash(SPACE_NODE, Span::from_millis(1));
        let down = Span::from_micros(1_100 + self.random.below(2_000));
        self.simulation.run_for(down);
        self.simulation.restart(SPACE_NODE, Restart::Fresh(instances));
    }

    fn keeper(&self) -> &Keeper {
        self.simulation.get(CALLERS).expect("there is one")
    }

    /// Goes on for a while. A disk that failed is an end like others.
    fn go_on(&mut self, span: Span) -> Result<(), String> {
        let ended = |keeper: &Keeper| {
            keeper.news.iter().any(|news| matches!(news, LogNews::Failed(_) | LogNews::Refused(_)))
        };
        self.simulation.run_until(span, |run| run.get(CALLERS).is_some_and(ended));
        if let Some(lost) = self.workers().find_map(|worker| worker.lost.clone()) {
            return Err(lost);
        }
        match self.keeper().news.last() {
            Some(LogNews::Refused(text)) => Err(format!("the log was refused: {text}")),
            Some(LogNews::Failed(_)) => {
                self.restart();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn workers(&self) -> impl Iterator<Item = &Worker> {
        let client = |number| self.simulation.get::<Client>(sessions_of(NodeId(number)));
        (1..=WORKERS).filter_map(client).map(worker_of)
    }

    /// All that is left in the space.
    fn empty(&mut self) -> Result<Vec<(String, i64)>, String> {
        let begin = OwnedFrame { kind: USER.kind(0), ..Frame::new(USER.kind(0), Token(0), &[]).to_owned() };
        self.simulation.inject_from(PORT_CALLERS, CALLERS, begin);
        for _ in 0..100 {
            self.go_on(Span::from_millis(20))?;
            if self.keeper().is_empty {
                return Ok(self.keeper().taken.clone());
            }
        }
        Err("the space is not emptied".to_owned())
    }
}

fn client(at: NodeId, seed: u64) -> Client {
    let config = StackConfig::of_client(7, Incarnation(1), seed);
    let callers = Address { node: at, port: PORT_CALLERS };
    let id = ClientId(u128::from(at.0) << 64 | u128::from(seed));
    let worker = Worker::new(at.0, seed, 150);
    node(at, &config, vec![asking_space(PORT_RELAY, Resuming::new(Some(id), callers, SPACE, worker))])
}

fn worker_of(client: &Client) -> &Worker {
    client.inner().get(PORT_RELAY).expect("its relay").inner().inner()
}

fn worker_of_relay(client: &replicas::Client) -> &Worker {
    client.inner().get(PORT_RELAY).expect("its relay").inner().inner().inner()
}

fn services(failures_per_million: u32) -> ServiceModel {
    let disk = DiskModel { failures_per_million, ..DiskModel::default() };
    ServiceModel { disk: Some(disk), ..ServiceModel::default() }
}

/// One schedule, and what is wrong with what was told.
fn explore(style: Style) -> Result<(), String> {
    let mut run = Run::new(style);
    // Who has not been told that it may come back is as any client.
    run.go_on(Span::from_millis(2))?;
    run.simulation.set_services(services(style.failures_per_million));
    for _ in 0..style.crashes {
        let until = Span::from_micros(run.random.below(8_000));
        run.go_on(until)?;
        run.restart();
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
    run.simulation.set_services(services(0));
    run.restart();
    let left = run.empty()?;
    account(run.workers(), &left)
}

#[derive(Clone, Copy, Default, Debug)]
struct Item {
    begun: bool,
    put: bool,
    taken: i32,
    finished: i32,
    left: i32,
    done_left: i32,
}

/// Whether every item that was begun was put, and is where it is once.
fn account<'a>(workers: impl Iterator<Item = &'a Worker>, left: &[(String, i64)]) -> Result<(), String> {
    let mut items: BTreeMap<i64, Item> = BTreeMap::new();
    for told in workers.flat_map(|worker| &worker.told) {
        match *told {
            Told::Begun(item) => items.entry(item).or_default().begun = true,
            Told::Put(item) => items.entry(item).or_default().put = true,
            Told::Taken(item) => items.entry(item).or_default().taken += 1,
            Told::Returned(item) => items.entry(item).or_default().taken -= 1,
            Told::Finished(item) => items.entry(item).or_default().finished += 1,
        }
    }
    for (name, item) in left {
        let item = items.entry(*item).or_default();
        *(if name == "done" { &mut item.done_left } else { &mut item.left }) += 1;
    }
    let is_whole = |item: &Item| {
        item.begun
            && item.put
            && item.taken + item.left + item.finished == 1
            && (0..=1).contains(&item.taken)
            && item.finished == item.done_left
    };
    match items.iter().find(|(_, item)| !is_whole(item)) {
        Some((number, item)) => Err(format!("item {number} is not there once: {item:?}")),
        None => Ok(()),
    }
}

fn explore_all(seeds: core::ops::Range<u64>) {
    for seed in seeds {
        if let Err(problem) = explore(Style::new(seed)) {
            panic!("seed {seed}: {problem}");
        }
    }
}

#[test]
fn no_request_fails_and_each_has_its_effect_once_whenever_the_server_ends() {
    explore_all(0..300);
}

/// Many more, for `make explore`.
#[test]
#[ignore = "takes minutes"]
fn no_request_fails_in_many_more_schedules() {
    explore_all(300..20_000);
}

#[cfg(feature = "seeded-defects")]
#[test]
fn every_seeded_defect_is_found() {
    use quintet_resume::Defect::{AnswersForgotten, AppliedTwice, NeverReleased};
    for defect in [AnswersForgotten, AppliedTwice, NeverReleased] {
        let find = |seed| {
            std::panic::catch_unwind(|| explore(Style { defect: Some(defect), ..Style::new(seed) }))
                .unwrap_or_else(|_| Err("a panic".to_owned()))
        };
        let found = (0..1_000).find_map(|seed| find(seed).err().map(|problem| (seed, problem)));
        assert!(found.is_some(), "{defect:?} was not found");
        println!("{defect:?}: {found:?}");
    }
}
