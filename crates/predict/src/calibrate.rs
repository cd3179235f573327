//! From measured pairs to the costs of work, and from costs to predicted pairs.

use crate::cluster::{Cluster, Machine};
use crate::copying::Copying;
use crate::costs::WorkCosts;
use crate::floor::{Floor, program_at, relay};
use crate::link::{LENT, Link};
use crate::program::{BEGIN, PairPlan, Pairs};
use bytes::Bytes;
use quintet_contract::{Address, NodeId, OwnedFrame, Span, Token};
use quintet_simulate::{Picos, ProcessorModel, Simulation};
use quintet_stack::SPACE;
use quintet_tuple_space::{Space, SpaceConfig};

/// Groups of pairs that calibration simulates: they differ only at the beginning.
const GROUPS: u64 = 8;
/// Bytes of the small pairs.
pub const SMALL: usize = 64;
/// Bytes of the pairs that copying follows from, over shared memory: what goes through the ring, then what is lent, from the shortest to
/// what the second cache of a processor does not hold with its copies. Where that is differs, so that it is looked for closely.
pub const SHARED_SIZES: [usize; 9] =
    [3 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 384 << 10, 512 << 10, 768 << 10, 1 << 20];
/// The same over sockets.
pub const SOCKET_SIZES: [usize; 5] = [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];
/// Pairs under way at once.
pub const DEPTH: u64 = 64;
/// How long nothing is asked before a pair that finds the space asleep.
pub const PAUSE: Span = Span::from_micros(500);
/// Longer than any group takes.
const LIMIT: Span = Span::from_secs(10);
const CLIENT: NodeId = NodeId(1);

/// Bytes of the pairs that copying follows from, over a link of this kind.
#[must_use]
pub fn sizes(link: Link) -> &'static [usize] {
    match link {
        Link::SharedMemory => &SHARED_SIZES,
        Link::Unix | Link::Tcp => &SOCKET_SIZES,
    }
}

/// What was measured: nanoseconds a pair.
#[derive(Clone, PartialEq, Debug)]
pub struct Measured {
    /// [`SMALL`], space and program in one process.
    pub in_process: f64,
    /// [`SMALL`], the space in another process.
    pub apart: f64,
    /// The same, [`DEPTH`] under way.
    pub pipelined: f64,
    /// Each of [`sizes`], the space in another process.
    pub copied: Vec<f64>,
    /// [`SMALL`], after [`PAUSE`].
    pub paused: f64,
}

/// Two processes that have a core each: the costs and the way between them, as calibrated.
#[must_use]
pub fn machine(cores: u32, calibrated: &Calibrated) -> Cluster {
    Cluster {
        machines: vec![Machine::new("this", cores)],
        network: None,
        link: calibrated.link,
        link_latency: Picos::from_seconds(calibrated.latency),
        costs: calibrated.costs.clone(),
    }
}

/// What calibration found.
#[derive(Clone, PartialEq, Debug)]
pub struct Calibrated {
    /// What joins the processes.
    pub link: Link,
    /// The costs of work.
    pub costs: WorkCosts,
    /// From when a frame is in the link until its receiver sees it, in seconds.
    pub latency: f64,
}

impl Default for Calibrated {
    /// Shared memory, as a file of machines has it that says nothing of costs.
    fn default() -> Calibrated {
        Calibrated { link: Link::SharedMemory, costs: WorkCosts::default(), latency: 280e-9 }
    }
}

/// A number that calibration looks for.
#[derive(Clone, Copy)]
enum Unknown {
    /// Call and stages, which take alike.
    Stages,
    /// Sending and receiving a frame, which take alike.
    Frames,
    Latency,
    /// Of one of [`sizes`].
    Copying(usize),
    DeepWaking,
}

/// In the order in which they are looked for, the sizes of copying ascending.
fn unknowns(link: Link) -> impl Iterator<Item = Unknown> + Clone {
    let copying = (0..sizes(link).len()).map(Unknown::Copying);
    let first = [Unknown::Stages, Unknown::Frames, Unknown::Latency];
    first.into_iter().chain(copying).chain([Unknown::DeepWaking])
}

/// The costs with which the simulation takes what was measured over a link.
///
/// Each cost follows from one case, the others held: an in-process pair gives call and stages, of which each operation of
/// the program has half; the pipelined pair the cost of a frame, sending and receiving alike; the pair with the space
/// in another process the latency; the larger pairs what copying takes at their sizes ([`Copying`] says what between them); the pair after a pause
/// what waking an idle processor takes. Over a socket, system calls are part of what they are made for: those of a frame alone, of
/// the latency; of frames that are written together, of their cost. Patience is the link's, and waking on a processor that is awake that of
/// [`WorkCosts::default`].
#[must_use]
pub fn calibrate(link: Link, measured: &Measured) -> Calibrated {
    let half = measured.in_process * 1e-9 / 4.0;
    let costs = WorkCosts {
        call: half,
        matching: half,
        storing: half,
        sending: 0.0,
        receiving: 0.0,
        copying: Copying::by_size([]),
        lending: Copying::by_size([]),
        patience: link.patience(),
        deep_waking: 0.0,
        ..WorkCosts::default()
    };
    let mut found = Calibrated { link, costs, latency: 0.0 };
    // Twice: the later ones change the earlier ones a little.
    for unknown in unknowns(link).chain(unknowns(link)) {
        unknown.solve(&mut found, measured);
    }
    found
}

impl Unknown {
    fn set(self, to: &mut Calibrated, value: f64) {
        let costs = &mut to.costs;
        match self {
            Unknown::Stages => (costs.call, costs.matching, costs.storing) = (value, value, value),
            Unknown::Frames => (costs.sending, costs.receiving) = (value, value),
            Unknown::Latency => to.latency = value,
            Unknown::Copying(size) => {
                let bytes = sizes(to.link)[size] as u64;
                let is_lent = to.link == Link::SharedMemory && LENT.contains(&bytes);
                let copying = if is_lent { &mut costs.lending } else { &mut costs.copying };
                *copying = copying.with(bytes, value);
            }
            Unknown::DeepWaking => costs.deep_waking = value,
        }
    }

    /// The figure it follows from, as measured.
    fn measured(self, by: &Measured) -> f64 {
        match self {
            Unknown::Stages => by.in_process,
            Unknown::Frames => by.pipelined,
            Unknown::Latency => by.apart,
            Unknown::Copying(size) => by.copied.get(size).copied().unwrap_or(0.0),
            Unknown::DeepWaking => by.paused,
        }
    }

    /// The same, predicted.
    fn predicted(self, by: &Calibrated) -> Option<f64> {
        let one = PairPlan { bytes: SMALL, depth: 0, pause: Span::ZERO, groups: GROUPS };
        match self {
            Unknown::Stages => pair_in_process(&by.costs, SMALL),
            Unknown::Frames => pair(by, PairPlan { depth: DEPTH, ..one }),
            Unknown::Latency => pair(by, one),
            Unknown::Copying(size) => pair(by, PairPlan { bytes: sizes(by.link)[size], ..one }),
            Unknown::DeepWaking => pair(by, PairPlan { pause: PAUSE, ..one }),
        }
    }

    /// Sets it so that the prediction is what was measured: the figures grow with the costs, and nearly in proportion, so that
    /// halving the interval finds the value. One that even no cost leaves above what was measured becomes 0, or for copying
    /// what the next smaller size takes.
    fn solve(self, found: &mut Calibrated, measured: &Measured) {
        let measured = self.measured(measured);
        let (mut low, mut high) = (0.0, measured * 1e-9);
        for _ in 0..24 {
            let middle = (low + high) / 2.0;
            self.set(found, middle);
            match self.predicted(found) {
                Some(predicted) if predicted < measured => low = middle,
                _ => high = middle,
            }
        }
        self.set(found, (low + high) / 2.0);
    }
}

/// Nanoseconds a pair takes between two processes of a machine, each on a core of its own; none if it does not end.
#[must_use]
pub fn pair(calibrated: &Calibrated, plan: PairPlan) -> Option<f64> {
    let cluster = machine(2, calibrated);
    let mut floor = Floor::new(1, &cluster, plan.bytes).ok()?;
    floor.add_space(0);
    floor.add_program(0, CLIENT, Pairs::new(relay(CLIENT), plan));
    floor.simulation.run_for(Span::from_millis(100));
    nanos_a_pair(&mut floor.simulation, CLIENT, plan)
}

/// The same with space and program in one process.
#[must_use]
pub fn pair_in_process(costs: &WorkCosts, bytes: usize) -> Option<f64> {
    let plan = PairPlan { bytes, depth: 0, pause: Span::ZERO, groups: GROUPS };
    let mut simulation = Simulation::new(1);
    let core = simulation.add_processor(ProcessorModel { cycle: Picos(1_000), ..ProcessorModel::default() });
    simulation.place(SPACE.node, core);
    simulation.add(SPACE, Space::new(SpaceConfig::default()));
    simulation.set_costs(SPACE, costs.of_the_space());
    let program: Address = program_at(SPACE.node);
    simulation.add(program, Pairs::new(SPACE, plan));
    simulation.set_costs(program, costs.of_a_program());
    nanos_a_pair(&mut simulation, SPACE.node, plan)
}

fn nanos_a_pair(simulation: &mut Simulation, node: NodeId, plan: PairPlan) -> Option<f64> {
    let at = program_at(node);
    simulation
        .inject(at, OwnedFrame { kind: BEGIN, token: Token(0), body: Bytes::new(), bulk: Bytes::new() });
    simulation.run_until(LIMIT, |simulation| simulation.get::<Pairs>(at).is_none_or(Pairs::is_done));
    let taken = &simulation.get::<Pairs>(at)?.taken;
    // The last groups: the first find no credit history and cold windows.
    let last = taken.get(taken.len().checked_sub(taken.len() / 2)?..)?;
    let nanos: u64 = last.iter().map(|span| span.0).sum();
    let pairs = last.len() as u64 * plan.depth.max(1);
    (pairs > 0).then(|| nanos as f64 / pairs as f64)
}
