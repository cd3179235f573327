use super::*;
use crate::codec::{FAREWELL, Farewell};
use crate::isonet::Isonet;
use crate::limits::MAX_UNEXECUTED;
use crate::logical_time::Rank;
use crate::topology::Topology;
use quintet_contract::{Bytes, DownCause, Effect, Effects, Kind, Stage};
use quintet_wire::{Decode as _, encode_to_vec};
use std::sync::Arc;

const LEFT: Address = Address { node: NodeId(10), port: PORT_TOKEN_MANAGER };
const RIGHT: Address = Address { node: NodeId(11), port: PORT_TOKEN_MANAGER };

fn node(number: u16) -> Address {
    Address { node: NodeId(number), port: PORT_ISOTACH }
}

/// The manager of the switch in the middle: nodes 0 and 1 here, node 2 beyond the left switch, node 3 beyond the right one.
fn manager() -> TokenManager {
    let text = "switch left at 10: 2\nswitch here at 12: 0 1\nswitch right at 11: 3\nwire left here\nwire here right\n";
    let topology = Topology::parse(text).expect("it is a tree");
    let isonet = Isonet::new(topology, BTreeMap::new()).expect("nothing is shared");
    let isonet = Arc::new(isonet.with_delivery(Delivery::Agreed));
    TokenManager::new(ManagerConfig::new(isonet, 1, View(3)))
}

fn give(manager: &mut TokenManager, from: Address, kind: Kind, body: &[u8]) -> Vec<Effect> {
    let mut out = Effects::default();
    manager.handle(Time(5), Input::Frame(from, Frame::new(kind, FrameToken(0), body)), &mut out);
    manager.handle(Time(5), Input::Wake, &mut out);
    out.drain().collect()
}

fn announce(rank: u64, receivers: &[u16]) -> Vec<u8> {
    let mut body = 3u32.to_le_bytes().to_vec();
    let receivers = receivers.iter().copied().map(NodeId).collect();
    crate::codec::write_announced(&Announced { rank: Rank(rank), receivers }, &mut body);
    body
}

fn token(number: u64, entries: &[(u64, u16, u64, u16)]) -> Vec<u8> {
    let mut body = [&3u32.to_le_bytes()[..], &number.to_le_bytes(), &[1]].concat();
    for (pulse, sender, rank, receiver) in entries {
        let ordered = Ordered { pulse: Pulse(*pulse), sender: NodeId(*sender), rank: Rank(*rank) };
        crate::codec::write_entry(&ordered, &[NodeId(*receiver)], &mut body);
    }
    body
}

/// What was sent of a kind, and to whom.
fn sent(effects: &[Effect], kind: Kind) -> Vec<Address> {
    let of_kind = |effect: &Effect| match effect {
        Effect::Sent(to, frame) if frame.kind == kind => Some(*to),
        _ => None,
    };
    effects.iter().filter_map(of_kind).collect()
}

fn blames(manager: &TokenManager, effects: &[Effect], culprit: Address) -> bool {
    let is_cut = effects.contains(&Effect::Disconnected(culprit, Disconnect::ForGood));
    is_cut && manager.halt() == Some(Halt { node: culprit.node, cause: HaltCause::Misbehaved })
}

#[test]
fn tokens_move_while_something_is_to_be_executed_and_no_longer() {
    let mut manager = manager();
    let effects = give(&mut manager, node(0), ANNOUNCE, &announce(1, &[0, 3]));
    assert_eq!((sent(&effects, TOKEN), manager.pulse()), (vec![LEFT, RIGHT], Pulse(1)), "one ahead, no more");
    assert!(sent(&effects, MARKERS).is_empty(), "it is for pulse 2");
    assert!(
        sent(&give(&mut manager, LEFT, TOKEN, &token(1, &[])), TOKEN).is_empty(),
        "the right one has not come"
    );
    let effects = give(&mut manager, RIGHT, TOKEN, &token(1, &[]));
    assert_eq!((sent(&effects, TOKEN), manager.pulse()), (vec![LEFT, RIGHT], Pulse(2)));
    assert_eq!(sent(&effects, MARKERS), [node(0)], "none to node 1, which has no part");
    for from in [LEFT, RIGHT] {
        assert!(give(&mut manager, from, TOKEN, &token(2, &[])).is_empty(), "all has been executed");
    }
    // Another switch goes on, and this one with it.
    let effects = give(&mut manager, LEFT, TOKEN, &token(3, &[(4, 2, 1, 1)]));
    assert_eq!(sent(&effects, TOKEN), [LEFT, RIGHT]);
    let effects = give(&mut manager, RIGHT, TOKEN, &token(3, &[]));
    assert_eq!((sent(&effects, MARKERS), manager.pulse()), (vec![node(1)], Pulse(4)));
}

/// An outbox without room on the way to some.
struct Narrow {
    full: Vec<Address>,
    effects: Effects,
}

impl Outbox for Narrow {
    fn begin(
        &mut self,
        to: Address,
        kind: Kind,
        token: FrameToken,
        at_most: usize,
    ) -> Result<&mut [u8], SendError> {
        if self.full.contains(&to) {
            Err(SendError::Full)
        } else {
            self.effects.begin(to, kind, token, at_most)
        }
    }

    fn commit(&mut self, len: usize) {
        self.effects.commit(len);
    }

    fn send_bulk(
        &mut self,
        to: Address,
        kind: Kind,
        token: FrameToken,
        body: &[u8],
        bulk: Bytes,
    ) -> Result<(), SendError> {
        self.effects.send_bulk(to, kind, token, body, bulk)
    }

    fn disconnect(&mut self, peer: Address, how: Disconnect) {
        self.effects.disconnect(peer, how);
    }

    fn work(&mut self, stage: Stage, units: u32) {
        self.effects.work(stage, units);
    }
}

#[test]
fn what_found_no_room_is_sent_when_there_is_some() {
    let mut manager = manager();
    let mut out = Narrow { full: vec![node(0), LEFT], effects: Effects::default() };
    let mut give = |input: Input<'_>, full: &[Address]| {
        out.full = full.to_vec();
        manager.handle(Time(5), input, &mut out);
        manager.handle(Time(5), Input::Wake, &mut out);
        out.effects.frames().into_iter().map(|(to, frame)| (to, frame.kind)).collect::<Vec<_>>()
    };
    let here = announce(1, &[0, 1]);
    let frame = |kind, body| Input::Frame(node(0), Frame::new(kind, FrameToken(0), body));
    assert_eq!(give(frame(ANNOUNCE, &here), &[node(0), LEFT]), [(node(1), MARKERS), (RIGHT, TOKEN)]);
    assert_eq!(give(Input::Writable(node(0)), &[LEFT]), [(node(0), MARKERS)]);
    assert_eq!(give(Input::Writable(LEFT), &[LEFT]), [], "there was none after all");
    assert_eq!(give(Input::Writable(LEFT), &[]), [(LEFT, TOKEN)]);
    assert_eq!(give(Input::Writable(LEFT), &[]), [], "nothing is left");
}

#[test]
fn a_sender_without_a_part_gets_no_marker_and_one_burst_is_one_frame() {
    let topology = Topology::lan(NodeId(9), &[NodeId(0), NodeId(1), NodeId(2)]).expect("it is one");
    let isonet = Isonet::new(topology, BTreeMap::new()).expect("nothing is shared");
    let isonet = Arc::new(isonet.with_delivery(Delivery::Agreed));
    let mut manager = TokenManager::new(ManagerConfig::new(isonet, 0, View(3)));
    let mut out = Effects::default();
    for (from, rank) in [(1, 1), (0, 1), (0, 2)] {
        let body = announce(rank, &[2]);
        manager.handle(
            Time(5),
            Input::Frame(node(from), Frame::new(ANNOUNCE, FrameToken(0), &body)),
            &mut out,
        );
    }
    assert_eq!((manager.deadline(), out.frames().len()), (Some(Time(5)), 0), "at the end of the burst");
    manager.handle(Time(5), Input::Wake, &mut out);
    let frames = out.frames();
    let [(to, frame)] = &frames[..] else { panic!("{frames:?}") };
    assert_eq!((*to, manager.deadline()), (node(2), None));
    let (_, markers) = crate::codec::read_markers(&frame.body).expect("it was written here");
    let order: Vec<_> = markers.iter().map(|one| (one.pulse.0, one.sender.0, one.rank.0)).collect();
    assert_eq!(order, [(1, 0, 1), (1, 0, 2), (1, 1, 1)]);
}

#[test]
fn who_forges_tokens_pulses_or_ranks_is_cut_off_and_named() {
    type Forged = (Address, Kind, Vec<u8>);
    let forged: [Forged; 12] = [
        (LEFT, TOKEN, token(2, &[])),
        (LEFT, TOKEN, token(0, &[])),
        (node(0), TOKEN, token(1, &[])),
        (LEFT, TOKEN, token(1, &[(1, 2, 1, 0)])),
        (LEFT, TOKEN, token(1, &[(99, 2, 1, 0)])),
        (LEFT, TOKEN, token(1, &[(2, 3, 1, 0)])),
        (LEFT, TOKEN, token(1, &[(2, 2, 1, 2)])),
        (LEFT, TOKEN, token(1, &[(3, 2, 1, 0), (2, 2, 2, 0)])),
        (node(2), ANNOUNCE, announce(1, &[0])),
        (node(0), ANNOUNCE, announce(1, &[77])),
        (node(0), MARKERS, vec![3, 0, 0, 0]),
        (node(0), ANNOUNCE, vec![3, 0]),
    ];
    for (from, kind, body) in forged {
        let mut manager = manager();
        let effects = give(&mut manager, from, kind, &body);
        assert!(blames(&manager, &effects, from), "{from:?} {kind:?} {body:?}: {effects:?}");
        assert_eq!(sent(&effects, HALTED).len(), 4, "its nodes and neighbours are told");
    }
    let mut manager = manager();
    give(&mut manager, node(0), ANNOUNCE, &announce(5, &[1]));
    let effects = give(&mut manager, node(0), ANNOUNCE, &announce(5, &[1]));
    assert!(blames(&manager, &effects, node(0)), "one rank twice");
}

#[test]
fn who_floods_is_cut_off_and_named() {
    let mut manager = manager();
    let flood = (1..).find_map(|rank| {
        let effects = give(&mut manager, node(0), ANNOUNCE, &announce(rank, &[3]));
        manager.halt().is_some().then_some((rank, effects))
    });
    let (rank, effects) = flood.expect("it ends");
    assert!(blames(&manager, &effects, node(0)));
    assert_eq!(
        rank,
        2 + MAX_UNEXECUTED as u64,
        "one went with the token, and as many as may be waited for the next"
    );
}

#[test]
fn frames_of_an_earlier_view_are_fenced_and_those_of_a_later_one_wait_for_it() {
    let mut manager = manager();
    let of_view = |view: u32| [&view.to_le_bytes()[..], &announce(1, &[0, 1])[4..]].concat();
    assert!(give(&mut manager, node(0), ANNOUNCE, &of_view(2)).is_empty());
    assert!(give(&mut manager, node(0), ANNOUNCE, &of_view(4)).is_empty());
    assert_eq!((manager.pulse(), manager.halt()), (Pulse(0), None));
    let topology = "switch here at 12: 0 1";
    let next = crate::codec::NextView { view: View(4), topology };
    let callers = Address { node: NodeId(12), port: PORT_CALLERS };
    let effects = give(&mut manager, callers, NEXT_VIEW, &encode_to_vec(&next));
    assert_eq!(sent(&effects, crate::codec::INSTALLED), [callers]);
    assert_eq!((sent(&effects, MARKERS), manager.view()), (vec![node(0), node(1)], View(4)));
    let effects = give(&mut manager, callers, NEXT_VIEW, &encode_to_vec(&next));
    assert_eq!(sent(&effects, crate::codec::REFUSED), [callers], "a view begins once");
}

#[test]
fn a_node_that_is_gone_halts_the_view_and_is_named() {
    let mut manager = manager();
    let mut out = Effects::default();
    manager.handle(Time(5), Input::Peer(node(1), &PeerChange::Down(DownCause::Died)), &mut out);
    let halt = Halt { node: NodeId(1), cause: HaltCause::Gone };
    assert_eq!((manager.halt(), out.frames().len()), (Some(halt), 4));
    let effects = give(&mut manager, node(0), ANNOUNCE, &announce(1, &[0]));
    assert_eq!(sent(&effects, TOKEN), [LEFT, RIGHT], "what is announced gets its place all the same");
}

#[test]
fn a_farewell_tells_what_was_told_as_one_who_stays_may_have_lost_it() {
    let mut manager = manager();
    let effects = give(&mut manager, node(0), ANNOUNCE, &announce(1, &[0, 1]));
    assert_eq!(sent(&effects, MARKERS), [node(0), node(1)]);
    let next = crate::codec::NextView { view: View(4), topology: "switch here at 12: 0" };
    let callers = Address { node: NodeId(12), port: PORT_CALLERS };
    let effects = give(&mut manager, callers, NEXT_VIEW, &encode_to_vec(&next));
    let told = effects.iter().find_map(|effect| match effect {
        Effect::Sent(to, frame) if (*to, frame.kind) == (node(0), FAREWELL) => {
            Some(Farewell::decode_all(&frame.body).expect("it is one").known)
        }
        _ => None,
    });
    assert_eq!(told, Some(vec![Ordered { pulse: Pulse(1), sender: NodeId(0), rank: Rank(1) }]));
}
