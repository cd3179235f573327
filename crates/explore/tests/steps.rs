//! One fault more after every event of a schedule: a fault that only one moment shows is found, whatever the seed; what is right is not.

use quintet_contract::{Address, Frame, Input, Kind, NodeId, Outbox, Protocol, Span, Time, Token};
use quintet_explore::isochrons::{Isochrons, Isonets};
use quintet_explore::spaces::{Placement, Spaces};
use quintet_explore::system::{
    Birth, Broken, Call, Chooser, Faults, Options, Origin, PORT_CALLERS, PORT_USER, Pace, Report, Request,
    System, USER, View, explore, explore_steps_while, replay, shrink,
};
use std::ops::RangeInclusive;

/// Schedules of one of the product's own: a part of those that there are.
const BUDGET: u64 = 200;
const ASKED: Kind = USER.kind(0);
const COPIED: Kind = USER.kind(1);
const IN_COPY: Kind = USER.kind(2);

fn explore_steps(system: &impl System, seeds: std::ops::Range<u64>, most: u64) -> Report {
    explore_steps_while(system, &Options::of(seeds), &mut |progress| progress.schedules < most)
}

/// Node 1 has what it was told, and node 2 a copy. Who asks is answered when the copy is made or, if it is wrong, before it is.
struct Copying {
    node: NodeId,
    answers_first: bool,
    has: u64,
    /// What is not copied yet, and when it is.
    late: Option<(Token, Time)>,
}

impl Copying {
    fn copy(&self, token: Token, out: &mut dyn Outbox) {
        let other = Address { node: NodeId(3 - self.node.0), port: PORT_USER };
        out.send(other, COPIED, token, &[]).expect("there is room for one");
    }

    fn answer(&self, token: Token, out: &mut dyn Outbox) {
        let caller = Address { node: self.node, port: PORT_CALLERS };
        out.send(caller, ASKED, token, &[]).expect("there is room within a node");
    }
}

impl Protocol for Copying {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Frame(_, frame) if frame.kind == ASKED => {
                self.has += 1;
                if self.answers_first {
                    self.answer(frame.token, out);
                    self.late = Some((frame.token, now + Span::from_micros(10)));
                } else {
                    self.copy(frame.token, out);
                }
            }
            Input::Frame(from, frame) if frame.kind == COPIED => {
                self.has += 1;
                let _ = out.send(from, IN_COPY, frame.token, &[]); // whose sender may be gone
            }
            Input::Frame(_, frame) if !self.answers_first => self.answer(frame.token, out),
            Input::Wake => {
                if let Some((token, _)) = self.late.take() {
                    self.copy(token, out);
                }
            }
            _ => {}
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.late.map(|(_, due)| due)
    }
}

/// What was answered is known to one of the two, whoever crashes, once: nothing is asked twice, and nobody forgets unless it crashes.
struct Copies {
    answers_first: bool,
}

impl System for Copies {
    type Node = Copying;
    type Ledger = u64;

    fn nodes(&self) -> RangeInclusive<u16> {
        2..=2
    }

    fn node(&self, birth: &Birth) -> Copying {
        let Birth { node, .. } = *birth;
        Copying { node, answers_first: self.answers_first, has: 0, late: None }
    }

    fn faults(&self) -> Faults {
        Faults { most_down: 1, ..Faults::none() }
    }

    fn faults_of(&self, node: NodeId) -> Faults {
        Faults { crashes: node == NodeId(1), ..self.faults() }
    }

    fn pace(&self) -> Pace {
        let gap = Span::from_micros(1);
        Pace { requests: 1, gaps: [gap; 3], faults_within: Span::from_millis(1) }
    }

    fn request(&self, call: Call, _asked: &mut u64, _draw: &mut Chooser) -> Option<Request> {
        (call.node == NodeId(1)).then(|| Request { kind: ASKED, body: Vec::new() })
    }

    fn answered(&self, _node: NodeId, _answer: Frame<'_>, answered: &mut u64) -> Result<(), Broken> {
        *answered += 1;
        Ok(())
    }

    fn at_rest(&self, view: &View<'_, Copying>, answered: &u64) -> Result<(), Broken> {
        let most = view.nodes().map(|(_, node)| node.has).max();
        match most >= Some(*answered) {
            true => Ok(()),
            false => Err(Broken::new("what was answered is known", format!("{most:?} of {answered}"))),
        }
    }
}

#[test]
fn a_fault_that_one_moment_shows_is_found_and_made_small() {
    let wrong = Copies { answers_first: true };
    assert!(explore(&wrong, &Options::of(0..100)).failure.is_none(), "no fault is drawn");
    let report = explore_steps(&wrong, 0..1, u64::MAX);
    let failure = report.failure.expect("the first seed shows it");
    let options = Options::of(0..0);
    let again = replay(&wrong, Origin::Choices(&failure.choices), &options, &mut |_| {}).failure;
    assert_eq!(
        again.map(|again| again.text),
        Some(failure.text.clone()),
        "its choices are all that there is"
    );
    let small = shrink(&wrong, &failure, &options, &mut |attempts| attempts < 1_000);
    let small = small.expect("its own choices break the rule").failure;
    assert_eq!((small.size.requests, small.size.faults), (1, 1), "{small}");
    assert!(small.history.iter().any(|line| line.contains("crashes")), "{small}");

    let right = explore_steps(&Copies { answers_first: false }, 0..1, u64::MAX);
    assert!(right.failure.is_none(), "{right}");
}

#[test]
fn every_event_has_its_turn() {
    let report = explore_steps(&Copies { answers_first: false }, 0..1, u64::MAX);
    let base = explore(&Copies { answers_first: false }, &Options::of(0..1));
    // Node 1 crashes after each, for a short and for a long time.
    assert_eq!(report.schedules, 1 + 2 * base.events, "{report} of {base}");
    assert_eq!(report.faults, 2 * base.events, "{report}");
}

#[test]
fn the_products_own_bear_one_fault_more_after_every_event() {
    let kept = Placement::ALL.map(|placement| explore_steps(&Spaces::new(placement), 0..1, BUDGET));
    let isochrons = explore_steps(&Isochrons::default(), 0..1, BUDGET);
    let members = explore_steps(&Isonets::default(), 0..1, BUDGET / 5);
    for report in kept.into_iter().chain([isochrons, members]) {
        assert!(report.failure.is_none(), "{report}");
        assert!(report.faults > report.schedules / 2, "{report}");
    }
}
