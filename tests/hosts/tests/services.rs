//! Two services on one session of two live nodes, which dial each other at once.

mod running;

use quintet_contract::{
    Address, Effects, Incarnation, Kind, NodeId, OwnedFrame, Port, Protocol, Span, Token,
};
use quintet_link::{LinkAddress, listen};
use quintet_messaging::relay::Relay;
use quintet_runtime::{Event, Instance, Node, Redial, Services};
use quintet_session::Placed;
use quintet_stack::{PORT_RELAY, SPACE, SPACE_NODE, StackConfig, asking_space, class, node, space};
use quintet_testbed::TempDir;
use quintet_tests_hosts::{ANSWER, ASK, Ring};
use quintet_tuple_space::{Answer, Request, Wait, template, tuple};
use quintet_wire::registry::{PORT_CALLERS, PORT_SESSION, USER};
use running::{LIMIT, Running};
use std::sync::{Arc, Mutex};

const CLIENT_NODE: NodeId = NodeId(1);
const PROBE: Port = Port(1024);
/// Rounds of the ring that a test waits for.
const ROUNDS: u64 = 30;

/// A service of any kind.
type Service = Box<dyn Protocol + Send>;

/// Has the services of this node asked something. Whose it is, its kind says.
fn ask(running: &Running, kind: Kind, token: u64, body: &[u8]) {
    running.ask(PORT_SESSION, kind, token, (body, b""));
}

fn ask_space(running: &Running, request: Request<'_>, token: u64) {
    let mut out = Effects::default();
    request.send(&mut out, SPACE, Token(token), Token(0)).expect("an outbox without a limit");
    let (_, frame) = out.frames().pop().expect("it was sent");
    ask(running, frame.kind, token, &frame.body);
}

/// A node of the ring at its port.
fn ring(next: NodeId, first: bool) -> Placed<Service> {
    let next = Address { node: next, port: PROBE };
    let protocol: Service = Box::new(Ring::new(next, Span::from_micros(10), first));
    Placed { port: PROBE, kinds: USER, asks: vec![next], services: &[], protocol }
}

/// The services of both nodes: the space and one node of a ring; who asks the space, and the other.
fn services(of: NodeId, config: &StackConfig) -> Vec<Placed<Service>> {
    let boxed = |protocol: Service| protocol;
    if of == SPACE_NODE {
        return vec![space(config).map(|space| boxed(Box::new(space))), ring(CLIENT_NODE, true)];
    }
    let callers = Address { node: CLIENT_NODE, port: PORT_CALLERS };
    let relay: Service = Box::new(Relay::new(callers, SPACE, class));
    vec![asking_space(PORT_RELAY, relay), ring(SPACE_NODE, false)]
}

/// Both nodes, each of which listens and dials the other. What their hosts tell goes to `told`.
fn start(addresses: [LinkAddress; 2], told: &Arc<Mutex<Vec<Event>>>) -> [Running; 2] {
    let listeners = addresses.map(|address| listen(&address).expect("nobody else listens there"));
    let addresses = [0, 1].map(|of| listeners[of].address());
    let mut others = addresses.into_iter().rev();
    let sides = [SPACE_NODE, CLIENT_NODE].into_iter().zip([CLIENT_NODE, SPACE_NODE]).zip(listeners);
    let nodes: Vec<_> = sides
        .map(|((of, other), listener)| {
            let config = StackConfig::of_client(7, Incarnation(1), u64::from(of.0));
            let mut host = Node::new(of, Services::none()).expect("an event descriptor is there");
            let sink = Arc::clone(told);
            host.set_events(Arc::new(move |event| sink.lock().expect("no panic").push(event.clone())));
            host.listen(listener, PORT_SESSION).expect("it is watched");
            host.add(PORT_SESSION, Instance::new(node(of, &config, services(of, &config))));
            let address = others.next().expect("there are two");
            host.dial(other, &[(PORT_SESSION, PORT_SESSION)], Redial { address, window: LIMIT, seed: 1 });
            host
        })
        .collect();
    nodes.into_iter().map(Running::start).collect::<Vec<_>>().try_into().ok().expect("there are two")
}

/// The client puts and takes a tuple, and both nodes hear of the ring.
fn check([server, client]: &[Running; 2]) {
    let (one, any) = ([tuple!["n", 1i64]], template!["n", ?i64]);
    ask_space(client, Request::Out { deadline: None, tuples: &one, expiries: &[] }, 1);
    ask_space(client, Request::Take { wait: Wait::Forever, lease: None, template: &any }, 2);
    [server, client].into_iter().for_each(|side| ask(side, ASK, ROUNDS, b""));
    let mut answers: Vec<OwnedFrame> = (0..3).map(|_| client.answer()).collect();
    answers.sort_by_key(|answer| answer.token);
    let [done, taken, rounds] = &answers[..] else { panic!("three were waited for") };
    assert_eq!((done.token, taken.token), (Token(1), Token(2)));
    assert!(
        matches!(Answer::decode(taken.kind, &taken.body, &taken.bulk), Ok(Answer::Tuple(..))),
        "{taken:?}"
    );
    for rounds in [rounds, &server.answer()] {
        assert_eq!((rounds.kind, rounds.token), (ANSWER, Token(ROUNDS)));
    }
}

#[test]
fn two_services_share_the_session_of_nodes_that_dial_each_other_at_once() {
    let dir = TempDir::new().expect("a temporary directory");
    for round in 0..20 {
        let path = |node: u16| dir.join(format!("{round}-{node}"));
        let tcp = || LinkAddress::Tcp { host: "127.0.0.1".into(), port: 0 };
        for addresses in [
            [LinkAddress::Unix(path(0)), LinkAddress::Unix(path(1))],
            [tcp(), tcp()],
            [LinkAddress::SharedMemory(path(2)), LinkAddress::SharedMemory(path(3))],
        ] {
            let told = Arc::<Mutex<Vec<Event>>>::default();
            let nodes = start(addresses, &told);
            check(&nodes);
            let told = told.lock().expect("no panic");
            // Who has a link gives up the one that it is making.
            let others = told.iter().filter(|event| !matches!(event, Event::NotConnected { .. }));
            assert_eq!(others.count(), 0, "round {round}: {told:?}");
        }
    }
}
