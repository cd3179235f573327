//! Frames within a node that pass what waits from elsewhere.

use super::*;
use quintet_contract::{Input, Kind, NodeId, Outbox, Protocol, Time, Token};

const KIND: Kind = Kind(0xf0);
/// Of the second instance of a node.
const ABOVE: Address = Address::new(1, 1025);

/// Passes on what it hears, and works 10 us for each before.
struct Below;

impl Protocol for Below {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        if let Input::Frame(_, frame) = input {
            out.work(WORK, 10);
            out.send(ABOVE, KIND, frame.token, &[]).expect("it is within the node");
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// Writes down what it hears, and when, in microseconds.
#[derive(Default)]
struct Above(Vec<(u64, u64)>);

impl Protocol for Above {
    fn handle(&mut self, now: Time, input: Input<'_>, _out: &mut dyn Outbox) {
        if let Input::Frame(_, frame) = input {
            self.0.push((frame.token.0, now.0 / 1_000));
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// Sends five frames at once.
struct Sender;

impl Protocol for Sender {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        if let Input::Peer(..) = input {
            (1..=5).for_each(|number| out.send(at(1), KIND, Token(number), &[]).expect("there is room"));
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

fn heard(own_first: bool) -> Vec<(u64, u64)> {
    let mut run = Simulation::new(1);
    run.add(at(1), Below);
    run.add(ABOVE, Above::default());
    let microsecond = Distribution::Constant(1e6);
    run.set_costs(at(1), Costs::from([(WORK, microsecond)]));
    run.add(at(2), Sender);
    if own_first {
        run.hear_own_first(NodeId(1));
    }
    join(&mut run, 1, 2);
    run.run_for(Span::from_millis(1));
    run.get::<Above>(ABOVE).expect("it was added").0.clone()
}

#[test]
fn what_a_node_says_to_itself_passes_what_waits_if_it_is_told_so() {
    assert_eq!(heard(false), [(1, 50), (2, 50), (3, 50), (4, 50), (5, 50)]);
    // The next frame of the other node is begun in the moment in which it is said.
    assert_eq!(heard(true), [(1, 20), (2, 30), (3, 40), (4, 50), (5, 50)]);
}
