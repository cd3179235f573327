#[path = "tests/names.rs"]
mod names;

use super::waiting::Idle;
use super::*;
use crate::dialling::Redial;
use crate::instance::Instance;
use crate::services::RunningServices;
use crate::slots::Slots;
use bytes::Bytes;
use quintet_contract::{Address, Input, Kind, Outbox, Protocol, Token};
use quintet_link::{Checksums, LinkAddress, LinkError, NotAccepted, Waiting, in_process_pair, over_stream};
use std::collections::VecDeque;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicUsize, Ordering};

const PORT: Port = Port(16);

/// A node without instances, and its inlets.
fn node() -> (Engine, Inlets, Mailbox) {
    let mailbox = Mailbox::new().expect("an event descriptor is there");
    let inlets =
        Inlets::with_mailbox(LiveClock::start(), mailbox.clone()).expect("an epoll descriptor is there");
    (Engine::new(NodeId(0), None, RunningServices::default()), inlets, mailbox)
}

fn pair() -> (End, End) {
    in_process_pair().expect("two event descriptors are there")
}

fn is_idle(inlets: &mut Inlets) -> bool {
    !Idle { inlets, woken: false, failed: None }.ready()
}

/// A frame from the only instance of a node.
fn say(end: &mut End, node: u16) {
    say_to(end, node, Address { node: NodeId(0), port: PORT });
}

fn say_to(end: &mut End, node: u16, to: Address) {
    let from = Address { node: NodeId(node), port: PORT };
    let route = Route { from, to, kind: Kind(0xf0), token: Token(1) };
    end.sender.begin(route, 0).expect("there is room");
    end.sender.commit(0);
    end.sender.flush().expect("the link is good");
}

/// Counts the looks at a link.
struct Counted {
    below: Box<dyn Receiver>,
    polls: Arc<AtomicUsize>,
}

impl Receiver for Counted {
    fn poll(&mut self, limit: usize, deliver: &mut dyn FnMut(Route, Frame<'_>)) -> Result<usize, LinkError> {
        self.polls.fetch_add(1, Ordering::Relaxed);
        self.below.poll(limit, deliver)
    }
    fn has_frames(&self) -> bool {
        self.below.has_frames()
    }
    fn wait(&mut self, limit: Option<Duration>) {
        self.below.wait(limit);
    }
    fn set_spin(&mut self, spin: Duration) {
        self.below.set_spin(spin);
    }
    fn waker(&self) -> Arc<dyn Fn() + Send + Sync> {
        self.below.waker()
    }
    fn arm(&mut self) -> bool {
        self.below.arm()
    }
    fn disarm(&mut self) {
        self.below.disarm();
    }
    fn fd(&self) -> BorrowedFd<'_> {
        self.below.fd()
    }
}

/// A listener with links that were made before.
struct Ready(VecDeque<End>, std::os::fd::OwnedFd);

impl Ready {
    fn new(ends: impl IntoIterator<Item = End>) -> Box<Ready> {
        let fd = rustix::event::eventfd(1, rustix::event::EventfdFlags::CLOEXEC).expect("it is there");
        Box::new(Ready(ends.into_iter().collect(), fd))
    }
}

impl Listener for Ready {
    fn accept(&mut self) -> Result<Option<End>, NotAccepted> {
        Ok(self.0.pop_front())
    }
    fn fd(&self) -> BorrowedFd<'_> {
        self.1.as_fd()
    }
    fn address(&self) -> LinkAddress {
        LinkAddress::Unix("/nowhere".into())
    }
}

#[test]
fn a_stop_whose_ring_was_heard_by_a_turn_is_not_slept_through() {
    let (mut engine, mut inlets, mailbox) = node();
    mailbox.stop();
    // The loop saw no stop yet, and this turn empties the mailbox.
    assert!(!engine.turn(&mut inlets, Time(0)));
    assert!(!is_idle(&mut inlets));
}

#[test]
fn an_idle_node_has_a_turn_when_a_link_that_it_did_not_listen_for_ends() {
    let (mut engine, mut inlets, _mailbox) = node();
    let (near, far) = pair();
    inlets.attach(&mut engine, Time(0), NodeId(2), vec![(PORT, PORT)], near).expect("it is watched");
    assert!(!engine.turn(&mut inlets, Time(0)) && is_idle(&mut inlets));
    drop(far);
    let mut idle = Idle { inlets: &mut inlets, woken: false, failed: None };
    idle.sleep(None);
    assert!(idle.ready());
    assert!(engine.turn(&mut inlets, Time(0)) && !engine.is_linked(NodeId(2)) && inlets.active.is_empty());
}

#[test]
fn idle_links_are_not_looked_at_until_they_call() {
    const LINKS: u16 = 100;
    let (mut engine, mut inlets, _mailbox) = node();
    let polls = Arc::new(AtomicUsize::new(0));
    let mut far_ends: Vec<_> = (1..=LINKS)
        .map(|peer| {
            let (mut near, far) = pair();
            near.receiver = Box::new(Counted { below: near.receiver, polls: Arc::clone(&polls) });
            inlets
                .attach(&mut engine, Time(0), NodeId(peer), vec![(PORT, PORT)], near)
                .expect("it is watched");
            far
        })
        .collect();
    for _ in 0..=IDLE_TURNS {
        engine.turn(&mut inlets, Time(0));
    }
    let before = polls.load(Ordering::Relaxed);
    for _ in 0..1000 {
        assert!(!engine.turn(&mut inlets, Time(0)));
    }
    assert_eq!(polls.load(Ordering::Relaxed), before, "all of them rest");
    say(&mut far_ends[41], 42);
    inlets.attend();
    assert!(engine.turn(&mut inlets, Time(0)));
    assert_eq!(polls.load(Ordering::Relaxed), before + 1, "one has called, and no other is looked at");
    // A busy node looks whether anybody else calls, and hears of the end of a link too.
    drop(far_ends.pop());
    for _ in 0..=TURNS_BETWEEN_LOOKS {
        engine.turn(&mut inlets, Time(0));
    }
    assert!(!engine.is_linked(NodeId(LINKS)) && engine.is_linked(NodeId(1)));
}

#[test]
fn a_link_that_does_not_name_its_peer_in_time_is_dropped() {
    let (mut engine, mut inlets, _mailbox) = node();
    let (silent, mut silent_far) = pair();
    let (named, mut named_far) = pair();
    inlets.listen(Ready::new([silent, named]), PORT).expect("it is watched");
    say(&mut named_far, 7);
    assert!(engine.turn(&mut inlets, Time(0)) && engine.is_linked(NodeId(7)));
    let until = inlets.deadline().expect("there is one to wait for");
    engine.turn(&mut inlets, Time(until.0 - 1));
    assert_eq!(silent_far.receiver.poll(1, &mut |_, _| {}), Ok(0));
    engine.turn(&mut inlets, until);
    assert_eq!(silent_far.receiver.poll(1, &mut |_, _| {}), Err(LinkError::Closed));
    assert!(inlets.deadline().is_none() && engine.is_linked(NodeId(7)));
}

#[test]
fn a_link_that_was_not_heard_in_time_ends_as_if_it_were_cut() {
    let (mut engine, mut inlets, _mailbox) = node();
    let (near, mut far) = socket_pair();
    inlets.listen(Ready::new([near]), PORT).expect("it is watched");
    engine.turn(&mut inlets, Time(0));
    // It goes on with a session over this link, and this side stands still before it hears of it.
    say(&mut far, 7);
    let until = inlets.deadline().expect("there is one to wait for");
    engine.turn(&mut inlets, until);
    far.receiver.wait(None);
    assert_eq!(far.receiver.poll(1, &mut |_, _| {}), Err(LinkError::PeerDied), "so it may try again");
}

#[test]
fn of_many_links_that_say_nothing_none_is_dropped_before_its_time() {
    let (mut engine, mut inlets, _mailbox) = node();
    let (near, mut far): (Vec<End>, Vec<End>) = (0..80).map(|_| pair()).unzip();
    inlets.listen(Ready::new(near), PORT).expect("it is watched");
    engine.turn(&mut inlets, Time(0));
    assert_eq!(inlets.unnamed.len(), far.len());
    for (peer, end) in (1..).zip(&mut far) {
        say(end, peer);
    }
    engine.turn(&mut inlets, Time(1));
    assert!((1..=80).all(|peer| engine.is_linked(NodeId(peer))) && inlets.unnamed.is_empty());
}

#[test]
fn a_second_link_of_a_node_is_closed() {
    let (mut engine, mut inlets, _mailbox) = node();
    let (first, mut first_far) = pair();
    let (second, mut second_far) = pair();
    inlets.listen(Ready::new([first, second]), PORT).expect("it is watched");
    say(&mut first_far, 7);
    say(&mut second_far, 7);
    engine.turn(&mut inlets, Time(0));
    assert_eq!(first_far.receiver.poll(1, &mut |_, _| {}), Ok(0));
    assert_eq!(second_far.receiver.poll(1, &mut |_, _| {}), Err(LinkError::Closed));
}

/// Both ends of a link that may be cut.
fn socket_pair() -> (End, End) {
    let (near, far) = std::os::unix::net::UnixStream::pair().expect("two sockets");
    let end = |socket: std::os::unix::net::UnixStream| {
        quintet_link::over_stream(socket.into(), quintet_link::Checksums::Without).expect("it is watched")
    };
    (end(near), end(far))
}

#[test]
fn who_is_back_before_its_cut_was_seen_waits_for_the_end_of_its_old_link() {
    let (mut engine, mut inlets, _mailbox) = node();
    let (first, mut first_far) = socket_pair();
    let (second, mut second_far) = socket_pair();
    inlets.listen(Ready::new([first, second]), PORT).expect("it is watched");
    say(&mut first_far, 7);
    say(&mut second_far, 7);
    for _ in 0..3 {
        inlets.attend();
        engine.turn(&mut inlets, Time(0));
    }
    assert_eq!(inlets.rivals.len(), 1, "nobody is put out for it");
    assert!(is_idle(&mut inlets), "and it keeps nobody awake");
    drop(first_far);
    for _ in 0..3 {
        inlets.attend();
        engine.turn(&mut inlets, Time(1));
    }
    assert!(inlets.rivals.is_empty() && engine.is_linked(NodeId(7)));
    assert_eq!(second_far.receiver.poll(1, &mut |_, _| {}), Ok(0), "it is the link now");
}

#[test]
fn a_link_that_waits_beside_one_that_lives_ends_as_if_it_were_cut() {
    let (mut engine, mut inlets, _mailbox) = node();
    let (first, mut first_far) = socket_pair();
    let (second, mut second_far) = socket_pair();
    inlets.listen(Ready::new([first, second]), PORT).expect("it is watched");
    say(&mut first_far, 7);
    say(&mut second_far, 7);
    engine.turn(&mut inlets, Time(0));
    inlets.attend();
    engine.turn(&mut inlets, Time(0));
    let until = inlets.deadline().expect("it does not wait for ever");
    engine.turn(&mut inlets, until);
    assert!(inlets.rivals.is_empty() && engine.is_linked(NodeId(7)));
    second_far.receiver.wait(None);
    assert_eq!(second_far.receiver.poll(1, &mut |_, _| {}), Err(LinkError::PeerDied), "so it may try again");
    assert_eq!(first_far.receiver.poll(1, &mut |_, _| {}), Ok(0));
}

#[test]
fn a_link_that_was_cut_is_not_made_again_once_the_program_has_closed() {
    let folder = quintet_testbed::TempDir::new().expect("a temporary directory");
    let address = LinkAddress::Unix(folder.join("socket"));
    let mut listener = quintet_link::listen(&address).expect("the folder is there");
    let mut engine = Engine::new(NodeId(1), Some(Slots::default()), RunningServices::default());
    let mut inlets = Inlets::new(LiveClock::start());
    inlets.fd().expect("an epoll descriptor is there");
    let (near, far) = socket_pair();
    inlets.attach(&mut engine, Time(0), NodeId(0), vec![(PORT, PORT)], near).expect("it is watched");
    engine.depend_on(NodeId(0), crate::engine::Redials::WhenCut);
    let redial = Redial { address, window: Duration::from_secs(10), seed: 0 };
    inlets.dial(Dialling::new(NodeId(0), vec![(PORT, PORT)], redial));
    drop(far.receiver);
    let mut sender = far.sender;
    sender.abandon();
    drop(sender);
    while engine.is_linked(NodeId(0)) {
        engine.turn(&mut inlets, Time(0));
    }
    assert!(inlets.deadline().is_some(), "it is to be made again");
    engine.close(LiveClock::start(), PORT, &[]);
    engine.turn(&mut inlets, Time(0));
    assert!(inlets.deadline().is_none() && listener.accept().expect("nobody connects").is_none());
}

#[test]
fn a_link_whose_first_frame_is_for_somebody_else_or_no_word_is_turned_away() {
    let (mut engine, mut inlets, _mailbox) = node();
    let strays = [Address { node: NodeId(9), port: PORT }, Address { node: NodeId(0), port: Port(17) }];
    let (mut fars, mut nears) = (Vec::new(), Vec::new());
    for to in strays {
        let (near, mut far) = pair();
        say_to(&mut far, 5, to);
        nears.push(near);
        fars.push(far);
    }
    let (near, mut far) = pair();
    let from = Address { node: NodeId(5), port: PORT };
    let route =
        Route { from, to: Address { node: NodeId(0), port: PORT }, kind: Kind(0xf0), token: Token(1) };
    far.sender.send_bulk(route, b"word", Bytes::from_static(b"more")).expect("there is room");
    far.sender.flush().expect("the link is good");
    nears.push(near);
    fars.push(far);
    inlets.listen(Ready::new(nears), PORT).expect("it is watched");
    while engine.turn(&mut inlets, Time(0)) {}
    assert!(!engine.is_linked(NodeId(5)) && inlets.unnamed.is_empty());
    for far in &mut fars {
        assert_eq!(far.receiver.poll(1, &mut |_, _| {}), Err(LinkError::Closed));
    }
}

/// A receiver whose descriptor the system does not watch.
struct Unwatchable(Box<dyn Receiver>, std::fs::File);

impl Receiver for Unwatchable {
    fn poll(&mut self, limit: usize, deliver: &mut dyn FnMut(Route, Frame<'_>)) -> Result<usize, LinkError> {
        self.0.poll(limit, deliver)
    }
    fn has_frames(&self) -> bool {
        self.0.has_frames()
    }
    fn wait(&mut self, limit: Option<Duration>) {
        self.0.wait(limit);
    }
    fn set_spin(&mut self, spin: Duration) {
        self.0.set_spin(spin);
    }
    fn waker(&self) -> Arc<dyn Fn() + Send + Sync> {
        self.0.waker()
    }
    fn arm(&mut self) -> bool {
        self.0.arm()
    }
    fn disarm(&mut self) {
        self.0.disarm();
    }
    fn fd(&self) -> BorrowedFd<'_> {
        self.1.as_fd()
    }
}

#[test]
fn a_link_that_the_system_does_not_watch_ends_as_if_it_were_cut() {
    let (mut engine, mut inlets, _mailbox) = node();
    let (near, mut far) = std::os::unix::net::UnixStream::pair().expect("two sockets");
    let mut near = over_stream(near.into(), Checksums::Without).expect("descriptors");
    // Nothing can be waited for at a plain file.
    let file = std::fs::File::open("/proc/self/exe").expect("it runs");
    near.receiver = Box::new(Unwatchable(near.receiver, file));
    inlets.listen(Ready::new([near]), PORT).expect("it is watched");
    engine.turn(&mut inlets, Time(0));
    let mut said = Vec::new();
    far.read_to_end(&mut said).expect("the link has ended");
    assert!(said.is_empty(), "a farewell would end the session: {said:?}");
}

#[test]
fn a_second_link_to_a_node_is_refused_and_the_first_stays() {
    let (mut engine, mut inlets, _mailbox) = node();
    let ((near, _far), (second, mut far)) = (pair(), pair());
    inlets.attach(&mut engine, Time(0), NodeId(2), vec![(PORT, PORT)], near).expect("it is watched");
    let refused = inlets.attach(&mut engine, Time(0), NodeId(2), vec![(PORT, PORT)], second);
    assert_eq!(refused.map_err(|error| error.kind()), Err(io::ErrorKind::AlreadyExists));
    let polled = far.receiver.poll(1, &mut |_, _| {});
    assert!(matches!(polled, Err(LinkError::Closed)), "{polled:?}");
    let own = inlets.attach(&mut engine, Time(0), NodeId(0), vec![(PORT, PORT)], pair().0);
    assert_eq!(own.map_err(|error| error.kind()), Err(io::ErrorKind::AlreadyExists));
    engine.turn(&mut inlets, Time(0));
    assert!(engine.is_linked(NodeId(2)) && inlets.inlets.len() == 1);
}

#[test]
fn what_a_link_that_is_over_does_harms_no_other_to_its_node() {
    let (mut engine, mut inlets, _mailbox) = node();
    let (near, _far) = pair();
    inlets.attach(&mut engine, Time(0), NodeId(2), vec![(PORT, PORT)], near).expect("it is watched");
    let earlier = (NodeId(2), LinkId(0));
    engine.fail(Time(0), earlier, &LinkError::PeerDied);
    engine.cut(Time(0), earlier);
    assert!(engine.is_linked(NodeId(2)));
}

/// Takes every first frame for one that goes on.
struct Resumed;

impl Protocol for Resumed {
    fn handle(&mut self, _now: Time, _input: Input<'_>, _out: &mut dyn Outbox) {}
    fn deadline(&self) -> Option<Time> {
        None
    }
    fn is_resumed_by(&self, _from: Address, _frame: Frame<'_>) -> bool {
        true
    }
}

#[test]
fn a_link_that_gave_way_and_fails_at_once_does_not_take_the_new_one_with_it() {
    let (mut engine, mut inlets, _mailbox) = node();
    engine.add(Time(0), PORT, Instance::new(Resumed));
    let ((old, mut old_far), (new, mut new_far)) = (socket_pair(), socket_pair());
    inlets.listen(Ready::new([new]), PORT).expect("it is watched");
    inlets.attach(&mut engine, Time(0), NodeId(5), vec![(PORT, PORT)], old).expect("it is watched");
    while engine.turn(&mut inlets, Time(0)) {}
    say(&mut new_far, 5);
    old_far.sender.abandon();
    drop(old_far);
    // Both have something, and the new one is looked at first.
    [1, 0].into_iter().for_each(|at| inlets.activate(at));
    while engine.turn(&mut inlets, Time(0)) {}
    assert!(engine.is_linked(NodeId(5)));
    assert_eq!(new_far.receiver.poll(1, &mut |_, _| {}), Ok(0), "it lives");
}

/// A socket at which there is always more, and how many frames were asked for.
struct Endless(Counted, std::sync::mpsc::Sender<usize>, bool);

impl Receiver for Endless {
    fn poll(&mut self, limit: usize, _: &mut dyn FnMut(Route, Frame<'_>)) -> Result<usize, LinkError> {
        self.1.send(limit).expect("it listens");
        Ok(limit)
    }
    fn has_frames(&self) -> bool {
        true
    }
    fn is_free_to_look_at(&self) -> bool {
        self.2
    }
    fn wait(&mut self, limit: Option<Duration>) {
        self.0.wait(limit);
    }
    fn set_spin(&mut self, spin: Duration) {
        self.0.set_spin(spin);
    }
    fn waker(&self) -> Arc<dyn Fn() + Send + Sync> {
        self.0.waker()
    }
    fn arm(&mut self) -> bool {
        self.0.arm()
    }
    fn disarm(&mut self) {
        self.0.disarm();
    }
    fn fd(&self) -> BorrowedFd<'_> {
        self.0.fd()
    }
}

#[test]
fn more_frames_are_taken_at_once_from_a_socket_that_is_busy_alone() {
    let (mut engine, mut inlets, _mailbox) = node();
    let (tell, told) = std::sync::mpsc::channel();
    let attach = |engine: &mut Engine, inlets: &mut Inlets, node: u16, is_free: bool| {
        let (near, far) = pair();
        let below = Counted { below: near.receiver, polls: Arc::default() };
        let end = End { receiver: Box::new(Endless(below, tell.clone(), is_free)), ..near };
        inlets.attach(engine, Time::ZERO, NodeId(node), Vec::new(), end).expect("it is watched");
        far
    };
    let turns = |engine: &mut Engine, inlets: &mut Inlets, count: usize| {
        (0..count).for_each(|_| assert!(inlets.receive(engine, Time::ZERO)));
        told.try_iter().collect::<Vec<usize>>()
    };
    let _one = attach(&mut engine, &mut inlets, 1, false);
    assert_eq!(turns(&mut engine, &mut inlets, 4), [64, 128, 256, 256]);
    let _other = attach(&mut engine, &mut inlets, 2, false);
    let shared = turns(&mut engine, &mut inlets, 3);
    assert!(shared[1..].iter().all(|frames| *frames == 64), "{shared:?}");
    let (mut engine, mut inlets, _mailbox) = node();
    let _third = attach(&mut engine, &mut inlets, 1, true);
    assert_eq!(turns(&mut engine, &mut inlets, 4), [64; 4], "where a look is free");
}
