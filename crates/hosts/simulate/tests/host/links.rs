//! One link between two nodes, for all the ports that it joins.

use super::at;
use quintet_contract::{
    Address, Bytes, Disconnect, DownCause, Input, Kind, NodeId, Outbox, OwnedFrame, PeerChange, Port,
    Protocol, SendError, Span, Time, Token,
};
use quintet_simulate::device::{Bus, BusParameters, Framing, Station};
use quintet_simulate::{LinkModel, Picos, Restart, Simulation};
use quintet_wire::registry::USER;

/// Sent to the peer that the token's lower half names, a port.
const SAY: Kind = USER.kind(0);
/// What was said.
const WORD: Kind = USER.kind(1);
/// Has the link closed.
const CLOSE: Kind = USER.kind(2);

const ONE: NodeId = NodeId(1);
const OTHER: NodeId = NodeId(2);
/// Three pairs of ports, no two of them alike.
const PAIRS: [(Port, Port); 3] = [(Port(10), Port(20)), (Port(11), Port(21)), (Port(12), Port(22))];

/// What an instance saw, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Seen {
    Up(Address),
    Down(Address, DownCause),
    Word(Address, u64),
    Refused(SendError),
    Room(Address),
}

/// Says what it is told to, and notes what it sees.
#[derive(Default)]
struct Talker {
    seen: Vec<(Time, Seen)>,
}

impl Protocol for Talker {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        let seen = match input {
            Input::Started | Input::Wake => return,
            Input::Writable(to) => Seen::Room(to),
            Input::Peer(peer, PeerChange::Up { .. }) => Seen::Up(peer),
            Input::Peer(peer, PeerChange::Down(cause)) => Seen::Down(peer, *cause),
            Input::Frame(from, frame) if frame.kind == WORD => Seen::Word(from, frame.token.0),
            Input::Frame(_, frame) if frame.kind == CLOSE => {
                return out.disconnect(address(frame.token), Disconnect::ForGood);
            }
            Input::Frame(_, frame) => match out.send(address(frame.token), WORD, frame.token, &[]) {
                Ok(()) => return,
                Err(error) => Seen::Refused(error),
            },
        };
        self.seen.push((now, seen));
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

fn address(token: Token) -> Address {
    Address::new((token.0 >> 16) as u16, token.0 as u16)
}

/// The token that names an address.
fn named(to: Address) -> u64 {
    u64::from(to.node.0) << 16 | u64::from(to.port.0)
}

fn ends((here, there): (Port, Port)) -> (Address, Address) {
    (Address { node: ONE, port: here }, Address { node: OTHER, port: there })
}

/// Instances at all ports of the pairs.
fn talkers(run: &mut Simulation) {
    for (here, there) in PAIRS.map(ends) {
        run.add(here, Talker::default());
        run.add(there, Talker::default());
    }
}

/// Two nodes with a link that takes 10 us.
fn linked(model: LinkModel) -> Simulation {
    let mut run = Simulation::new(1);
    talkers(&mut run);
    let delay = Span::from_micros(10);
    run.attach(ONE, OTHER, &PAIRS, LinkModel { delay_min: delay, delay_max: delay, ..model });
    run.run_for(Span::from_micros(1));
    run
}

fn tell(run: &mut Simulation, at: Address, kind: Kind, to: Address) {
    let (body, bulk) = (Bytes::new(), Bytes::new());
    run.inject(at, OwnedFrame { kind, token: Token(named(to)), body, bulk });
}

/// What the instance at an address has seen since this was last asked.
fn take(run: &mut Simulation, at: Address) -> Vec<Seen> {
    let talker = run.get_mut::<Talker>(at).expect("it was added");
    talker.seen.drain(..).map(|(_, seen)| seen).collect()
}

/// Forgets what all have seen so far.
fn forget(run: &mut Simulation) {
    for (here, there) in PAIRS.map(ends) {
        [here, there].into_iter().for_each(|at| drop(take(run, at)));
    }
}

/// All have seen this of their peers since they were last asked, those of the first node and of the other one.
fn check(run: &mut Simulation, one: impl Fn(Address) -> Vec<Seen>, other: impl Fn(Address) -> Vec<Seen>) {
    for (here, there) in PAIRS.map(ends) {
        assert_eq!(take(run, here), one(there), "at {here:?}");
        assert_eq!(take(run, there), other(here), "at {there:?}");
    }
}

#[test]
fn every_pair_that_a_link_joins_is_told_of_it() {
    let mut run = linked(LinkModel::default());
    let up = |peer| vec![Seen::Up(peer)];
    check(&mut run, up, up);
    run.crash(ONE, Span::from_micros(5));
    run.run_for(Span::from_micros(10));
    let died = |peer| vec![Seen::Down(peer, DownCause::Died)];
    check(&mut run, |_| vec![], died);
    run.restart(ONE, Restart::WithMemory);
    run.run_for(Span::from_micros(10));
    check(&mut run, |peer| [died(peer), up(peer)].concat(), up);
    run.tell_cut(OTHER, ONE);
    run.run_for(Span::from_micros(10));
    check(&mut run, |_| vec![], died);
    run.connect_again(ONE, OTHER, LinkModel::default());
    run.run_for(Span::from_micros(10));
    check(&mut run, up, up);
}

#[test]
fn a_link_that_one_host_has_made_is_told_to_its_own_side_and_loses_all_but_its_first_word() {
    let mut run = linked(LinkModel::default());
    forget(&mut run);
    let (here, there) = ends(PAIRS[0]);
    tell(&mut run, there, SAY, here);
    run.run_for(Span::from_micros(1));
    run.dial(ONE, OTHER);
    run.run_for(Span::from_micros(1));
    let up = |peer| vec![Seen::Up(peer)];
    check(&mut run, up, |_| vec![]);
    assert_eq!(run.first_word(ONE, OTHER), None);
    (0..2).for_each(|_| tell(&mut run, here, SAY, there));
    tell(&mut run, there, SAY, here);
    run.run_for(Span::from_millis(1));
    check(&mut run, |_| vec![], |_| vec![]);
    assert_eq!(run.first_word(ONE, OTHER).map(|frame| frame.kind), Some(WORD));
    assert_eq!(run.first_word(OTHER, ONE), None);
    run.connect_again(ONE, OTHER, LinkModel::default());
    run.run_for(Span::from_micros(10));
    check(&mut run, up, up);
    assert_eq!(run.first_word(ONE, OTHER), None, "it is another link");
    tell(&mut run, here, SAY, there);
    run.run_for(Span::from_millis(1));
    assert_eq!(take(&mut run, there), [Seen::Word(here, named(there))]);
}

#[test]
fn what_one_instance_closes_is_closed_for_all() {
    let mut run = linked(LinkModel::default());
    forget(&mut run);
    let [(first, its_peer), (second, _), (_, third)] = PAIRS.map(ends);
    tell(&mut run, third, SAY, first);
    run.run_for(Span::from_micros(1));
    tell(&mut run, second, SAY, third);
    tell(&mut run, first, CLOSE, its_peer);
    run.run_for(Span::from_micros(1));
    tell(&mut run, second, SAY, third);
    run.run_for(Span::from_micros(100));
    let saw = [first, second, third].map(|at| take(&mut run, at));
    let misbehaved = |peer| Seen::Down(peer, DownCause::Misbehaved);
    assert_eq!(saw[0], [misbehaved(its_peer)], "what was under way from the peer is not shown");
    let [_, (_, second_peer), (third_peer, _)] = PAIRS.map(ends);
    assert_eq!(saw[1], [misbehaved(second_peer), Seen::Refused(SendError::Unreachable)]);
    let last = [Seen::Word(second, named(third)), Seen::Down(third_peer, DownCause::Closed)];
    assert_eq!(saw[2], last, "what departed before still arrives");
    assert!(run.is_closed(ONE, OTHER) && run.is_closed(OTHER, ONE));
    run.attach(ONE, OTHER, &PAIRS, LinkModel::default());
    run.run_for(Span::from_micros(1));
    assert_eq!(take(&mut run, second), [Seen::Up(second_peer)]);
}

#[test]
fn a_cut_cuts_all() {
    let mut run = linked(LinkModel::default());
    forget(&mut run);
    run.set_cut(ONE, OTHER, true);
    for (here, there) in PAIRS.map(ends) {
        tell(&mut run, here, SAY, there);
        tell(&mut run, there, SAY, here);
    }
    run.run_for(Span::from_micros(100));
    check(&mut run, |peer| vec![Seen::Word(peer, word_to(peer))], |_| vec![]);
}

/// The word that a peer says to the one of the first node that it is joined with.
fn word_to(peer: Address) -> u64 {
    let pair = PAIRS.map(ends).into_iter().find(|(_, there)| *there == peer);
    named(pair.expect("it is joined with one").0)
}

#[test]
fn all_ports_share_a_links_room_and_each_that_was_refused_is_told_once_in_order() {
    let mut run = linked(LinkModel { window_frames: 2, ..LinkModel::default() });
    forget(&mut run);
    let [first, second, third] = PAIRS.map(ends);
    for (here, there) in [first, second, third, first, third] {
        tell(&mut run, here, SAY, there);
    }
    run.run_for(Span::from_micros(9));
    let full = Seen::Refused(SendError::Full);
    assert_eq!(take(&mut run, first.0), [full]);
    assert_eq!(take(&mut run, second.0), []);
    assert_eq!(take(&mut run, third.0), [full, full]);
    run.run_for(Span::from_micros(9));
    assert_eq!(take(&mut run, first.0), [Seen::Room(first.1)]);
    assert_eq!(take(&mut run, second.0), []);
    assert_eq!(take(&mut run, third.0), [Seen::Room(third.1)]);
    // The other direction has room of its own.
    tell(&mut run, first.1, SAY, first.0);
    run.run_for(Span::from_micros(100));
    assert_eq!(take(&mut run, first.0), [Seen::Word(first.1, named(first.0))]);
}

#[test]
fn frames_of_all_ports_stay_in_order() {
    for seed in 0..50 {
        let mut run = Simulation::new(seed);
        // One instance hears all of them, and so the order among them.
        let hears = Address { node: OTHER, port: Port(20) };
        run.add(hears, Talker::default());
        for (here, _) in PAIRS {
            run.add(Address { node: ONE, port: here }, Talker::default());
        }
        run.attach(ONE, OTHER, &PAIRS, LinkModel { delay_max: Span::from_millis(1), ..LinkModel::default() });
        run.run_for(Span::from_millis(1));
        let mut said = Vec::new();
        for count in 0..30 {
            let from = Address { node: ONE, port: PAIRS[count * 7 % 3].0 };
            tell(&mut run, from, SAY, hears);
            said.push(Seen::Word(from, named(hears)));
            run.run_for(Span::from_micros(10));
        }
        run.run_for(Span::from_millis(10));
        let heard: Vec<_> =
            take(&mut run, hears).into_iter().filter(|seen| matches!(seen, Seen::Word(..))).collect();
        assert_eq!(heard, said, "seed {seed}");
    }
}

#[test]
fn a_link_carries_also_between_ports_that_it_does_not_join_and_to_none() {
    let mut run = linked(LinkModel { window_frames: 1, ..LinkModel::default() });
    forget(&mut run);
    let [(first, _), _, (_, third)] = PAIRS.map(ends);
    let nobody = Address { node: OTHER, port: Port(99) };
    tell(&mut run, first, SAY, nobody);
    run.run_for(Span::from_micros(100));
    tell(&mut run, first, SAY, third);
    run.run_for(Span::from_micros(100));
    assert_eq!(take(&mut run, third), [Seen::Word(first, named(third))], "there is room again");
    assert_eq!(take(&mut run, first), [], "nobody is told that nobody heard it");
    tell(&mut run, first, SAY, at(3));
    run.run_for(Span::from_micros(100));
    assert_eq!(take(&mut run, first), [Seen::Refused(SendError::Unreachable)], "a node without a link");
}

#[test]
fn all_ports_share_a_device_in_its_order() {
    let mut run = Simulation::new(1);
    talkers(&mut run);
    let framing = Framing::serial(8_000_000);
    let bus = Bus::new(BusParameters { framing, stations: 2 }).expect("the parameters are possible");
    let device = run.add_device(Box::new(bus));
    run.attach_through(device, (ONE, Station(0)), (OTHER, Station(1)), &PAIRS);
    for (here, there) in PAIRS.map(ends) {
        tell(&mut run, here, SAY, there);
    }
    run.run_to(Picos(1_000_000_000));
    let words: Vec<_> =
        PAIRS.map(ends).map(|(_, there)| run.get::<Talker>(there).map(|talker| talker.seen.clone())).into();
    let times: Vec<_> = words.into_iter().flatten().map(|seen| seen.last().copied()).collect();
    let heard = PAIRS.map(ends).map(|(here, there)| Seen::Word(here, named(there)));
    assert_eq!(times.iter().flatten().map(|(_, seen)| *seen).collect::<Vec<_>>(), heard);
    assert!(times.is_sorted_by_key(|seen| seen.map(|(time, _)| time)), "{times:?}");
}

#[test]
#[should_panic(expected = "name all pairs in one call")]
fn a_second_link_for_other_ports_is_a_mistake() {
    let mut run = linked(LinkModel::default());
    let (one, other) = ends(PAIRS[0]);
    run.connect(one, other, LinkModel::default());
}
