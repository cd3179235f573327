//! What is told of a peer where nobody listens any more.

use super::*;
use quintet_wire::Decode;
use quintet_wire::registry::{LINK_NEWS, PORT_LINKS};
use quintet_wire::services::LinkNews;

/// Where the instance stands that is told.
const TOLD: Port = Port(6000);
const PEER: NodeId = NodeId(2);

/// Keeps what it is told, in order.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<LinkNews>>>);

impl Protocol for Told {
    fn handle(&mut self, _now: Time, input: Input<'_>, _out: &mut dyn Outbox) {
        if let Input::Frame(from, frame) = input {
            assert_eq!((from, frame.kind), (Address { node: NodeId(1), port: PORT_LINKS }, LINK_NEWS));
            let news = LinkNews::decode_all(frame.body).expect("the host's bytes are good");
            self.0.lock().expect("no other panicked").push(news);
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

impl Told {
    fn all(&self) -> Vec<(NodeId, bool)> {
        let told = self.0.lock().expect("no other panicked");
        told.iter().map(|news| (news.node, news.is_refused)).collect()
    }
}

/// Node 1, which dials who listens there, and what its instance is told.
fn dialling(dir: &TempDir, to: &LinkAddress) -> (Side, Told) {
    let mut side = Side::new(1, &LinkAddress::Unix(dir.join("one")));
    let told = Told::default();
    side.engine.add(Time::ZERO, TOLD, Instance::new(told.clone()));
    side.engine.tell_link_news(TOLD);
    let redial = Redial { address: to.clone(), window: Duration::from_secs(60), seed: 1 };
    side.inlets.dial(Dialling::begin(PEER, vec![(PORT, PORT)], redial, Time::ZERO));
    (side, told)
}

/// The peer's end of the link that node 1 makes.
fn accepted(side: &mut Side, listener: &mut dyn quintet_link::Listener, now: Time) -> End {
    let end = turns(side, now, || listener.accept().expect("it is well"));
    while !side.engine.is_linked(PEER) {
        side.turn(now);
    }
    end
}

/// As the system does that ends a process: the listener is gone, and the link's end says nothing.
fn kill(listener: Box<dyn quintet_link::Listener>, mut end: End) {
    drop(listener);
    end.sender.abandon();
}

fn any_port() -> LinkAddress {
    LinkAddress::Tcp { host: "127.0.0.1".into(), port: 0 }
}

/// The peer says something, so that the link is one that was of use.
fn speak(side: &mut Side, end: &mut End, now: Time) {
    let at = |node| Address { node, port: PORT };
    let route = Route { from: at(PEER), to: at(side.id()), kind: WORD, token: Token(1) };
    let before = side.words(PEER);
    end.sender.begin(route, 0).expect("there is room");
    end.sender.commit(0);
    end.sender.flush().expect("the link is good");
    while side.words(PEER) == before {
        side.turn(now);
    }
}

#[test]
fn that_nobody_listens_any_more_is_told_at_once_and_once_and_so_is_the_next_link() {
    let dir = TempDir::new().expect("a temporary directory");
    let mut listener = listen(&any_port()).expect("a port is free");
    let address = listener.address();
    let (mut one, told) = dialling(&dir, &address);
    let mut now = Time::ZERO;
    for kills in 0..3 {
        let mut end = accepted(&mut one, &mut *listener, now);
        speak(&mut one, &mut end, now);
        assert_eq!(told.all(), [(PEER, true), (PEER, false)].repeat(kills));
        now += LASTING;
        kill(listener, end);
        turns(&mut one, now, || (told.all().len() > 2 * kills).then_some(()));
        assert_eq!(told.all().last(), Some(&(PEER, true)), "without a pause");
        for _ in 0..10 {
            now = one.inlets.deadline().expect("it is tried on");
            one.turn(now);
        }
        assert_eq!(told.all().len(), 2 * kills + 1);
        listener = listen(&address).expect("nobody else listens there");
        now = one.inlets.deadline().expect("it is tried on");
    }
}

#[test]
fn who_takes_connections_and_is_of_no_use_is_not_said_to_have_ended() {
    let dir = TempDir::new().expect("a temporary directory");
    let stranger = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    stranger.set_nonblocking(true).expect("it is ours");
    let port = stranger.local_addr().expect("it is bound").port();
    let address = LinkAddress::Tcp { host: "127.0.0.1".into(), port };
    let (mut one, told) = dialling(&dir, &address);
    let mut now = Time::ZERO;
    for _ in 0..5 {
        drop(turns(&mut one, now, || stranger.accept().ok()));
        let tries = |side: &Side| side.inlets.deadline().filter(|at| at.since(now) < LONGEST_TRY);
        now = turns_of(&mut one, now, tries);
    }
    assert!(told.all().is_empty(), "{:?}", told.all());
}

/// Turns of one side until something holds of it.
fn turns_of<T>(side: &mut Side, now: Time, holds: impl Fn(&Side) -> Option<T>) -> T {
    for _ in 0..TURNS {
        side.turn(now);
        if let Some(found) = holds(side) {
            return found;
        }
    }
    panic!("it does not come to that: {:?}", side.told());
}
