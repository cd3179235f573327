//! What is done in one turn of a node's loop.

use quintet_contract::{
    Address, Bytes, Frame, Input, Kind, NodeId, Outbox, OwnedFrame, Protocol, Time, Token,
};
use quintet_link::{End, Route, in_process_pair};
use quintet_runtime::{Instance, Node, NodeHandle, Services};
use quintet_wire::registry::PORT_CALLERS;

const HERE: Address = Address::new(1, 16);
const THERE: Address = Address::new(2, 16);
const PROGRAM: Address = Address { node: HERE.node, port: PORT_CALLERS };
const CALL: Kind = Kind(0xf0);
const SEEN: Kind = Kind(0xf1);
const REPLY: Kind = Kind(0xf2);

/// Says that it has seen a call, and hands it on to the program; what the program says goes out.
struct Pass;

impl Protocol for Pass {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        let Input::Frame(from, frame) = input else { return };
        let mut send = |to, kind| out.send(to, kind, frame.token, frame.body).expect("there is room");
        if from == THERE {
            send(THERE, SEEN);
            send(PROGRAM, CALL);
        } else {
            send(THERE, REPLY);
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// Leaves a reply for its node as another thread would, and has the node end after this turn.
struct Program(NodeHandle);

impl Protocol for Program {
    fn handle(&mut self, _now: Time, input: Input<'_>, _out: &mut dyn Outbox) {
        if let Input::Frame(..) = input {
            let frame = OwnedFrame { kind: REPLY, token: Token(0), body: Bytes::new(), bulk: Bytes::new() };
            self.0.send(PORT_CALLERS, HERE.port, frame);
            self.0.stop();
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

fn call(far: &mut End) {
    far.sender.begin(Route { from: THERE, to: HERE, kind: CALL, token: Token(0) }, 0).expect("there is room");
    far.sender.commit(0);
    far.sender.flush().expect("the link is good");
}

/// A peer that is woken by what the node has sent finds what the program has said to it as well.
#[test]
fn what_a_program_says_when_it_is_called_goes_with_what_the_turn_sends() {
    let mut node = Node::new(NodeId(1), Services::none()).expect("the system has descriptors");
    let (near, mut far) = in_process_pair().expect("two event descriptors are there");
    node.add(PORT_CALLERS, Instance::new(Program(node.handle())));
    node.add(HERE.port, Instance::new(Pass));
    node.attach(THERE.node, &[(HERE.port, THERE.port)], near).expect("the link can be watched");
    call(&mut far);
    node.run().expect("it could wait");
    let mut kinds = Vec::new();
    // The link is over behind what came.
    let _ = far.receiver.poll(10, &mut |_, frame: Frame<'_>| kinds.push(frame.kind));
    assert_eq!(kinds, [SEEN, REPLY]);
}
