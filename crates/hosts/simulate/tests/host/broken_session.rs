//! A peer that breaks its session, and comes back.

use super::at;
use quintet_contract::{
    Bytes, DownCause, Incarnation, Input, Kind, LinkClass, LinkInfo, NodeId, Outbox, OwnedFrame, PeerChange,
    Protocol, Span, Time, Token,
};
use quintet_session::{PING, PREFIX_BYTES, PeerConfig, RefusalCode, Reliability, SessionConfig, Sessions};
use quintet_simulate::{LinkModel, Restart, Simulation};
use quintet_wire::registry::{PORT_CALLERS, USER};

const GARBAGE: Kind = USER.kind(0);
const WORD: Kind = USER.kind(1);
const SERVER: u16 = 1;
const HONEST: u16 = 2;
const HOSTILE: u16 = 3;

/// Notes what it is told, and says a word to the server when a caller asks for it.
#[derive(Default)]
struct Member {
    changes: Vec<PeerChange>,
    words: usize,
}

impl Protocol for Member {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Frame(from, _) if from.port == PORT_CALLERS => {
                // Who has no session says nothing.
                let _ = out.send(at(SERVER), WORD, Token(1), b"word");
            }
            Input::Frame(..) => self.words += 1,
            Input::Peer(peer, change) if peer != at(HONEST) => self.changes.push(*change),
            _ => {}
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// Shakes hands as others do, and sends broken pings when a caller asks for garbage.
struct Node(Sessions<Member>);

impl Node {
    fn new(node: u16, life: u64) -> Node {
        let mut config = SessionConfig::new(at(node), 7, Incarnation(life), 5);
        let dialled = PeerConfig { initiate: true, reliability: Reliability::Link };
        config.peers.extend((node != SERVER).then_some((at(SERVER), dialled)));
        Node(Sessions::new(config, Member::default()))
    }
}

impl Protocol for Node {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        if let Input::Frame(from, frame) = input
            && (from.port, frame.kind) == (PORT_CALLERS, GARBAGE)
        {
            let sent = (0..100).filter(|_| out.send(at(SERVER), PING, Token(0), &[1]).is_ok());
            return assert!(matches!(sent.count(), 0 | 100), "the link is there or it is not");
        }
        self.0.handle(now, input, out);
    }

    fn deadline(&self) -> Option<Time> {
        self.0.deadline()
    }
}

fn member(run: &Simulation, node: u16) -> &Member {
    run.get::<Node>(at(node)).expect("it was added").0.inner()
}

fn tell(run: &mut Simulation, node: u16, kind: Kind) {
    let (body, bulk) = (Bytes::new(), Bytes::new());
    run.inject(at(node), OwnedFrame { kind, token: Token(0), body, bulk });
    run.run_for(Span::from_millis(5));
}

fn come_back(run: &mut Simulation, life: u64) {
    run.crash(NodeId(HOSTILE), Span::ZERO);
    let node = Box::new(Node::new(HOSTILE, life));
    run.restart(NodeId(HOSTILE), Restart::Fresh(vec![(at(HOSTILE).port, node)]));
    run.run_for(Span::from_millis(5));
}

const fn up(life: u64) -> PeerChange {
    PeerChange::Up {
        incarnation: Incarnation(life),
        link: LinkInfo::new(LinkClass::Network, 65_536).behind(PREFIX_BYTES),
    }
}

#[test]
fn it_is_cut_once_its_life_is_refused_and_the_next_is_served() {
    let mut run = Simulation::new(3);
    for node in [SERVER, HONEST, HOSTILE] {
        run.add(at(node), Node::new(node, 1));
    }
    for node in [HONEST, HOSTILE] {
        run.connect(at(node), at(SERVER), LinkModel::default());
    }
    run.run_for(Span::from_millis(5));
    tell(&mut run, HOSTILE, WORD);
    tell(&mut run, HOSTILE, GARBAGE);
    tell(&mut run, HOSTILE, GARBAGE);
    let cut = PeerChange::Down(DownCause::Misbehaved);
    assert_eq!(member(&run, SERVER).changes, [up(1), cut]);
    assert_eq!(member(&run, HOSTILE).changes, [up(1), PeerChange::Down(DownCause::Closed)]);
    come_back(&mut run, 1);
    let refused = DownCause::Refused(RefusalCode::Malformed.error() as u16);
    assert_eq!(member(&run, HOSTILE).changes, [PeerChange::Down(refused)]);
    come_back(&mut run, 2);
    assert_eq!(member(&run, SERVER).changes, [up(1), cut, up(2)]);
    tell(&mut run, HOSTILE, WORD);
    tell(&mut run, HONEST, WORD);
    assert_eq!(member(&run, SERVER).words, 3);
}
