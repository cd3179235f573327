//! Sessions on a simulated network.

mod both_initiate;
mod bounds;
mod delivery;
mod handshake;
mod hostile;
mod links;
#[path = "../network/mod.rs"]
mod network;
mod recovery;
mod resume;
mod retention;
mod sleep;
#[path = "../network/through.rs"]
mod through;
mod unanswered;
mod upkeep;

use network::Network;
use network::talker::{ONE_WAY, Talker};
use quintet_contract::{Address, Bytes, Incarnation, OwnedFrame, Span, Token};
use quintet_session::{PeerConfig, Reliability, SessionConfig, Sessions};

const A: Address = Address::new(1, 16);
const B: Address = Address::new(2, 16);
const C: Address = Address::new(3, 16);

fn retransmit(frames: u32, bytes: usize) -> Reliability {
    Reliability::Retransmit {
        initial_timeout: Span::from_millis(3),
        window_frames: frames,
        window_bytes: bytes,
    }
}

fn retain(frames: u32, bytes: usize) -> Reliability {
    Reliability::Retain { window_frames: frames, window_bytes: bytes }
}

/// One of each.
fn every_reliability() -> [Reliability; 3] {
    [Reliability::Link, retain(8, 64_000), retransmit(8, 64_000)]
}

/// The smaller address says HELLO.
fn config(me: Address, reliability: Reliability) -> SessionConfig {
    let mut config = SessionConfig::new(me, 7, Incarnation(1), 99);
    config.resume_window = Span::from_secs(2);
    config.others = None;
    for peer in [A, B, C] {
        config.peers.insert(peer, PeerConfig { initiate: me < peer, reliability });
    }
    config
}

fn node(config: SessionConfig) -> Sessions<Talker> {
    let me = config.me;
    Sessions::new(config, Talker::new(me))
}

fn talker(network: &mut Network<Sessions<Talker>>, at: Address) -> &mut Talker {
    network.nodes.get_mut(&at).expect("the node exists").inner_mut()
}

/// Tells a node to send what it was given to say.
fn prompt(network: &mut Network<Sessions<Talker>>, at: Address) {
    network.inject(Address::new(at.node.0, 1), at, &word(0));
}

/// A frame that needs no answer.
fn word(token: u64) -> OwnedFrame {
    OwnedFrame { kind: ONE_WAY, token: Token(token), body: Bytes::from_static(b"word"), bulk: Bytes::new() }
}

/// Says `frame` and sends it.
fn say(network: &mut Network<Sessions<Talker>>, from: Address, to: Address, frame: OwnedFrame) {
    talker(network, from).say(to, frame);
    prompt(network, from);
}
