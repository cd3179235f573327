//! A space with a log on simulated disks: it is ended at any moment, what was not durable is torn or lost, syncs fail. Then all that was
//! acknowledged is there, and nothing was given twice.

use quintet_contract::{Address, Input, NodeId, Outbox, Port, Protocol, Random, Span, Time, Token};
use quintet_durable::{LogNews, Logged, LoggedConfig};
use quintet_simulate::{DiskModel, Hosted, LinkModel, Restart, ServiceModel, Simulation};
use quintet_tests_workload::{Worker, account};
use quintet_tuple_space::{Answer, Request, Space, SpaceConfig, Wait, template};
use quintet_wire::Decode;
use quintet_wire::registry::{LOG_NEWS, PORT_CALLERS, PORT_SPACE};

const SERVER: Address = Address { node: NodeId(0), port: PORT_SPACE };
const CALLERS: Address = Address { node: NodeId(0), port: PORT_CALLERS };
const WORKERS: u16 = 3;

/// The callers of the server's node: keeps what it is told of the log, and empties the space when asked to.
#[derive(Default)]
struct Keeper {
    news: Vec<LogNews>,
    /// What it has taken, and whether there is no more.
    taken: Vec<(String, i64)>,
    is_empty: bool,
}

impl Keeper {
    fn take(out: &mut dyn Outbox, token: u64) {
        let template = template![?str, ?i64];
        let request = Request::Take { wait: Wait::AtOnce, lease: None, template: &template };
        request.send(out, SERVER, Token(token), Token(token)).expect("a space of this node");
    }
}

impl Protocol for Keeper {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        let Input::Frame(from, frame) = input else { return };
        if frame.kind == LOG_NEWS {
            self.news.push(LogNews::decode_all(frame.body).expect("news"));
        } else if from == CALLERS {
            Keeper::take(out, 1);
        } else {
            match Answer::decode(frame.kind, frame.body, frame.bulk).expect("the space's bytes are good") {
                Answer::Tuple(tuple, None) => {
                    let [quintet_tuple_space::Value::Text(name), quintet_tuple_space::Value::I64(item)] =
                        tuple.values()
                    else {
                        panic!("nobody puts {tuple:?}")
                    };
                    self.taken.push((name.to_string(), *item));
                    Keeper::take(out, frame.token.0 + 1);
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
    takes: bool,
    failures_per_million: u32,
    #[cfg(feature = "seeded-defects")]
    defect: Option<quintet_durable::Defect>,
}

impl Style {
    fn new(seed: u64) -> Style {
        let mut random = Random::new(seed, 1);
        Style {
            seed,
            crashes: 1 + random.below(8),
            takes: random.below(3) == 0,
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
        let disk = DiskModel { failures_per_million: style.failures_per_million, ..DiskModel::default() };
        simulation.set_services(ServiceModel { disk: Some(disk), ..ServiceModel::default() });
        let random = Random::new(style.seed, 2);
        let mut run = Run { style, simulation, random, lives: 0 };
        let server = run.server();
        run.simulation.add(CALLERS, Keeper::default());
        run.simulation.add(SERVER, server);
        for node in 1..=WORKERS {
            let me = Address { node: NodeId(node), port: PORT_SPACE };
            run.simulation.add(me, Worker::new(&[SERVER], node, style.seed, 40, style.takes));
            run.simulation.connect(SERVER, me, LinkModel::default());
        }
        run
    }

    fn server(&mut self) -> Logged<Space> {
        self.lives += 1;
        let mut config = LoggedConfig::new(7, SERVER);
        config.spare_log_bytes = self.random.below(4_000);
        #[cfg(feature = "seeded-defects")]
        {
            config.defect = self.style.defect;
        }
        let (seed, max_attempts) = (self.lives, u32::MAX);
        let space = SpaceConfig { seed, max_attempts, index_step: 3, ..SpaceConfig::default() };
        Logged::new(config, space, |space| Space::new(*space))
    }

    fn restart(&mut self) {
        let server = self.server();
        let instances: Vec<(Port, Box<dyn Hosted>)> =
            vec![(PORT_CALLERS, Box::<Keeper>::default()), (PORT_SPACE, Box::new(server))];
        // What is under way arrives before its receivers are told, as a session sees to it.
        self.simulation.crash(NodeId(0), Span::from_millis(1));
        let down = Span::from_micros(1_100 + self.random.below(2_000));
        self.simulation.run_for(down);
        self.simulation.restart(NodeId(0), Restart::Fresh(instances));
    }

    fn keeper(&self) -> &Keeper {
        self.simulation.get(CALLERS).expect("there is one")
    }

    /// Goes on for a while; whether the log is as it should be. A disk that failed is an end like others.
    fn go_on(&mut self, span: Span) -> Result<(), String> {
        let ended = |keeper: &Keeper| {
            keeper.news.iter().any(|news| matches!(news, LogNews::Failed(_) | LogNews::Refused(_)))
        };
        self.simulation.run_until(span, |run| run.get(CALLERS).is_some_and(ended));
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
        (1..=WORKERS).filter_map(|node| self.simulation.get(Address { node: NodeId(node), port: PORT_SPACE }))
    }

    /// All that is left in the space.
    fn empty(&mut self) -> Result<Vec<(String, i64)>, String> {
        for _ in 0..200 {
            let frame = quintet_contract::Frame::new(LOG_NEWS, Token(0), &[]).to_owned();
            let begin = quintet_contract::OwnedFrame { kind: quintet_wire::registry::USER.kind(0), ..frame };
            self.simulation.inject_from(PORT_CALLERS, CALLERS, begin);
            let mut taken = Vec::new();
            for _ in 0..100 {
                self.go_on(Span::from_millis(20))?;
                taken.clone_from(&self.keeper().taken);
                if self.keeper().is_empty {
                    return Ok(taken);
                }
                if self.keeper().news.is_empty() {
                    break;
                }
            }
        }
        Err("the space is not emptied".to_owned())
    }
}

/// One schedule, and what is wrong with what was told.
fn explore(style: Style) -> Result<(), String> {
    let mut run = Run::new(style);
    for _ in 0..style.crashes {
        let until = Span::from_micros(run.random.below(12_000));
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
    // What is taken now is accounted for from one life.
    run.simulation.set_services(ServiceModel::default());
    run.restart();
    let left = run.empty()?;
    account(run.workers().flat_map(Worker::told), &left, 0)
}

fn explore_all(seeds: core::ops::Range<u64>) {
    for seed in seeds {
        if let Err(problem) = explore(Style::new(seed)) {
            panic!("seed {seed}: {problem}");
        }
    }
}

#[test]
fn what_was_acknowledged_is_there_whenever_the_server_ends() {
    explore_all(0..200);
}

/// Many more, for `make explore`.
#[test]
#[ignore = "takes a minute"]
fn what_was_acknowledged_is_there_in_many_more_schedules() {
    explore_all(200..40_000);
}

#[cfg(feature = "seeded-defects")]
#[test]
fn every_seeded_defect_is_found() {
    use quintet_durable::Defect::{
        AnsweredBeforeSync, ClockBeginsAnew, FailedSyncBelieved, HoldersKept, LostWhileWrittenAnew,
    };
    let all = [AnsweredBeforeSync, ClockBeginsAnew, FailedSyncBelieved, HoldersKept, LostWhileWrittenAnew];
    for defect in all {
        let find = |seed| {
            std::panic::catch_unwind(|| explore(Style { defect: Some(defect), ..Style::new(seed) }))
                .unwrap_or_else(|_| Err("a panic".to_owned()))
        };
        let found = (0..2_000).find_map(|seed| find(seed).err().map(|problem| (seed, problem)));
        assert!(found.is_some(), "{defect:?} was not found");
    }
}
