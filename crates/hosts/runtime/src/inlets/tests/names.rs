//! The rule that says who is heard under which number.

use super::*;
use crate::event::Event;
use quintet_contract::{Identity, LinkInfo};
use std::sync::Mutex;

const MEMBER: Identity = Identity([7; 32]);
const OTHER: Identity = Identity([8; 32]);
const THIRD: Identity = Identity([9; 32]);

/// A link whose peer has proved to be somebody.
struct Proved(Box<dyn quintet_link::Sender>, Identity);

impl quintet_link::Sender for Proved {
    fn begin(&mut self, route: Route, at_most: usize) -> Result<&mut [u8], quintet_contract::SendError> {
        self.0.begin(route, at_most)
    }
    fn commit(&mut self, len: usize) {
        self.0.commit(len);
    }
    fn send_bulk(
        &mut self,
        route: Route,
        body: &[u8],
        bulk: Bytes,
    ) -> Result<(), quintet_contract::SendError> {
        self.0.send_bulk(route, body, bulk)
    }
    fn flush(&mut self) -> Result<(), LinkError> {
        self.0.flush()
    }
    fn has_room(&self) -> bool {
        self.0.has_room()
    }
    fn refuse(&mut self) {
        self.0.refuse();
    }
    fn info(&self) -> LinkInfo {
        LinkInfo { identity: Some(self.1), ..self.0.info() }
    }
}

/// Both ends of a link over which the far one has proved to be somebody.
fn proved(who: Identity) -> (End, End) {
    let (near, far) = socket_pair();
    (End { sender: Box::new(Proved(near.sender, who)), ..near }, far)
}

/// A node where the number 7 is the member's, and what it tells.
fn guarded() -> (Engine, Inlets, Arc<Mutex<Vec<Event>>>) {
    let (mut engine, mut inlets, _mailbox) = node();
    let told = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&told);
    engine.set_events(Arc::new(move |event| sink.lock().expect("no other panicked").push(event.clone())));
    inlets.set_naming(Arc::new(|node, who| node != NodeId(7) || who == Some(MEMBER)));
    (engine, inlets, told)
}

fn end_of(far: &mut End) -> LinkError {
    loop {
        if let Err(end) = far.receiver.poll(1, &mut |_, _| {}) {
            return end;
        }
        far.receiver.wait(None);
    }
}

fn turn(engine: &mut Engine, inlets: &mut Inlets, now: Time) {
    inlets.attend();
    while engine.turn(inlets, now) {}
}

#[test]
fn a_number_that_is_anothers_is_refused_while_that_one_is_away_and_both_sides_are_told() {
    let (mut engine, mut inlets, told) = guarded();
    let (near, mut far) = proved(OTHER);
    inlets.listen(Ready::new([near]), PORT).expect("it is watched");
    say(&mut far, 7);
    turn(&mut engine, &mut inlets, Time(1));
    assert!(!engine.is_linked(NodeId(7)) && inlets.links() == 0, "nothing is kept of it");
    assert_eq!(end_of(&mut far), LinkError::Refused);
    let refused = Event::NameRefused { peer: NodeId(7), identity: Some(OTHER), is_dialled: false, before: 0 };
    assert_eq!(*told.lock().expect("no other panicked"), [refused]);
    // Whose it is comes unhindered, and so does the other under another number.
    let ((first, mut member), (second, mut other)) = (proved(MEMBER), proved(OTHER));
    inlets.listen(Ready::new([first, second]), PORT).expect("it is watched");
    say(&mut member, 7);
    say(&mut other, 9);
    turn(&mut engine, &mut inlets, Time(1));
    assert!(engine.is_linked(NodeId(7)) && engine.is_linked(NodeId(9)));
}

#[test]
fn a_link_that_lives_does_not_give_way_to_one_that_is_refused() {
    let (mut engine, mut inlets, _told) = guarded();
    engine.add(Time(0), PORT, Instance::new(Resumed));
    let (near, mut member) = proved(MEMBER);
    inlets.attach(&mut engine, Time(0), NodeId(7), vec![(PORT, PORT)], near).expect("it is watched");
    let (near, mut other) = proved(OTHER);
    inlets.listen(Ready::new([near]), PORT).expect("it is watched");
    say(&mut other, 7);
    turn(&mut engine, &mut inlets, Time(1));
    assert_eq!(end_of(&mut other), LinkError::Refused);
    assert!(engine.is_linked(NodeId(7)) && inlets.rivals.is_empty());
    assert_eq!(member.receiver.poll(1, &mut |_, _| {}), Ok(0), "it lives");
}

#[test]
fn refusals_are_told_of_once_a_second_and_counted_for_each_who_is_refused() {
    let (mut engine, mut inlets, told) = guarded();
    let second = 1_000_000_000;
    for (at, links) in [(second, 3), (3 * second, 1)] {
        let who = (0..links).map(|_| OTHER).chain((links > 1).then_some(THIRD));
        let (nears, mut fars): (Vec<End>, Vec<End>) = who.map(proved).unzip();
        inlets.listen(Ready::new(nears), PORT).expect("it is watched");
        fars.iter_mut().for_each(|far| say(far, 7));
        turn(&mut engine, &mut inlets, Time(at));
        fars.iter_mut().for_each(|far| assert_eq!(end_of(far), LinkError::Refused));
    }
    let before: Vec<(Option<Identity>, u64)> = told
        .lock()
        .expect("no other panicked")
        .iter()
        .map(|event| match event {
            Event::NameRefused { identity, before, .. } => (*identity, *before),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(before, [(Some(OTHER), 0), (Some(THIRD), 0), (Some(OTHER), 2)]);
}

#[test]
fn who_answers_where_a_node_is_dialled_and_is_not_that_node_is_told_and_dialled_again() {
    let folder = quintet_testbed::TempDir::new().expect("a temporary directory");
    let address = LinkAddress::Unix(folder.join("socket"));
    let mut listener = quintet_link::listen(&address).expect("the folder is there");
    let (mut engine, mut inlets, told) = guarded();
    // Over a Unix socket nobody proves anything.
    let redial = Redial { address, window: Duration::from_secs(1000), seed: 0 };
    inlets.dial(Dialling::begin(NodeId(7), vec![(PORT, PORT)], redial, Time(1)));
    for round in 1..=2 {
        let mut now = Time(1_000_000_000 * round);
        let mut end = loop {
            turn(&mut engine, &mut inlets, now);
            now.0 += 1;
            if let Some(end) = listener.accept().expect("nobody else connects") {
                break end;
            }
        };
        // This side has to take the end first, and then refuses it.
        while told.lock().expect("no other panicked").len() < usize::try_from(round).expect("few") {
            turn(&mut engine, &mut inlets, now);
        }
        assert_eq!(end_of(&mut end), LinkError::Refused);
    }
    let refused = Event::NameRefused { peer: NodeId(7), identity: None, is_dialled: true, before: 0 };
    assert_eq!(*told.lock().expect("no other panicked"), [refused.clone(), refused]);
    assert!(!engine.is_linked(NodeId(7)) && inlets.deadline().is_some(), "it goes on");
}
