//! The served host.

use crate::guard::{Running, Seen, guarded};
use crate::peer::FarEnd;
use crate::{GARBAGE, PORT, WORD};
use quintet_contract::{DownCause, NodeId, Port, Token};
use quintet_link::{End, LinkError, SharedMemoryListener, in_process_pair, shared_memory_connect};
use quintet_testbed::TempDir;

const MISBEHAVED: Seen = Seen::Down(DownCause::Misbehaved);
const OTHER: Port = Port(17);

/// Two ends of a link of each kind.
fn pairs() -> Vec<(End, End)> {
    let dir = TempDir::new().expect("a temporary directory");
    let path = dir.join("socket");
    let mut listener = SharedMemoryListener::bind(&path).expect("the folder is there");
    let connecting = std::thread::spawn(move || shared_memory_connect(path).expect("somebody listens"));
    let near = loop {
        if let Some(end) = listener.accept().expect("the bootstrap goes well") {
            break end;
        }
        std::thread::yield_now();
    };
    let far = connecting.join().expect("it does not panic");
    vec![in_process_pair().expect("two event descriptors are there"), (near, far)]
}

#[test]
fn who_sends_garbage_is_cut_and_others_go_on() {
    for (near, far) in pairs() {
        let (mut node, reports) = guarded(&[PORT, OTHER]);
        node.attach(NodeId(1), &[(PORT, PORT), (OTHER, OTHER)], near).expect("it can be watched");
        let (near, honest) = in_process_pair().expect("two event descriptors are there");
        node.attach(NodeId(2), &[(PORT, PORT)], near).expect("it can be watched");
        let (mut hostile, mut honest) = (FarEnd::new(1, far), FarEnd::new(2, honest));
        // More than one burst, and all of it there when the first is handled.
        assert!(hostile.send(PORT, WORD, 1, b"a word"));
        (2..200).for_each(|token| assert!(hostile.send(PORT, GARBAGE, token, b"garbage")));
        assert!(honest.send(PORT, WORD, 1, b"a word"));
        let running = Running::start(node, reports);
        let seen = [Seen::Up, Seen::Frame(1), Seen::Frame(2), MISBEHAVED].map(|seen| (PORT, seen));
        let other = [Seen::Up, MISBEHAVED].map(|seen| (OTHER, seen));
        assert_eq!(running.of(1, 6), [&seen[..], &other].concat());
        let (frames, ended) = hostile.receive(3);
        assert_eq!(frames.iter().map(|frame| frame.1).collect::<Vec<_>>(), [Token(1), Token(2)]);
        assert_eq!(ended, Some(LinkError::Closed));
        assert_eq!(honest.receive(1).0.len(), 1);
        for token in 2..20 {
            assert!(honest.send(PORT, WORD, token, b"a word"));
            hostile.send(PORT, GARBAGE, token, b"more garbage");
            assert_eq!(honest.receive(1).0.len(), 1);
        }
        let rest = running.stop();
        assert!(rest.iter().all(|(_, from, _)| from.node == NodeId(2)), "{rest:?}");
    }
}

#[test]
fn a_peer_that_was_cut_may_connect_anew() {
    let dir = TempDir::new().expect("a temporary directory");
    let path = dir.join("socket");
    let (mut node, reports) = guarded(&[PORT]);
    let listener = SharedMemoryListener::bind(&path).expect("the folder is there");
    node.listen(Box::new(listener), PORT).expect("it can be watched");
    let running = Running::start(node, reports);
    for token in 1..5 {
        let end = shared_memory_connect(&path).expect("somebody listens");
        let mut hostile = FarEnd::new(1, end);
        assert!(hostile.send(PORT, WORD, token, b"a word"));
        assert_eq!(hostile.receive(1).0.len(), 1);
        assert!(hostile.send(PORT, GARBAGE, token, b"garbage"));
        let seen = [Seen::Up, Seen::Frame(token), Seen::Frame(token), MISBEHAVED];
        assert_eq!(running.of(1, 4), seen.map(|seen| (PORT, seen)));
        let (frames, ended) = hostile.receive(2);
        assert_eq!((frames.len(), ended), (1, Some(LinkError::Closed)));
    }
    assert_eq!(running.stop(), []);
}

#[test]
fn who_speaks_for_another_node_is_cut() {
    let (mut node, reports) = guarded(&[PORT]);
    let (near, far) = in_process_pair().expect("two event descriptors are there");
    node.attach(NodeId(1), &[(PORT, PORT)], near).expect("it can be watched");
    let mut hostile = FarEnd::new(1, far);
    assert!(hostile.send(PORT, WORD, 1, b"a word"));
    hostile.at.node = NodeId(2);
    assert!(hostile.send(PORT, WORD, 2, b"another's word"));
    let running = Running::start(node, reports);
    assert_eq!(running.of(1, 3), [Seen::Up, Seen::Frame(1), MISBEHAVED].map(|seen| (PORT, seen)));
    assert_eq!(hostile.receive(2).1, Some(LinkError::Closed));
    assert_eq!(running.stop(), []);
}
