//! Messages over sessions on a simulated network.

mod asked;
mod bulk;
mod flow;
mod hostile;
mod limits;
#[path = "../../../session/tests/network/mod.rs"]
mod network;
mod packs;
mod ports;
#[path = "../../../session/tests/network/through.rs"]
mod through;

use network::talker::{ANSWER, ONE_WAY, REQUEST, Talker};
use network::{Conditions, Network};
use quintet_contract::{Address, Bytes, Incarnation, Kind, OwnedFrame, Span, Token};
use quintet_messaging::{Class, Messages, MessagingConfig};
use quintet_session::{PeerConfig, Reliability, SessionConfig, Sessions};
use quintet_wire::registry::USER;

/// A message without a place in the order.
const URGENT: Kind = USER.kind(3);

const A: Address = Address::new(1, 16);
const B: Address = Address::new(2, 16);
const C: Address = Address::new(3, 16);

type Node = Sessions<Messages<Talker>>;

const LOSSY: Reliability = Reliability::Retransmit {
    initial_timeout: Span::from_millis(3),
    window_frames: 32,
    window_bytes: 200_000,
};

fn class(kind: Kind) -> Class {
    match kind {
        REQUEST => Class::Request,
        ANSWER => Class::Answer,
        URGENT => Class::Urgent,
        _ => Class::OneWay,
    }
}

fn messages(me: Address, change: impl Fn(&mut MessagingConfig)) -> Messages<Talker> {
    let mut config = MessagingConfig::new(me, class);
    change(&mut config);
    Messages::new(config, Talker::new(me))
}

fn node(me: Address, reliability: Reliability, change: impl Fn(&mut MessagingConfig)) -> Node {
    let mut config = SessionConfig::new(me, 7, Incarnation(1), 99);
    config.resume_window = Span::from_secs(5);
    for peer in [A, B, C] {
        config.peers.insert(peer, PeerConfig { initiate: me < peer, reliability });
    }
    Sessions::new(config, messages(me, change))
}

/// A network of `nodes`, linked each with each.
fn network(
    seed: u64,
    conditions: Conditions,
    reliability: Reliability,
    nodes: &[Address],
    change: impl Fn(&mut MessagingConfig),
) -> Network<Node> {
    let mut network = Network::new(seed, conditions);
    nodes.iter().for_each(|at| network.add(*at, node(*at, reliability, &change)));
    for (i, a) in nodes.iter().enumerate() {
        nodes[i + 1..].iter().for_each(|b| network.link(*a, *b));
    }
    network
}

fn layer(network: &Network<Node>, at: Address) -> &Messages<Talker> {
    network.nodes[&at].inner()
}

fn talker(network: &mut Network<Node>, at: Address) -> &mut Talker {
    network.nodes.get_mut(&at).expect("the node exists").inner_mut().inner_mut()
}

fn heard(network: &Network<Node>, at: Address, from: Address) -> &[OwnedFrame] {
    layer(network, at).inner().from(from)
}

/// Tells a node to send what it was given to say.
fn prompt(network: &mut Network<Node>, at: Address) {
    network.inject(Address::new(at.node.0, 1), at, &message(ONE_WAY, 0, b"", Bytes::new()));
}

fn message(kind: Kind, token: u64, body: &[u8], bulk: Bytes) -> OwnedFrame {
    OwnedFrame { kind, token: Token(token), body: Bytes::copy_from_slice(body), bulk }
}
