//! Which replica is asked, and what the protocol above learns, under one that passes on what its callers say and writes down what it hears.

use super::*;
use crate::codec::Leader;
use quintet_contract::{Effect, Effects, Incarnation, LinkClass, LinkInfo, NodeId};
use quintet_wire::encode_to_vec;
use quintet_wire::registry::{PORT_CALLERS, USER};

const SERVICE: Address = Address::new(0, 16);
const CALLERS: Address = Address { node: NodeId(9), port: PORT_CALLERS };
const ASK: Kind = USER.kind(0);
const ANSWER: Kind = USER.kind(1);
const UP: PeerChange =
    PeerChange::Up { incarnation: Incarnation(1), link: LinkInfo::new(LinkClass::Machine, 1 << 20) };

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Heard {
    Up,
    Down(DownCause),
    Frame(Kind),
    Room,
    Refused(SendError),
}

#[derive(Default)]
struct Above(Vec<Heard>);

impl Protocol for Above {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        let heard = match input {
            Input::Frame(CALLERS, frame) => match out.send(SERVICE, frame.kind, frame.token, frame.body) {
                Ok(()) => return,
                Err(error) => Heard::Refused(error),
            },
            Input::Frame(SERVICE, frame) => Heard::Frame(frame.kind),
            Input::Peer(SERVICE, PeerChange::Up { .. }) => Heard::Up,
            Input::Peer(SERVICE, PeerChange::Down(cause)) => Heard::Down(*cause),
            Input::Writable(SERVICE) => Heard::Room,
            other => panic!("it knows of no replica: {other:?}"),
        };
        self.0.push(heard);
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

fn replica(number: u16) -> Address {
    Address { node: NodeId(number), ..SERVICE }
}

fn client() -> ToLeader<Above> {
    ToLeader::new(SERVICE, (1..=3).map(replica).collect(), Above::default())
}

fn give(client: &mut ToLeader<Above>, input: Input<'_>) -> Vec<Effect> {
    let mut effects = Effects::default();
    client.handle(Time(0), input, &mut effects);
    effects.drain().collect()
}

fn heard(client: &mut ToLeader<Above>) -> Vec<Heard> {
    core::mem::take(&mut client.inner.0)
}

fn says(client: &mut ToLeader<Above>, number: u16, kind: Kind) -> Vec<Effect> {
    let body = encode_to_vec(&Leader { node: None, has_no_log: false });
    give(client, Input::Frame(replica(number), Frame::new(kind, Token(1), &body)))
}

/// Whom a request goes to.
fn ask(client: &mut ToLeader<Above>) -> Option<Address> {
    match &give(client, Input::Frame(CALLERS, Frame::new(ASK, Token(1), &[])))[..] {
        [Effect::Sent(to, _)] => Some(*to),
        [] => None,
        other => panic!("one request goes to one replica: {other:?}"),
    }
}

fn let_go(number: u16) -> Effect {
    Effect::Disconnected(replica(number), Disconnect::UntilNextLink)
}

/// One that the first replica has served.
fn served() -> ToLeader<Above> {
    let mut client = client();
    give(&mut client, Input::Peer(replica(1), &UP));
    assert_eq!(ask(&mut client), Some(replica(1)));
    assert!(says(&mut client, 1, ANSWER).is_empty());
    assert_eq!(heard(&mut client), [Heard::Up, Heard::Frame(ANSWER)]);
    client
}

#[test]
fn who_leads_no_more_is_let_go_and_whoever_comes_up_next_is_asked() {
    let mut client = served();
    assert_eq!(says(&mut client, 1, LEADER), [let_go(1)]);
    assert_eq!(ask(&mut client), None);
    let lost = [Heard::Down(DownCause::Died), Heard::Refused(SendError::Unreachable)];
    assert_eq!(heard(&mut client), lost);
    // Its end, as its link tells it, is no other one.
    give(&mut client, Input::Peer(replica(1), &PeerChange::Down(DownCause::Silent)));
    assert_eq!(heard(&mut client), []);
    give(&mut client, Input::Peer(replica(2), &UP));
    assert_eq!(ask(&mut client), Some(replica(2)));
    assert_eq!(says(&mut client, 2, LEADER), [let_go(2)]);
    give(&mut client, Input::Peer(replica(1), &UP));
    assert_eq!(ask(&mut client), Some(replica(1)));
}

#[test]
fn a_link_that_comes_up_takes_the_place_of_one_whose_end_nobody_has_seen() {
    let mut client = served();
    assert_eq!(give(&mut client, Input::Peer(replica(3), &UP)), [let_go(1)]);
    assert_eq!(heard(&mut client), [Heard::Down(DownCause::Died), Heard::Up]);
    assert!(says(&mut client, 1, ANSWER).is_empty());
    give(&mut client, Input::Writable(replica(1)));
    give(&mut client, Input::Peer(replica(1), &PeerChange::Down(DownCause::Died)));
    assert_eq!(heard(&mut client), [], "what comes from where it asks no more is not heard");
    give(&mut client, Input::Writable(replica(3)));
    assert_eq!(heard(&mut client), [Heard::Room]);
    assert_eq!(ask(&mut client), Some(replica(3)));
}

#[test]
fn however_its_link_ends_another_replica_may_serve() {
    for cause in [DownCause::Closed, DownCause::Misbehaved, DownCause::Silent, DownCause::Refused(3)] {
        let mut client = served();
        give(&mut client, Input::Peer(replica(1), &PeerChange::Down(cause)));
        assert_eq!(heard(&mut client), [Heard::Down(DownCause::Died)]);
    }
}

#[test]
fn before_anybody_has_served_it_whoever_connects_learns_all_himself() {
    let mut client = client();
    give(&mut client, Input::Peer(replica(2), &UP));
    assert!(says(&mut client, 2, LEADER).is_empty());
    let refused = DownCause::Refused(3);
    give(&mut client, Input::Peer(replica(2), &PeerChange::Down(refused)));
    assert_eq!(heard(&mut client), [Heard::Up, Heard::Frame(LEADER), Heard::Down(refused)]);
}
