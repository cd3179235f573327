use super::*;
use crate::codec::{DELIVERED, EXECUTED, Executed, Ordered, PART, Part, SUBMIT, write_marker};
use crate::isochron::{Isochron, Operation};
use crate::isonet::Isonet;
use crate::logical_time::{Pulse, Rank};
use quintet_contract::{DownCause, Effect, Effects, OwnedFrame};
use quintet_wire::encode_to_vec;
use quintet_wire::registry::PORT_CALLERS;
use std::collections::{BTreeMap, VecDeque};

/// Three members, of which the first keeps the pulse.
fn member(me: u16) -> Member {
    let topology = Topology::lan(NodeId(0), &[0, 1, 2].map(NodeId)).expect("it has nodes");
    let isonet = Arc::new(Isonet::new(topology, BTreeMap::new()).expect("it has no variable"));
    let config = NodeConfig::new(NodeId(me), callers(me), View(1), isonet);
    Member::new(NodeConfig { managers_from: Some(NodeId(0)), ..config })
}

const fn callers(me: u16) -> Address {
    Address { node: NodeId(me), port: PORT_CALLERS }
}

const fn peer(number: u16) -> Address {
    node_at(NodeId(number))
}

/// What comes of an input: frames, and who is cut off.
fn give(member: &mut Member, input: Input<'_>) -> (Vec<(Address, OwnedFrame)>, Vec<Address>) {
    let mut out = Effects::default();
    member.handle(Time(1), input, &mut out);
    let (mut frames, mut cut_off) = (Vec::new(), Vec::new());
    for effect in out.drain() {
        match effect {
            Effect::Sent(to, frame) => frames.push((to, frame)),
            Effect::Disconnected(peer, _) => cut_off.push(peer),
            _ => {}
        }
    }
    (frames, cut_off)
}

fn frames(member: &mut Member, from: Address, kind: Kind, body: &[u8]) -> Vec<(Address, OwnedFrame)> {
    let token = if kind == PART { Token(1) } else { Token(9) };
    give(member, Input::Frame(from, Frame::new(kind, token, body))).0
}

/// An isochron with a message to each of these.
fn messages(to: &[u16]) -> Vec<u8> {
    let send = |to: &u16| Operation::Send { to: NodeId(*to), handler: 7, bytes: Bytes::from_static(b"x") };
    encode_to_vec(&Isochron { operations: to.iter().map(send).collect() })
}

/// The same submitted, and the end of the burst.
fn submit(member: &mut Member, to: &[u16]) -> Vec<(Address, OwnedFrame)> {
    let callers = Address { node: member.me, port: PORT_CALLERS };
    let mut said = frames(member, callers, SUBMIT, &messages(to));
    said.extend(give(member, Input::Wake).0);
    said
}

fn kinds(frames: &[(Address, OwnedFrame)]) -> Vec<(Address, Kind)> {
    frames.iter().map(|(to, frame)| (*to, frame.kind)).collect()
}

#[test]
fn what_the_two_say_to_each_other_stays_inside() {
    let mut member = member(0);
    assert_eq!(kinds(&submit(&mut member, &[0, 1])), [(peer(1), PART)], "the announcement went nowhere");
    let received = [&1u32.to_le_bytes()[..], &0u16.to_le_bytes(), &1u64.to_le_bytes()].concat();
    assert_eq!(frames(&mut member, peer(1), RECEIVED, &received), []);
    assert_eq!(member.deadline(), Some(Time(1)), "the pulse ends with the burst");
    let told = kinds(&give(&mut member, Input::Wake).0);
    assert_eq!(told, [(peer(1), MARKERS), (callers(0), DELIVERED)]);
    assert_eq!((member.deadline(), member.manager().pulse()), (None, Pulse(1)));
}

#[test]
fn whom_a_member_waits_for_is_told_until_each_has_answered() {
    let wait = |unanswered, unreceived| {
        let since = (unanswered > 0).then_some(Time(1));
        Wait { unanswered, since, unreceived }
    };
    let mut first = member(0);
    assert_eq!(first.waits(), BTreeMap::from([(NodeId(1), wait(0, 0)), (NodeId(2), wait(0, 0))]));
    submit(&mut first, &[0, 1, 2]);
    assert_eq!(first.waits(), BTreeMap::from([(NodeId(1), wait(1, 1)), (NodeId(2), wait(1, 1))]));
    let received = [&1u32.to_le_bytes()[..], &0u16.to_le_bytes(), &1u64.to_le_bytes()].concat();
    frames(&mut first, peer(1), RECEIVED, &received);
    assert_eq!(first.waits(), BTreeMap::from([(NodeId(1), wait(1, 0)), (NodeId(2), wait(1, 1))]));
    let mut second = member(1);
    submit(&mut second, &[2]);
    assert_eq!(second.waits()[&NodeId(2)], wait(1, 0), "another one keeps the pulse");
}

#[test]
fn what_others_are_told_goes_to_their_one_address() {
    let mut first = member(0);
    assert_eq!(kinds(&submit(&mut first, &[1])), [(peer(1), PART), (peer(1), MARKERS)], "it was announced");
    let mut second = member(1);
    assert_eq!(kinds(&submit(&mut second, &[2])), [(peer(2), PART), (peer(0), ANNOUNCE)]);
    assert_eq!(second.manager().view(), View(0), "another one keeps the pulse");
}

#[test]
fn what_comes_of_the_one_address_is_for_whom_its_kind_says() {
    let (mut first, mut second) = (member(0), member(1));
    let announced =
        submit(&mut second, &[0]).into_iter().find(|(_, frame)| frame.kind == ANNOUNCE).expect("it is");
    assert_eq!(frames(&mut first, peer(1), ANNOUNCE, &announced.1.body), []);
    let body = encode_to_vec(&Part {
        view: View(1),
        rank: Rank(1),
        operations: [Operation::Send { to: NodeId(0), handler: 7, bytes: Bytes::from_static(b"x") }].into(),
    });
    frames(&mut first, peer(1), PART, &body);
    let told = kinds(&give(&mut first, Input::Wake).0);
    assert!(told.contains(&(callers(0), DELIVERED)), "{told:?}");
    assert!(told.contains(&(peer(1), EXECUTED)), "{told:?}");
}

#[test]
fn who_sends_markers_and_keeps_no_pulse_is_cut_off_and_named() {
    let mut second = member(1);
    let mut body = 1u32.to_le_bytes().to_vec();
    write_marker(&Ordered { pulse: Pulse(1), sender: NodeId(2), rank: Rank(1) }, &mut body);
    let came = give(&mut second, Input::Frame(peer(2), Frame::new(MARKERS, Token(0), &body)));
    assert_eq!(came.1, [peer(2)]);
    let halt = second.node().halt().expect("it has stopped");
    assert_eq!((halt.node, halt.cause), (NodeId(2), crate::HaltCause::Misbehaved));
}

#[test]
fn who_says_that_it_executed_something_at_another_time_than_it_was_told_is_named() {
    let mut member = member(0);
    submit(&mut member, &[0, 1]);
    let received = [&1u32.to_le_bytes()[..], &0u16.to_le_bytes(), &1u64.to_le_bytes()].concat();
    frames(&mut member, peer(1), RECEIVED, &received);
    let forged = Executed { view: View(1), pulse: Pulse(9), values: Vec::new() };
    let forged = encode_to_vec(&forged);
    let frame = Frame::new(EXECUTED, Token(1), &forged);
    assert_eq!(give(&mut member, Input::Frame(peer(1), frame)).1, [], "nobody knows better yet");
    assert_eq!(give(&mut member, Input::Wake).1, [peer(1)]);
    assert_eq!(member.node().halt().map(|halt| halt.node), Some(NodeId(1)));
}

#[test]
fn who_refuses_connections_is_given_up_and_missed_once_its_session_has_ended() {
    let mut member = member(1);
    let news = |is_refused| encode_to_vec(&LinkNews { node: NodeId(2), is_refused });
    let mut tell =
        |from, kind, body: &[u8]| give(&mut member, Input::Frame(from, Frame::new(kind, Token(0), body)));
    assert_eq!(tell(links_of(NodeId(1)), LINK_NEWS, &news(false)), (vec![], vec![]));
    assert_eq!(tell(links_of(NodeId(1)), LINK_NEWS, &[1]), (vec![], vec![]));
    assert_eq!(tell(links_of(NodeId(1)), PART, &news(true)), (vec![], vec![]));
    assert_eq!(tell(links_of(NodeId(1)), LINK_NEWS, &news(true)), (vec![], vec![peer(2)]));
    assert_eq!(member.node().halt(), None);
}

#[test]
fn who_is_gone_is_gone_for_both_and_the_lowest_of_the_others_keeps_the_pulse() {
    let mut members = [member(1), member(2)];
    let down = PeerChange::Down(DownCause::Died);
    let mut under_way = VecDeque::new();
    for member in &mut members {
        let said = give(member, Input::Peer(peer(0), &down)).0;
        under_way.extend(said.into_iter().map(|(to, frame)| (member.me, to, frame)));
    }
    while let Some((from, to, frame)) = under_way.pop_front() {
        let there = members.iter_mut().find(|member| node_at(member.me) == to);
        if let Some(member) = there {
            let said = give(member, Input::Frame(node_at(from), frame.borrow())).0;
            under_way.extend(said.into_iter().map(|(to, frame)| (member.me, to, frame)));
        }
    }
    assert_eq!(members.each_ref().map(|member| member.node().view()), [View(2), View(2)]);
    assert_eq!(members.each_ref().map(|member| member.manager().view()), [View(2), View(0)]);
    let [second, third] = &mut members;
    assert_eq!(kinds(&submit(third, &[1])), [(peer(1), PART), (peer(1), ANNOUNCE)]);
    assert_eq!(kinds(&submit(second, &[2])), [(peer(2), PART), (peer(2), MARKERS)]);
}

#[test]
fn pulses_and_markers_are_counted_and_how_far_apart_they_are() {
    let mut member = member(0);
    for at in [10, 30, 70] {
        let (mut out, body) = (Effects::default(), messages(&[1]));
        let asked = Input::Frame(callers(0), Frame::new(SUBMIT, Token(at), &body));
        [asked, Input::Wake].into_iter().for_each(|input| member.handle(Time(at), input, &mut out));
    }
    frames(&mut member, callers(0), SUBMIT, b"no isochron");
    let counters = member.counters();
    assert_eq!((counters.begun, counters.operations, counters.refused), (3, 3, 1));
    assert_eq!((counters.stamped, counters.pulses, counters.tokens), (3, 3, 0));
    assert_eq!((counters.markers, counters.marker_frames), (3, 3));
    let intervals = &counters.pulse_intervals;
    let ns = core::time::Duration::from_nanos;
    assert_eq!((intervals.count(), intervals.shortest(), intervals.longest()), (2, ns(20), ns(40)));
    assert_eq!((counters.executed, counters.lost), (0, 0), "nobody has answered");
}
