//! How long a silent peer counts as alive.

use quintet::stack::{self, Liveness, SERVER, StackConfig, sessions_of};
use quintet_contract::{
    Address, Disconnect, Effect, Effects, Frame, Incarnation, Input, LinkClass, LinkInfo, NodeId, PeerChange,
    Protocol, Span, Time, Token,
};

const CLIENT: Address = sessions_of(NodeId(5));

/// A stack, and what it did and nobody looked at yet.
struct Side<P> {
    me: Address,
    stack: P,
    effects: Effects,
}

impl<P: Protocol> Side<P> {
    fn new(me: Address, stack: P, other: Address) -> Side<P> {
        let mut side = Side { me, stack, effects: Effects::default() };
        let link = LinkInfo::new(LinkClass::Machine, 1 << 20);
        let up = PeerChange::Up { incarnation: Incarnation(1), link };
        side.give(Time::ZERO, Input::Started);
        side.give(Time::ZERO, Input::Peer(other, &up));
        side
    }

    fn give(&mut self, now: Time, input: Input<'_>) {
        self.stack.handle(now, input, &mut self.effects);
    }

    /// Gives the other side all that this one said to it. False if that is nothing.
    fn tell(&mut self, other: &mut Side<impl Protocol>) -> bool {
        let said: Vec<_> = self.effects.frames().into_iter().filter(|(to, _)| *to == other.me).collect();
        for (_, frame) in &said {
            let frame = Frame { bulk: &frame.bulk, ..Frame::new(frame.kind, Token(0), &frame.body) };
            other.give(Time::ZERO, Input::Frame(self.me, frame));
        }
        !said.is_empty()
    }
}

/// A server and a client that have spoken at the time 0, and have nothing more to say.
fn connected(liveness: Liveness) -> (Side<impl Protocol>, Side<impl Protocol>) {
    let config = StackConfig::of_client(0, Incarnation(1), 1).with_liveness(liveness);
    let server = config.clone().with_liveness(Liveness::OF_SERVER);
    let mut server = Side::new(SERVER, stack::served(&server), CLIENT);
    let mut client = Side::new(CLIENT, stack::client(CLIENT.node, &config), SERVER);
    while client.tell(&mut server) | server.tell(&mut client) {}
    (server, client)
}

/// When a client gives up a server that stopped at the time 0.
fn given_up(liveness: Liveness) -> Time {
    let (_, mut client) = connected(liveness);
    loop {
        let now = client.stack.deadline().expect("it asks until it gives up");
        client.give(now, Input::Wake);
        if client.effects.drain().any(|effect| effect == Effect::Disconnected(SERVER, Disconnect::ForGood)) {
            return now;
        }
    }
}

#[test]
fn a_server_that_stands_still_for_seconds_is_not_given_up() {
    assert_eq!(given_up(Liveness::OF_CLIENT), Time::ZERO + Span::from_secs(11));
}

#[test]
fn how_long_a_silent_server_is_believed_in_can_be_chosen() {
    let (keep_alive, silence_limit) = (Span::from_millis(20), Span::from_millis(30));
    let given_up = given_up(Liveness { keep_alive, silence_limit, ..Liveness::OF_CLIENT });
    assert_eq!(given_up, Time::ZERO + keep_alive + silence_limit);
}

#[test]
fn a_server_gives_up_no_client_whose_program_computes() {
    let (server, _) = connected(Liveness::OF_CLIENT);
    assert_eq!(server.stack.deadline(), None);
}
