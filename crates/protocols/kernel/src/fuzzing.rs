//! What the fuzz target runs: a kernel whose clients and whose server say anything, over links that are full now and then.

use crate::{Kernel, KernelConfig};
use quintet_contract::{
    Address, Bytes, Disconnect, DownCause, Effects, Frame, Incarnation, Input, Kind, LinkClass, LinkInfo,
    Outbox, PeerChange, Protocol, SendError, Time, Token,
};
use quintet_session::{ABSENT, LEFT};

const ME: Address = Address::new(9, 5);
const SERVER: Address = Address::new(0, 5);

/// A link that takes what it is told to.
struct Link {
    is_full: bool,
    effects: Effects,
    cut: Vec<Address>,
}

impl Outbox for Link {
    fn begin(&mut self, to: Address, kind: Kind, token: Token, len: usize) -> Result<&mut [u8], SendError> {
        if self.is_full { Err(SendError::Full) } else { self.effects.begin(to, kind, token, len) }
    }

    fn commit(&mut self, len: usize) {
        self.effects.commit(len);
    }

    fn send_bulk(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        head: &[u8],
        bulk: Bytes,
    ) -> Result<(), SendError> {
        if self.is_full { Err(SendError::Full) } else { self.effects.send_bulk(to, kind, token, head, bulk) }
    }

    fn disconnect(&mut self, peer: Address, _how: Disconnect) {
        self.cut.push(peer);
    }
}

/// Gives a kernel the inputs that the bytes say: an action, who it is from, and of a frame its length and its body.
///
/// # Panics
/// If the kernel holds more than it may, or keeps a pair of who has gone.
pub fn drive(bytes: &[u8]) {
    let config = KernelConfig { max_pairs: 6, max_held_bytes: 1000, ..KernelConfig::new(ME, SERVER) };
    let mut kernel = Kernel::new(config);
    let mut link = Link { is_full: false, effects: Effects::default(), cut: Vec::new() };
    let mut rest = bytes;
    while let [action, who, len, after @ ..] = rest {
        let from = if who % 4 == 0 { SERVER } else { Address::new(u16::from(who % 4), 5) };
        let (body, after) = after.split_at(usize::from(*len).min(after.len()));
        rest = after;
        step(&mut kernel, *action, from, body, &mut link);
        for peer in core::mem::take(&mut link.cut) {
            let down = PeerChange::Down(DownCause::Misbehaved);
            kernel.handle(Time(0), Input::Peer(peer, &down), &mut link);
        }
        let (held, pairs) = kernel.books();
        assert!(pairs <= 6, "{pairs} pairs");
        // The last frame of each, in either direction, may pass the limit; of who has gone there is what it had, and a word a pair.
        assert!(held <= 8 * (1000 + 600 + 6 * 100) * 8, "{held} bytes");
        drop(link.effects.drain());
    }
    for node in 0..4 {
        let down = PeerChange::Down(DownCause::Died);
        kernel.handle(Time(0), Input::Peer(Address::new(node, 5), &down), &mut link);
    }
    assert_eq!(kernel.books().1, 0, "nobody is there who could have a pair");
}

fn step(kernel: &mut Kernel, action: u8, from: Address, body: &[u8], link: &mut Link) {
    let kind = match action % 8 {
        0 => {
            let info = LinkInfo::new(LinkClass::Machine, 100);
            let up = PeerChange::Up { incarnation: Incarnation(1), link: info };
            return kernel.handle(Time(0), Input::Peer(from, &up), link);
        }
        1 => {
            let down = PeerChange::Down(DownCause::Died);
            return kernel.handle(Time(0), Input::Peer(from, &down), link);
        }
        2 => {
            link.is_full = !link.is_full;
            return kernel.handle(Time(0), Input::Writable(from), link);
        }
        3 => ABSENT,
        4 => LEFT,
        other => Kind(0x20 + other),
    };
    kernel.handle(Time(0), Input::Frame(from, Frame::new(kind, Token(1), body)), link);
}

/// Inputs from which a fuzzer begins: clients that come, ask, wait for room and go.
#[must_use]
pub fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let up = |who: u8| vec![0, who, 0];
    let frame = |action: u8, who: u8, from: u8, to: u8| vec![action, who, 6, from, 0, to, 0, 7, 7];
    let left = |port: u8, word: u8| vec![4, 0, 5, 16, 0, port, 0, word];
    let full = vec![2, 0, 0];
    let talk = [up(0), up(1), frame(5, 1, 16, 16), frame(6, 0, 16, 1), frame(3, 0, 16, 1)].concat();
    let leave = [
        up(0),
        up(1),
        up(2),
        frame(5, 1, 16, 16),
        frame(5, 2, 16, 16),
        vec![1, 1, 0],
        left(1, 4),
        left(2, 3),
    ]
    .concat();
    let wait = [
        up(1),
        frame(5, 1, 16, 16),
        up(0),
        full.clone(),
        frame(5, 1, 16, 16),
        frame(5, 0, 16, 1),
        full.clone(),
        vec![2, 1, 0],
        vec![2, 1, 0],
    ]
    .concat();
    vec![("talk", talk), ("leave", leave), ("wait", wait)]
}
