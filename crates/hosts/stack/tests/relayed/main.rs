//! Clients of a space behind the kernel of their machine, over sessions and messages, on simulated links that are full now and then: clients end at any
//! moment and others come in their place, and whoever lives finds each item once.

mod drain;
#[path = "../resumed/worker.rs"]
mod worker;

use drain::Drain;
use quintet_contract::{Incarnation, NodeId, Port, Random, Span};
use quintet_kernel::{Kernel, KernelConfig};
use quintet_session::Sessions;
use quintet_simulate::{Hosted, LinkModel, Restart, Simulation};
use quintet_stack::{
    PORT_RELAY, SPACE_NODE, Stack, StackConfig, asking_space, kernel, node, sessions_of, space,
};
use quintet_tuple_space::SpaceConfig;
use quintet_wire::registry::PORT_SESSION;
use std::collections::BTreeMap;
use worker::{Told, Worker};

/// The kernel is where its clients look for the space.
const KERNEL: NodeId = SPACE_NODE;
const SERVER: NodeId = NodeId(9);
const DRAIN: NodeId = NodeId(8);
const WORKERS: u16 = 4;
/// The first of them end now and then.
const MORTALS: u16 = 2;

type Client = Stack<Worker>;

/// How a run goes.
#[derive(Clone, Copy)]
struct Style {
    seed: u64,
    ends: u64,
    /// Frames under way in the link to the server, and in those to clients.
    windows: (usize, usize),
    may_be_cut: bool,
    #[cfg(feature = "seeded-defects")]
    defect: Option<quintet_kernel::Defect>,
}

impl Style {
    fn new(seed: u64) -> Style {
        let mut random = Random::new(seed, 1);
        let mut window = || [2, 5, 1024][random.below(3) as usize];
        Style {
            seed,
            windows: (window(), window()),
            ends: random.below(8),
            may_be_cut: random.below(2) == 0,
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
    /// What those were told that have ended.
    ended: Vec<Vec<Told>>,
}

impl Run {
    fn new(style: Style) -> Run {
        let mut run = Run {
            style,
            simulation: Simulation::new(style.seed),
            random: Random::new(style.seed, 2),
            lives: 1,
            ended: Vec::new(),
        };
        let mut config = StackConfig::of_server(7, Incarnation(1), style.seed);
        config.space = SpaceConfig { max_attempts: u32::MAX, ..config.space };
        run.simulation.add(sessions_of(SERVER), node(SERVER, &config, vec![space(&config)]));
        run.simulation.add(sessions_of(KERNEL), run.kernel());
        run.connect(SERVER, KERNEL, style.windows.0);
        for number in 1..=WORKERS {
            let client = run.client(number);
            run.simulation.add(sessions_of(NodeId(number)), client);
            run.connect(KERNEL, NodeId(number), style.windows.1);
        }
        run
    }

    fn kernel(&self) -> Sessions<Kernel> {
        let config = StackConfig::of_client(7, Incarnation(1), self.style.seed);
        let ends = KernelConfig::new(sessions_of(KERNEL), sessions_of(SERVER));
        #[cfg(feature = "seeded-defects")]
        let ends = KernelConfig { defect: self.style.defect, ..ends };
        kernel(ends, &config)
    }

    fn client(&mut self, number: u16) -> Client {
        self.lives += 1;
        let config = StackConfig::of_client(7, Incarnation(self.lives), self.style.seed);
        // Items of each life are its own.
        let me = number + 10 * u16::try_from(self.lives).expect("a run has few lives");
        let worker = Worker::new(me, self.style.seed, 60);
        let worker = if number <= MORTALS { worker.leasing_only() } else { worker };
        node(NodeId(number), &config, vec![asking_space(PORT_RELAY, worker)])
    }

    fn connect(&mut self, a: NodeId, b: NodeId, window_frames: usize) {
        let may_be_cut = self.style.may_be_cut;
        let link = LinkModel { window_frames, may_be_cut, ..LinkModel::default() };
        self.simulation.connect(sessions_of(a), sessions_of(b), link);
    }

    fn worker(&self, number: u16) -> &Worker {
        let client = self.simulation.get::<Client>(sessions_of(NodeId(number))).expect("it is there");
        client.inner().get(PORT_RELAY).expect("its relay").inner()
    }

    fn workers(&self) -> impl Iterator<Item = &Worker> {
        (1..=WORKERS).map(|number| self.worker(number))
    }

    fn go_on(&mut self, span: Span) -> Result<(), String> {
        self.simulation.run_for(span);
        self.workers().find_map(|worker| worker.lost.clone()).map_or(Ok(()), Err)
    }

    /// A client ends as by `kill -9`, and another one comes in its place.
    fn end_one(&mut self) {
        let number = 1 + self.random.below(MORTALS.into()) as u16;
        self.ended.push(self.worker(number).told.clone());
        self.simulation.crash(NodeId(number), Span::from_micros(self.random.below(200)));
        self.simulation.run_for(Span::from_micros(201 + self.random.below(400)));
        let client: Vec<(Port, Box<dyn Hosted>)> = vec![(PORT_SESSION, Box::new(self.client(number)))];
        self.simulation.restart(NodeId(number), Restart::Fresh(client));
    }

    /// All that is left in the space, asked for without the kernel.
    fn empty(&mut self) -> Result<Vec<(String, i64)>, String> {
        let config = StackConfig::of_client(7, Incarnation(1), self.style.seed);
        self.simulation.add(sessions_of(DRAIN), drain::client(DRAIN, SERVER, &config));
        self.connect(SERVER, DRAIN, 1024);
        for _ in 0..100 {
            self.go_on(Span::from_millis(20))?;
            let drain = self.simulation.get::<Stack<Drain>>(sessions_of(DRAIN)).expect("it is there");
            let drain = drain.inner().get(PORT_RELAY).expect("its relay").inner();
            if drain.is_empty {
                return Ok(drain.taken.clone());
            }
        }
        Err("the space is not emptied".to_owned())
    }
}

/// One schedule, and what is wrong with what was told.
fn explore(style: Style) -> Result<(), String> {
    let mut run = Run::new(style);
    run.go_on(Span::from_millis(1))?;
    for _ in 0..style.ends {
        let until = Span::from_micros(run.random.below(3_000));
        run.go_on(until)?;
        run.end_one();
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
    let kernel = run.simulation.get::<Sessions<Kernel>>(sessions_of(KERNEL)).expect("it is there").inner();
    match (kernel.books(), kernel.counters().cut_off) {
        ((0, pairs), 0) if pairs == usize::from(WORKERS) => {}
        (books, cut_off) => return Err(format!("the kernel holds {books:?}, and has cut off {cut_off}")),
    }
    let left = run.empty()?;
    account(run.workers().map(|worker| &worker.told), &run.ended, &left)
}

/// What is known of an item.
#[derive(Clone, Copy, Default, Debug)]
struct Item {
    /// Whoever put it was told so, or lives and has no question open.
    is_put: bool,
    /// Places where it is: taken by who lives, left in the space, left as a result.
    places: i32,
}

fn account<'a>(
    living: impl Iterator<Item = &'a Vec<Told>>,
    ended: &[Vec<Told>],
    left: &[(String, i64)],
) -> Result<(), String> {
    let mut items: BTreeMap<i64, Item> = BTreeMap::new();
    let put_by_the_living = |told: &Told| matches!(told, Told::Begun(_) | Told::Put(_));
    let mut note = |told: &Told, is_put: bool| match *told {
        Told::Begun(item) | Told::Put(item) => items.entry(item).or_default().is_put |= is_put,
        Told::Taken(item) => items.entry(item).or_default().places += 1,
        Told::Returned(item) => items.entry(item).or_default().places -= 1,
        // It is there as a result.
        Told::Finished(_) => {}
    };
    living.flatten().for_each(|told| note(told, put_by_the_living(told)));
    ended.iter().flatten().for_each(|told| note(told, matches!(told, Told::Put(_))));
    for (_, item) in left {
        items.entry(*item).or_default().places += 1;
    }
    let is_whole = |item: &Item| item.places == 1 || item.places == 0 && !item.is_put;
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
fn whoever_lives_finds_each_item_once_whenever_others_end() {
    explore_all(0..200);
}

/// Many more, for `make explore`.
#[test]
#[ignore = "takes minutes"]
fn whoever_lives_finds_each_item_once_in_many_more_schedules() {
    explore_all(200..20_000);
}

#[cfg(feature = "seeded-defects")]
#[test]
fn every_seeded_defect_is_found() {
    use quintet_kernel::Defect::{PortReusedEarly, RelayedTwice, WithdrawalLost};
    for defect in [WithdrawalLost, PortReusedEarly, RelayedTwice] {
        let find = |seed| {
            std::panic::catch_unwind(|| explore(Style { defect: Some(defect), ..Style::new(seed) }))
                .unwrap_or_else(|_| Err("a panic".to_owned()))
        };
        let found = (0..300).find_map(|seed| find(seed).err().map(|problem| (seed, problem)));
        assert!(found.is_some(), "{defect:?} was not found");
        println!("{defect:?}: {found:?}");
    }
}
