//! What a protocol would send when it learns that a session is over does not go into the next one, which may live already.

use quintet_contract::{
    Address, Effects, Incarnation, Input, LinkClass, LinkInfo, Outbox, PeerChange, Protocol, SendError, Time,
    Token,
};
use quintet_session::{PeerConfig, Reliability, SessionConfig, Sessions};
use quintet_wire::registry::USER;

const SERVER: Address = Address::new(1, 16);
const CLIENT: Address = Address::new(2, 16);

/// Says something to every peer that it loses.
#[derive(Default)]
struct Parting {
    said: Vec<Result<(), SendError>>,
    ups: u32,
}

impl Protocol for Parting {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Peer(peer, PeerChange::Down(_)) => {
                self.said.push(out.send(peer, USER.kind(0), Token(1), b"late"));
            }
            Input::Peer(_, PeerChange::Up { .. }) => self.ups += 1,
            _ => {}
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

fn up() -> PeerChange {
    PeerChange::Up { incarnation: Incarnation(1), link: LinkInfo::new(LinkClass::Machine, 1 << 20) }
}

/// What a client of this life says over a new link.
fn hello(life: u64) -> Effects {
    let mut config = SessionConfig::new(CLIENT, 7, Incarnation(life), 3);
    config.peers.insert(SERVER, PeerConfig { initiate: true, reliability: Reliability::Link });
    let (mut client, mut said) = (Sessions::new(config, Parting::default()), Effects::default());
    client.handle(Time::ZERO, Input::Peer(SERVER, &up()), &mut said);
    said
}

#[test]
fn a_session_that_is_over_says_nothing_in_the_one_that_takes_its_place() {
    let config = SessionConfig::new(SERVER, 7, Incarnation(1), 4);
    let (mut server, mut out) = (Sessions::new(config, Parting::default()), Effects::default());
    server.handle(Time::ZERO, Input::Peer(CLIENT, &up()), &mut out);
    for life in [1, 2] {
        for (_, frame) in hello(life).frames() {
            server.handle(Time::ZERO, Input::Frame(CLIENT, frame.borrow()), &mut out);
        }
    }
    assert_eq!(server.inner().ups, 2, "the second life takes the place of the first");
    assert_eq!(server.inner().said, [Err(SendError::Unreachable)]);
    assert!(out.frames().iter().all(|(_, frame)| frame.kind != USER.kind(0)));
}
