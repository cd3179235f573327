//! Protocols of one's own: what is wrong is found, small and again; what is right is not; faults are those that are allowed.

#[path = "../examples/replicated_counter/counter.rs"]
mod counter;

use counter::{Counters, Telling};
use quintet_contract::{
    Address, DownCause, Frame, Input, Kind, NodeId, Outbox, PeerChange, Protocol, Span, Time, Token,
};
use quintet_explore::system::{
    Birth, Broken, Call, Chooser, Failure, Faults, Options, Origin, PORT_CALLERS, PORT_USER, Report, Request,
    System, USER, Undecided, Verdict, View, explore, explore_while, replay, shrink,
};
use quintet_explore::{read_sequence, write_sequence};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};

const ATTEMPTS: u32 = 10_000;
const ASKED: Kind = USER.kind(0);
const PASSED_ON: Kind = USER.kind(1);

fn small<S: System>(system: &S, failure: &Failure) -> Failure {
    let options = Options::of(0..0);
    let shrunk = shrink(system, failure, &options, &mut |attempts| attempts < ATTEMPTS);
    let shrunk = shrunk.expect("its own choices give the failure");
    assert!(shrunk.attempts < ATTEMPTS, "nothing next to it is smaller");
    shrunk.failure
}

#[test]
fn a_sound_protocol_passes_schedules_that_are_not_tame() {
    let report = explore(&Counters(Telling::Totals), &Options::of(0..300));
    assert!(report.failure.is_none(), "{report}");
    assert_eq!(report.schedules, 300);
    assert!(report.requests > 3_000 && report.answers > 3_000 && report.faults > 250, "{report}");
    let again = explore(&Counters(Telling::Totals), &Options::of(0..300));
    assert_eq!(again, report);
    assert_ne!(explore(&Counters(Telling::Totals), &Options::of(1..301)).digest, report.digest);
}

#[test]
fn a_wrong_protocol_is_found_and_made_small() {
    let counters = Counters(Telling::Additions);
    let failure = explore(&counters, &Options::of(0..100)).failure.expect("it is wrong");
    let small = small(&counters, &failure);
    assert_eq!((&small.rule, small.seed), (&failure.rule, failure.seed));
    assert!(small.size.nodes == 2 && small.size.requests == 1 && small.size.faults <= 1, "{small}");
    assert!(small.size.choices * 8 < failure.size.choices, "{small}");
    let asked = small.history.iter().filter(|line| line.contains("is asked: kind "));
    assert_eq!(asked.count(), 1, "{small}");

    let file = write_sequence(&small.choices, &small.to_string());
    let stored = read_sequence(&file).expect("it was written");
    let mut lines = Vec::new();
    let replayed = replay(&counters, Origin::Choices(&stored), &Options::of(0..0), &mut |line| {
        lines.push(line.to_owned())
    });
    let found = replayed.failure.expect("the same schedule");
    assert_eq!((&found.rule, &found.text), (&small.rule, &small.text));
    assert_eq!(lines, [small.plan, small.history].concat());
    let sound = Counters(Telling::Totals);
    let origin = Origin::Choices(&stored);
    assert!(replay(&sound, origin, &Options::of(0..0), &mut |_| {}).failure.is_none());
    let seed = failure.seed.expect("it was explored by seeds");
    let by_seed = replay(&counters, Origin::Seed(seed), &Options::of(0..0), &mut |_| {}).failure;
    assert_eq!(by_seed, Some(failure));
}

/// What a node has met.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Met {
    told_of_death: bool,
    new_life: bool,
    came_twice: bool,
    overtaken: bool,
    lost: bool,
    late: bool,
}

/// Passes on what it is asked to all others, by numbers, and notes what it meets.
struct Noting {
    node: NodeId,
    nodes: u16,
    sent: u64,
    /// The last number from each node, by its life's first.
    last: Vec<u64>,
    life: u64,
    /// What its clock said last.
    now: Time,
    met: Met,
    asked_at: Option<Time>,
}

impl Protocol for Noting {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        self.now = now;
        match input {
            Input::Frame(from, frame) if frame.kind == ASKED => {
                self.sent += 1;
                let _ = out.send(from, ASKED, frame.token, &now.0.to_le_bytes());
                for other in (1..=self.nodes).map(NodeId).filter(|other| *other != self.node) {
                    let to = Address { node: other, port: PORT_USER };
                    let _ = out.send(to, PASSED_ON, Token(self.sent), &[]);
                }
                self.asked_at = Some(now + Span::from_millis(1));
            }
            Input::Frame(from, frame) => {
                let last = &mut self.last[usize::from(from.node.0) - 1];
                self.met.came_twice |= frame.token.0 == *last;
                self.met.overtaken |= frame.token.0 < *last;
                self.met.lost |= frame.token.0 > *last + 1;
                *last = frame.token.0.max(*last);
            }
            Input::Wake => {
                let due = self.asked_at.take();
                self.met.late |= due.is_some_and(|due| now.since(due) > Span::from_millis(1));
            }
            Input::Peer(_, PeerChange::Down(DownCause::Died)) => self.met.told_of_death = true,
            _ => {}
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.asked_at
    }
}

/// Whether a node has met something by now.
type IsMet = fn(&Noting, Time) -> bool;

/// States that nodes do not meet something.
struct Never(Faults, IsMet);

impl System for Never {
    type Node = Noting;
    type Ledger = u64;

    fn node(&self, birth: &Birth) -> Noting {
        let Birth { node, nodes, life, .. } = *birth;
        let met = Met { new_life: life > 1, ..Met::default() };
        let last = vec![0; usize::from(nodes)];
        Noting { node, nodes, sent: 0, last, life, now: Time::ZERO, met, asked_at: None }
    }

    fn faults(&self) -> Faults {
        self.0
    }

    fn request(&self, _call: Call, _ledger: &mut u64, _draw: &mut Chooser) -> Option<Request> {
        Some(Request { kind: ASKED, body: Vec::new() })
    }

    fn answered(&self, _node: NodeId, _answer: Frame<'_>, _ledger: &mut u64) -> Result<(), Broken> {
        Ok(())
    }

    fn always(&self, view: &View<'_, Noting>, _ledger: &u64) -> Result<(), Broken> {
        let met = view.nodes().find(|(_, noting)| self.1(noting, view.now()));
        met.map_or(Ok(()), |(node, noting)| {
            Err(Broken::new("it is not met", format!("node {}: {:?}", node.0, noting.met)))
        })
    }

    fn crashed(&self, _node: NodeId, crashes: &mut u64) {
        *crashes += 1;
    }

    fn at_rest(&self, view: &View<'_, Noting>, crashes: &u64) -> Result<(), Broken> {
        let (up, lives) =
            (view.nodes().count(), view.nodes().map(|(_, noting)| noting.life - 1).sum::<u64>());
        let are_all_up = view.nodes().all(|(_, noting)| usize::from(noting.nodes) == up);
        if are_all_up && lives == *crashes {
            return Ok(());
        }
        Err(Broken::new("all are up at rest, and crashes are told", format!("{up} up, {lives} of {crashes}")))
    }
}

#[test]
fn what_is_allowed_is_met_and_nothing_else() {
    let none = Faults::none();
    let kinds: [(&str, Faults, IsMet); 8] = [
        ("crashes", Faults { crashes: true, ..none }, |noting, _| noting.met.new_life),
        ("stops", Faults { stops: true, ..none }, |noting, _| noting.met.told_of_death && noting.life == 1),
        ("pauses", Faults { pauses: true, ..none }, |noting, _| noting.met.late),
        ("cuts", Faults { cuts: true, ..none }, |noting, _| noting.met.lost),
        ("loss", Faults { loss: true, ..none }, |noting, _| noting.met.lost),
        ("duplicates", Faults { duplicates: true, ..none }, |noting, _| noting.met.came_twice),
        ("reordering", Faults { reordering: true, ..none }, |noting, _| noting.met.overtaken),
        ("clocks", Faults { clocks: true, ..none }, |noting, now| noting.now > now),
    ];
    for (name, allowed, is_met) in kinds {
        let report = explore(&Never(allowed, is_met), &Options::of(0..300));
        let failure = report.failure.unwrap_or_else(|| panic!("{name} were never met"));
        assert_eq!(failure.rule, "it is not met", "{name}: {failure}");
    }
    let never = Never(Faults::all(), |_, _| false);
    let report = explore(&never, &Options::of(0..300));
    assert!(report.failure.is_none(), "{report}");
    for (name, _, is_met) in kinds {
        let report = explore(&Never(none, is_met), &Options::of(0..100));
        assert!(report.failure.is_none(), "{name} are met though nothing may go wrong: {report}");
    }
}

#[test]
fn no_more_nodes_are_down_than_may_be() {
    struct Down(u16);
    impl System for Down {
        type Node = Noting;
        type Ledger = ();
        fn nodes(&self) -> RangeInclusive<u16> {
            5..=5
        }
        fn node(&self, birth: &Birth) -> Noting {
            Never(Faults::all(), |_, _| false).node(birth)
        }
        fn faults(&self) -> Faults {
            Faults { crashes: true, stops: true, most_down: self.0, ..Faults::none() }
        }
        fn request(&self, _: Call, _: &mut (), _: &mut Chooser) -> Option<Request> {
            None
        }
        fn answered(&self, _: NodeId, _: Frame<'_>, _: &mut ()) -> Result<(), Broken> {
            Ok(())
        }
        fn always(&self, view: &View<'_, Noting>, _: &()) -> Result<(), Broken> {
            let down = 5 - view.nodes().count();
            if down < 3 { Ok(()) } else { Err(Broken::new("two are down at most", format!("{down} are"))) }
        }
    }
    assert!(explore(&Down(2), &Options::of(0..200)).failure.is_none());
    assert!(explore(&Down(5), &Options::of(0..200)).failure.is_some());
}

/// What a node does when it is asked.
enum Act {
    Panic,
    AskAnew,
    Count(AtomicU64),
}

struct Acting<'a>(&'a Act);

struct Actor {
    panics: bool,
    wakes: bool,
    counts: u64,
}

impl Protocol for Actor {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        if let Input::Frame(from, frame) = input {
            assert!(!self.panics, "asked for {}", frame.token.0);
            let _ = out.send(from, ASKED, Token(self.counts), &[]);
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.wakes.then_some(Time::ZERO)
    }
}

impl System for Acting<'_> {
    type Node = Actor;
    type Ledger = Vec<u64>;

    fn node(&self, _birth: &Birth) -> Actor {
        let counts = match self.0 {
            Act::Count(count) => count.fetch_add(1, Ordering::Relaxed),
            _ => 0,
        };
        Actor { panics: matches!(self.0, Act::Panic), wakes: matches!(self.0, Act::AskAnew), counts }
    }

    fn faults(&self) -> Faults {
        Faults::none()
    }

    fn request(&self, call: Call, _: &mut Vec<u64>, draw: &mut Chooser) -> Option<Request> {
        (draw.chance(900_000) && call.nodes > 1).then(|| Request { kind: ASKED, body: vec![1; 20] })
    }

    fn answered(&self, _: NodeId, answer: Frame<'_>, seen: &mut Vec<u64>) -> Result<(), Broken> {
        seen.push(answer.token.0);
        if answer.token.0 < 40 { Ok(()) } else { Err(Broken::new("few lives", "there are many")) }
    }
}

#[test]
fn a_panic_is_a_finding_and_is_made_small() {
    let acting = Acting(&Act::Panic);
    let report = explore(&acting, &Options::of(0..10));
    assert!(report.requests > 0 && report.events > 0 && report.digest != 0, "{report}");
    let failure = report.failure.expect("it panics");
    assert_eq!(failure.rule, "nothing panics");
    let small = small(&acting, &failure);
    assert!(small.text.starts_with("asked for 1 (") && small.text.contains("system.rs:"), "{small}");
    assert_eq!((small.size.nodes, small.size.requests, small.size.faults), (2, 1, 0));
    let last = small.history.last().expect("there is a history");
    assert!(last.ends_with(" 01 01 and 4 bytes more"), "{last}");
}

#[test]
fn events_without_end_are_a_finding() {
    let options = Options { events_limit: 5_000, ..Options::of(0..1) };
    let failure = explore(&Acting(&Act::AskAnew), &options).failure.expect("it has no end");
    assert_eq!(failure.rule, "a run comes to its end");
}

#[test]
fn what_is_not_the_same_again_is_said_to_be_so() {
    let failure = explore(&Acting(&Act::Count(AtomicU64::new(0))), &Options::of(0..100)).failure;
    let failure = failure.expect("there are many lives");
    assert_eq!(failure.rule, "a run follows from its choices", "{failure}");
}

#[test]
fn an_exploration_ends_when_it_is_told_to() {
    let mut seen = Vec::new();
    let report: Report = explore_while(&Counters(Telling::Totals), &Options::of(3..100), &mut |progress| {
        seen.push(progress.seed);
        seen.len() < 3
    });
    assert_eq!((report.schedules, seen), (3, vec![3, 4, 5]));
}

/// Nobody can say whether what an odd number of nodes noted is right; what an even one did is.
struct Doubtful;

impl System for Doubtful {
    type Node = Noting;
    type Ledger = u64;

    fn node(&self, birth: &Birth) -> Noting {
        Never(Faults::none(), |_, _| false).node(birth)
    }

    fn faults(&self) -> Faults {
        Faults::none()
    }

    fn request(&self, _call: Call, _ledger: &mut u64, _draw: &mut Chooser) -> Option<Request> {
        None
    }

    fn answered(&self, _node: NodeId, _answer: Frame<'_>, _ledger: &mut u64) -> Result<(), Broken> {
        Ok(())
    }

    fn verdict(&self, view: &View<'_, Noting>, _ledger: &u64) -> Result<Verdict, Broken> {
        let are_even = view.nodes().count().is_multiple_of(2);
        Ok(if are_even { Verdict::Holds } else { Verdict::Open("they are odd".to_owned()) })
    }
}

#[test]
fn what_is_undecided_is_counted_and_the_exploration_goes_on() {
    let options = Options::of(0..30);
    let report = explore(&Doubtful, &options);
    assert!(report.failure.is_none() && report.schedules == 30, "{report}");
    let seeds: Vec<u64> = report.undecided.iter().filter_map(|undecided| undecided.seed).collect();
    let is_open = |seed: &u64| {
        let again = replay(&Doubtful, Origin::Seed(*seed), &options, &mut |_| {});
        again.undecided == [Undecided { seed: Some(*seed), why: "they are odd".to_owned() }]
    };
    let expected: Vec<u64> = (0..30).filter(is_open).collect();
    assert!(!seeds.is_empty() && seeds.len() < 30 && seeds == expected, "{seeds:?}, and not {expected:?}");
    let said = format!("of {} it is open whether they break a rule\nseed {}: they", seeds.len(), seeds[0]);
    assert!(report.to_string().contains(&said), "{report}");
}

/// A node that writes one byte more to its disk for each request and answers when that is synced.
mod disk {
    use super::*;
    use quintet_wire::registry::{DISK_APPEND, DISK_DONE, DISK_SYNC, PORT_DISK};

    pub(super) struct Writing {
        pub(super) syncs: bool,
        at: Address,
        callers: Vec<Token>,
    }

    impl Protocol for Writing {
        fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
            let Input::Frame(from, frame) = input else { return };
            if frame.kind == ASKED {
                self.callers.push(frame.token);
                let disk = Address { port: PORT_DISK, ..self.at };
                let _ = out.send(disk, DISK_APPEND, Token(0), &[7]);
                if self.syncs {
                    let _ = out.send(disk, DISK_SYNC, frame.token, &[]);
                } else {
                    let _ = out.send(from, ASKED, frame.token, &[]);
                }
            } else if frame.kind == DISK_DONE && self.callers.contains(&frame.token) {
                let _ = out.send(Address { port: PORT_CALLERS, ..self.at }, ASKED, frame.token, &[]);
            }
        }

        fn deadline(&self) -> Option<Time> {
            None
        }
    }

    pub(super) struct Durable {
        pub(super) syncs: bool,
    }

    impl System for Durable {
        type Node = Writing;
        type Ledger = [u64; 8];

        fn node(&self, birth: &Birth) -> Writing {
            let at = Address { node: birth.node, port: PORT_USER };
            Writing { syncs: self.syncs, at, callers: Vec::new() }
        }

        fn request(&self, _: Call, _: &mut [u64; 8], _: &mut Chooser) -> Option<Request> {
            Some(Request { kind: ASKED, body: Vec::new() })
        }

        fn answered(&self, node: NodeId, _: Frame<'_>, counts: &mut [u64; 8]) -> Result<(), Broken> {
            counts[usize::from(node.0)] += 1;
            Ok(())
        }

        fn always(&self, view: &View<'_, Writing>, counts: &[u64; 8]) -> Result<(), Broken> {
            let lost = view.nodes().find(|(node, _)| {
                (view.disk(*node).iter().filter(|byte| **byte == 7).count() as u64)
                    < counts[usize::from(node.0)]
            });
            lost.map_or(Ok(()), |(node, _)| {
                Err(Broken::new("what is answered is on the disk", format!("node {}", node.0)))
            })
        }
    }
}

#[test]
fn a_crash_loses_what_was_not_synced_and_keeps_what_was() {
    assert!(explore(&disk::Durable { syncs: true }, &Options::of(0..200)).failure.is_none());
    let failure = explore(&disk::Durable { syncs: false }, &Options::of(0..200)).failure;
    let small = small(&disk::Durable { syncs: false }, &failure.expect("it is lost"));
    assert_eq!((small.size.requests, small.size.faults), (1, 1), "{small}");
}
