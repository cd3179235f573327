//! Links that fail over what is sent, with something still to be read.

use super::{Engine, Inlets, PORT, node, say, socket_pair};
use crate::instance::Instance;
use quintet_contract::{Input, Kind, NodeId, Outbox, PeerChange, Protocol, Time, Token};
use std::sync::{Arc, Mutex};

/// Says something to whom it is linked with, and remembers what it hears.
struct Talker(Arc<Mutex<Vec<&'static str>>>);

impl Protocol for Talker {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        let heard = match input {
            Input::Peer(peer, PeerChange::Up { .. }) => {
                out.begin(peer, Kind(0xf0), Token(1), 0).expect("there is room");
                out.commit(0);
                "up"
            }
            Input::Peer(..) => "down",
            Input::Frame(..) => "frame",
            _ => return,
        };
        self.0.lock().expect("no panic").push(heard);
    }
    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// What a node hears of a peer that says so many frames and is gone before the node's own word is flushed.
fn heard_of(frames: usize) -> (Vec<&'static str>, Engine, Inlets) {
    let (mut engine, mut inlets, _mailbox) = node();
    let heard = Arc::default();
    engine.add(Time(0), PORT, Instance::new(Talker(Arc::clone(&heard))));
    let (near, mut far) = socket_pair();
    inlets.attach(&mut engine, Time(0), NodeId(5), vec![(PORT, PORT)], near).expect("it is watched");
    (0..frames).for_each(|_| say(&mut far, 5));
    far.sender.abandon();
    drop(far);
    engine.flush();
    while engine.turn(&mut inlets, Time(0)) {}
    let heard = heard.lock().expect("no panic").clone();
    (heard, engine, inlets)
}

#[test]
fn what_a_peer_said_before_it_closed_the_link_is_heard_though_nothing_can_be_sent_to_it() {
    for frames in [0, 1, 3, 100] {
        let (heard, engine, inlets) = heard_of(frames);
        let mut expected = vec!["frame"; frames];
        expected.insert(0, "up");
        expected.push("down");
        assert_eq!(heard, expected, "{frames}");
        assert!(!engine.is_linked(NodeId(5)) && inlets.inlets.iter().all(Option::is_none));
    }
}
