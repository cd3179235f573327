//! What choices make of a run: its nodes, its links and its faults.

use super::strike::Strike;
use super::{Faults, Joined, System};
use crate::plan::streams;
use quintet_contract::{NodeId, Span};
use quintet_simulate::{Choices, Chooser, LinkModel};
use std::fmt;

/// The most faults of a run.
const MOST: usize = 6;
/// The time between the end of a fault and the next of the same node, or of the network.
pub(super) const BREATH: Span = Span::from_millis(1);

/// One run.
#[derive(Debug)]
pub(super) struct Plan {
    /// Keys what is random in the protocols.
    pub(super) seed: u64,
    pub(super) nodes: u16,
    pub(super) link: LinkModel,
    /// Offset in nanoseconds and drift in parts of a billion, of each node.
    pub(super) clocks: Vec<(i64, i64)>,
    /// The longest time between two requests of a node, in microseconds.
    pub(super) gap_us: u64,
    /// How many requests the callers of each node make, at most.
    pub(super) requests: u64,
    /// In order of time.
    pub(super) faults: Vec<(Span, Fault)>,
    /// Whom these befall, and when.
    pub(super) struck: Vec<Struck>,
    /// One more, at an event.
    pub(super) strike: Option<Strike>,
}

/// Who is not well, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Struck {
    /// A node that is down or still; none: the network, which loses frames.
    pub(super) whom: Option<NodeId>,
    pub(super) from: Span,
    pub(super) until: Span,
}

/// A fault, or its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Fault {
    /// A node ends, its peers are told after a notice. Whether it remembers what it knew when it is there again.
    Down {
        node: NodeId,
        notice: Span,
        remembers: bool,
    },
    Up {
        node: NodeId,
        remembers: bool,
    },
    /// A node stands still in its next step.
    Pause {
        node: NodeId,
        span: Span,
    },
    GoOn {
        node: NodeId,
    },
    /// Frames between these nodes and the others are lost.
    Divide {
        apart: Vec<NodeId>,
    },
    /// Frames from the one to the other are lost.
    Cut {
        from: NodeId,
        to: NodeId,
    },
    Mend,
}

impl Fault {
    pub(super) fn is_end(&self) -> bool {
        matches!(self, Fault::Up { .. } | Fault::GoOn { .. } | Fault::Mend)
    }

    /// Of so many nodes those that live, and that others may not hear for a while: those who stand still, of a network that is divided the smaller part, both ends of a cut.
    pub(super) fn doubted(&self, nodes: u16) -> Vec<NodeId> {
        match self {
            Fault::Pause { node, .. } => vec![*node],
            Fault::Cut { from, to } => vec![*from, *to],
            Fault::Divide { apart } if 2 * apart.len() > nodes.into() => {
                (1..=nodes).map(NodeId).filter(|node| !apart.contains(node)).collect()
            }
            Fault::Divide { apart } => apart.clone(),
            Fault::Down { .. } | Fault::Up { .. } | Fault::GoOn { .. } | Fault::Mend => Vec::new(),
        }
    }
}

impl Plan {
    pub(super) fn draw(choices: &Choices, system: &impl System) -> Plan {
        let (nodes, allowed) = (&system.nodes(), system.faults());
        let world = &mut choices.stream(streams::WORLD);
        let (least, most) = (*nodes.start().max(&1), *nodes.end());
        // The first of all, where a search for smaller runs finds it.
        let more = world.below(u64::from(most.saturating_sub(least)) + 1);
        let nodes = least + u16::try_from(more).expect("it is below the largest number");
        let link = draw_link(world, allowed);
        let pace = system.pace();
        let gap_us = world.pick(&pace.gaps).0 / 1_000;
        let requests = 1 + world.below(pace.requests);
        let seed = world.below(1 << 32);
        let clocks = (1..=nodes).map(|node| draw_clock(choices, node, allowed)).collect();
        let patience = patience(system, nodes, link);
        let drawn = Drawn {
            patience,
            begin: system.begins_after(),
            within: pace.faults_within,
            ..Drawn::new(nodes, allowed)
        };
        let allowed_of = |node| system.faults_of(node);
        let (faults, struck) = drawn.draw(&mut choices.stream(streams::FAULTS), &allowed_of);
        let strike = Strike::given(&mut choices.stream(streams::STEPS), nodes, patience, &allowed_of);
        Plan { seed, nodes, link, clocks, gap_us, requests, faults, struck, strike }
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (1..=self.nodes).map(NodeId)
    }
}

/// How long what is under way takes at most, where its receivers are told of its sender's end after it has come.
fn patience(system: &impl System, nodes: u16, link: LinkModel) -> Span {
    let is_reliable = |joined| matches!(joined, Joined::Reliable | Joined::Redialled | Joined::Dialled);
    if joins(system, nodes, is_reliable) { Span(link.delay_max.0 + BREATH.0) } else { Span::ZERO }
}

/// Whether two of so many nodes are joined so.
fn joins(system: &impl System, nodes: u16, so: impl Fn(Joined) -> bool) -> bool {
    let mut pairs = (1..=nodes).flat_map(|a| (a + 1..=nodes).map(move |b| (a, b)));
    pairs.any(|(a, b)| so(system.link(NodeId(a), NodeId(b))))
}

fn draw_link(world: &mut Chooser, allowed: Faults) -> LinkModel {
    let (loss, doubled) = (*world.pick(&[0, 5_000, 50_000, 300_000]), *world.pick(&[0, 5_000, 50_000]));
    let overtakes = world.chance(500_000);
    let delay_max = *world.pick(&[100, 2_000, 20_000]);
    LinkModel {
        delay_min: Span::from_micros(50),
        delay_max: Span::from_micros(delay_max),
        in_order: !(allowed.reordering && overtakes),
        // One in a million where frames may be lost otherwise: protocols are told that they may.
        loss_per_million: if allowed.loss { loss } else { 0 }.max(u32::from(allowed.lose_frames())),
        duplicates_per_million: if allowed.duplicates { doubled } else { 0 },
        may_be_cut: allowed.lose_frames() || allowed.stops || allowed.crashes,
        ..LinkModel::default()
    }
}

fn draw_clock(choices: &Choices, node: u16, allowed: Faults) -> (i64, i64) {
    let own = &mut choices.stream(streams::CLIENT + u64::from(node));
    let ahead_us = i64::try_from(own.below(100_000)).unwrap_or(0);
    let drift_ppm = *own.pick(&[0, 100, -100, 50_000, -50_000]);
    if allowed.clocks { (ahead_us * 1_000, drift_ppm * 1_000) } else { (0, 0) }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Pause,
    Stop,
    Crash,
    Divide,
    Cut,
    Blackout,
}

/// What may befall a node, with weights.
fn sorts(Faults { crashes, blackouts, stops, pauses, cuts, .. }: Faults) -> [(u32, Sort); 6] {
    let weight = |allowed, weight| if allowed { weight } else { 0 };
    [
        (weight(pauses, 20), Sort::Pause),
        (weight(stops, 20), Sort::Stop),
        (weight(crashes, 40), Sort::Crash),
        (weight(cuts, 25), Sort::Divide),
        (weight(cuts, 15), Sort::Cut),
        (weight(crashes && blackouts, 10), Sort::Blackout),
    ]
}

/// Faults that are drawn one after the other, so that they leave each other alone.
struct Drawn {
    nodes: u16,
    allowed: Faults,
    /// What is under way takes no longer.
    patience: Span,
    /// Before the first fault.
    begin: Span,
    /// In so much time from then on faults begin.
    within: Span,
    faults: Vec<(Span, Fault)>,
    struck: Vec<Struck>,
}

impl Drawn {
    fn new(nodes: u16, allowed: Faults) -> Drawn {
        let (patience, begin, within) = (Span::ZERO, Span::ZERO, Span::ZERO);
        Drawn { nodes, allowed, patience, begin, within, faults: Vec::new(), struck: Vec::new() }
    }

    fn draw(
        mut self,
        chooser: &mut Chooser,
        allowed_of: &dyn Fn(NodeId) -> Faults,
    ) -> (Vec<(Span, Fault)>, Vec<Struck>) {
        if sorts(self.allowed).iter().all(|(weight, _)| *weight == 0) {
            return (self.faults, self.struck);
        }
        for _ in 0..MOST {
            chooser.begin();
            if !chooser.chance(600_000) {
                break;
            }
            // The second of the group, where a search for smaller runs finds it.
            let node = NodeId(1 + u16::try_from(chooser.below(self.nodes.into())).unwrap_or(0));
            let sorts = sorts(allowed_of(node));
            if sorts.iter().any(|(weight, _)| *weight > 0) {
                let sort = *chooser.weighted(&sorts);
                self.add(sort, node, chooser, allowed_of);
            }
        }
        self.faults.sort_by_key(|(at, _)| *at);
        (self.faults, self.struck)
    }

    fn add(
        &mut self,
        sort: Sort,
        node: NodeId,
        chooser: &mut Chooser,
        allowed_of: &dyn Fn(NodeId) -> Faults,
    ) {
        let at = Span(self.begin.0 + Span::from_micros(500 + chooser.below(self.within.0 / 1_000)).0);
        let (least, most) = *chooser.pick(&[(1_000, 5_000), (5_000, 50_000), (50_000, 300_000)]);
        let lasting = Span::from_micros(least + chooser.below(most - least));
        match sort {
            Sort::Pause => {
                let pause = Fault::Pause { node, span: lasting };
                self.strike(at, lasting, node, (pause, Fault::GoOn { node }));
            }
            Sort::Stop | Sort::Crash => {
                let notice = chooser.below(lasting.0 / 1_000);
                self.end(at, lasting, (node, Span::from_micros(notice)), sort == Sort::Stop);
            }
            Sort::Blackout => {
                let all = (1..=self.nodes).map(NodeId).filter(|node| {
                    sorts(allowed_of(*node))
                        .iter()
                        .any(|(weight, sort)| *sort == Sort::Blackout && *weight > 0)
                });
                let notice = Span::from_micros(chooser.below(lasting.0 / 1_000));
                all.for_each(|node| self.end(at, lasting, (node, notice), false));
            }
            Sort::Divide => {
                let others = (1..=self.nodes).map(NodeId).filter(|other| *other != node);
                let apart = [node].into_iter().chain(others.filter(|_| chooser.chance(300_000))).collect();
                self.part(at, lasting, Fault::Divide { apart });
            }
            Sort::Cut => {
                let step = 1 + chooser.below(u64::from(self.nodes).saturating_sub(1));
                let other = (u64::from(node.0) - 1 + step) % u64::from(self.nodes);
                let to = NodeId(1 + u16::try_from(other).unwrap_or(0));
                if to != node {
                    self.part(at, lasting, Fault::Cut { from: node, to });
                }
            }
        }
    }

    /// A node's end, of which its peers hear after a notice, and its next life.
    fn end(&mut self, at: Span, lasting: Span, (node, notice): (NodeId, Span), remembers: bool) {
        let notice = Span(notice.0 + self.patience.0);
        let lasting = Span(lasting.0 + 2 * self.patience.0);
        let down = Fault::Down { node, notice, remembers };
        self.strike(at, lasting, node, (down, Fault::Up { node, remembers }));
    }

    /// A fault of a node, if it is in order by then and not too many others are down meanwhile.
    fn strike(&mut self, at: Span, lasting: Span, node: NodeId, (fault, end): (Fault, Fault)) {
        let at = self.next(Some(node), at);
        let until = Span(at.0 + lasting.0);
        let down = self.struck.iter().filter(|other| other.whom.is_some());
        let meanwhile = down.filter(|other| other.from <= until && at <= other.until).count();
        if meanwhile < usize::from(self.allowed.most_down) {
            self.struck.push(Struck { whom: Some(node), from: at, until });
            self.faults.extend([(at, fault), (until, end)]);
        }
    }

    /// A fault of the network. Its end mends everything, so that there is one at a time.
    fn part(&mut self, at: Span, lasting: Span, fault: Fault) {
        let at = self.next(None, at);
        let until = Span(at.0 + lasting.0);
        self.struck.push(Struck { whom: None, from: at, until });
        self.faults.extend([(at, fault), (until, Fault::Mend)]);
    }

    /// When a node, or the network, may have its next fault, if that is to be at this time.
    fn next(&self, whom: Option<NodeId>, at: Span) -> Span {
        let own = self.struck.iter().filter(|other| other.whom == whom);
        own.map(|own| Span(own.until.0 + BREATH.0)).fold(at, Span::max)
    }
}

fn named(nodes: &[NodeId]) -> String {
    nodes.iter().map(|node| format!("node {}", node.0)).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Down { node, notice, remembers: true } => {
                write!(f, "node {} is stopped and its links break; its peers are told {notice} later", node.0)
            }
            Fault::Down { node, notice, .. } => {
                write!(f, "node {} crashes; its peers are told {notice} later", node.0)
            }
            Fault::Up { node, remembers: true } => write!(f, "node {} goes on with what it knew", node.0),
            Fault::Up { node, .. } => write!(f, "node {} begins a new life", node.0),
            Fault::Pause { node, span } => write!(f, "node {} stands still for {span}", node.0),
            Fault::GoOn { node } => write!(f, "node {} goes on", node.0),
            Fault::Divide { apart } => write!(f, "the network is divided: {} apart", named(apart)),
            Fault::Cut { from, to } => write!(f, "node {} no longer hears node {}", to.0, from.0),
            Fault::Mend => f.write_str("the network is whole again"),
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LinkModel { delay_min, delay_max, in_order, loss_per_million, duplicates_per_million, .. } =
            self.link;
        write!(f, "{} nodes; links delay by {delay_min} to {delay_max}", self.nodes)?;
        if !in_order {
            f.write_str(", reorder")?;
        }
        for (what, part) in [("lose", loss_per_million), ("double", duplicates_per_million)] {
            if part > 0 {
                write!(f, ", {what} {part} frames in a million")?;
            }
        }
        for (node, (offset, drift)) in (1..).zip(&self.clocks).filter(|(_, clock)| **clock != (0, 0)) {
            let (ahead, ppm) = (Span(offset.unsigned_abs()), drift / 1_000);
            write!(f, "\nnode {node}: its clock is ahead by {ahead} and gains {ppm} us a second")?;
        }
        Ok(())
    }
}
