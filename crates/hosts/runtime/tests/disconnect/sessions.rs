//! Sessions on the served host: a peer that breaks them, comes back, and is recorded.

use crate::guard::{Guard, Running, Seen, node};
use crate::peer::FarEnd;
use crate::{PORT, WORD, guard_at};
use quintet_contract::{
    Address, DownCause, Effects, Frame, Incarnation, Input, Kind, LinkClass, LinkInfo, NodeId, Outbox,
    PeerChange, Protocol, Time,
};
use quintet_link::{LinkError, SharedMemoryListener, shared_memory_connect};
use quintet_runtime::{Instance, Recorder};
use quintet_session::{GOODBYE, PING, PeerConfig, REFUSED, Reliability, SessionConfig, Sessions};
use quintet_simulate::replay;
use quintet_testbed::TempDir;
use std::fs::File;
use std::path::Path;
use std::sync::mpsc;

const MISBEHAVED: Seen = Seen::Down(DownCause::Misbehaved);

fn guard_sessions(guard: Guard) -> Sessions<Guard> {
    Sessions::new(SessionConfig::new(guard_at(PORT), 7, Incarnation(1), 42), guard)
}

/// Says nothing of its own.
struct Silent;

impl Protocol for Silent {
    fn handle(&mut self, _now: Time, _input: Input<'_>, _out: &mut dyn Outbox) {}
    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// A peer that knows how to shake hands.
struct Client {
    far: FarEnd,
    sessions: Sessions<Silent>,
}

impl Client {
    fn connect(path: &Path, node: u16, life: u64) -> Client {
        let far = FarEnd::new(node, shared_memory_connect(path).expect("somebody listens"));
        let mut config = SessionConfig::new(far.at, 7, Incarnation(life), 1);
        let dialled = PeerConfig { initiate: true, reliability: Reliability::Link };
        config.peers.insert(guard_at(PORT), dialled);
        let mut client = Client { far, sessions: Sessions::new(config, Silent) };
        let up =
            PeerChange::Up { incarnation: Incarnation(1), link: LinkInfo::new(LinkClass::Machine, 1000) };
        client.give(Input::Peer(guard_at(PORT), &up));
        client
    }

    /// Gives its sessions an input and sends what follows.
    fn give(&mut self, input: Input<'_>) {
        let mut out = Effects::default();
        self.sessions.handle(Time::ZERO, input, &mut out);
        for (_, frame) in out.frames() {
            assert!(self.far.send(PORT, frame.kind, frame.token.0, &frame.body));
        }
    }

    /// Takes so many frames, or those before the link ends: their kinds, and how it ended.
    fn take(&mut self, count: usize) -> (Vec<Kind>, Option<LinkError>) {
        let (frames, ended) = self.far.receive(count);
        (frames.into_iter().map(|(kind, ..)| kind).collect(), ended)
    }

    /// Takes the answer to its HELLO.
    fn shake_hands(&mut self) {
        for (kind, token, body) in self.far.receive(1).0 {
            self.give(Input::Frame(guard_at(PORT), Frame::new(kind, token, &body)));
        }
    }

    fn is_up(&self) -> bool {
        self.sessions.peer(guard_at(PORT)).is_some()
    }

    /// A word in its session: the first.
    fn say(&mut self) {
        assert!(self.far.send(PORT, WORD, 1, &[0; 8]));
    }
}

/// A recorded node that listens at `path`.
fn start(path: &Path, recorder: &Recorder) -> Running {
    let (sender, reports) = mpsc::channel();
    let instance = Instance::new(guard_sessions(Guard::new(PORT, sender)));
    let mut node = node();
    node.add(PORT, instance.recorded(recorder, guard_at(PORT), "guard", b""));
    let listener = SharedMemoryListener::bind(path).expect("the folder is there");
    node.listen(Box::new(listener), PORT).expect("it can be watched");
    Running::start(node, reports)
}

fn make(_name: &str, at: Address, _config: &[u8]) -> Result<Box<dyn Protocol>, String> {
    let (sender, _) = mpsc::channel();
    Ok(Box::new(guard_sessions(Guard::new(at.port, sender))))
}

#[test]
fn a_broken_session_ends_its_link_and_a_new_life_is_served_and_the_recording_replays() {
    let dir = TempDir::new().expect("a temporary directory");
    let (path, recording) = (dir.join("socket"), dir.join("job.qrec"));
    let recorder = Recorder::create(&recording).expect("the file can be made");
    let running = start(&path, &recorder);
    let mut honest = Client::connect(&path, 2, 1);
    honest.shake_hands();
    for life in [1, 2] {
        let mut hostile = Client::connect(&path, 1, life);
        hostile.shake_hands();
        assert!(hostile.is_up(), "life {life} is served");
        hostile.say();
        // In the middle of its session, a ping of one byte, and more of them until the link is closed.
        while hostile.far.send(PORT, PING, 0, &[1]) {}
        let (frames, ended) = hostile.take(3);
        assert_eq!((frames, ended), (vec![WORD, GOODBYE], Some(LinkError::Closed)));
        assert_eq!(running.of(1, 3), [Seen::Up, Seen::Frame(1), MISBEHAVED].map(|seen| (PORT, seen)));
        let mut again = Client::connect(&path, 1, life);
        assert_eq!(again.take(2), (vec![REFUSED], Some(LinkError::Closed)), "life {life} is over");
    }
    honest.say();
    assert_eq!(honest.take(1), (vec![WORD], None));
    let rest: Vec<_> = running.stop().into_iter().map(|(_, from, seen)| (from.node, seen)).collect();
    assert_eq!(rest, [(NodeId(2), Seen::Frame(1))]);
    recorder.finish().expect("the disk has room");
    let replayed = replay(File::open(&recording).expect("it was recorded"), &make).expect("the same again");
    assert!(replayed.steps > 10 && !replayed.cut_short, "{replayed:?}");
}
