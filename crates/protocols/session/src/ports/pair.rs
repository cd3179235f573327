//! What stands in front of each message: which two instances it is between.
//!
//! ```text
//! from u16 | to u16 | what the instance sent
//! ```
//!
//! [`ABSENT`], with nothing behind its four bytes, is the answer to a frame for a port where nothing is: from that port, to the port
//! that had asked for it.

use quintet_contract::limits::PORTS_PREFIX_BYTES;
use quintet_contract::{Kind, Port};
use quintet_wire::registry::PORTS;

/// Says that nothing is at the port it comes from.
pub const ABSENT: Kind = PORTS.kind(0);

/// A port of the sender's node and one of the receiver's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PortPair {
    pub(crate) from: Port,
    pub(crate) to: Port,
}

impl PortPair {
    /// The pair in front of a body, and what stands behind it; none if the body is too short.
    pub(crate) fn split(body: &[u8]) -> Option<(PortPair, &[u8])> {
        let ([f0, f1, t0, t1], rest) = body.split_first_chunk::<PORTS_PREFIX_BYTES>()?;
        let port = |low, high| Port(u16::from_le_bytes([low, high]));
        Some((PortPair { from: port(*f0, *f1), to: port(*t0, *t1) }, rest))
    }

    /// Writes itself to the front of `room`.
    pub(crate) fn write(self, room: &mut [u8]) {
        room[..PORTS_PREFIX_BYTES].copy_from_slice(&self.to_bytes());
    }

    pub(crate) fn to_bytes(self) -> [u8; PORTS_PREFIX_BYTES] {
        let ([f0, f1], [t0, t1]) = (self.from.0.to_le_bytes(), self.to.0.to_le_bytes());
        [f0, f1, t0, t1]
    }

    /// The pair of what goes the other way.
    pub(crate) fn turned(self) -> PortPair {
        PortPair { from: self.to, to: self.from }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_pair_comes_back_with_what_stands_behind_it(from: u16, to: u16, rest: Vec<u8>) {
            let pair = PortPair { from: Port(from), to: Port(to) };
            let mut room = vec![0xee; PORTS_PREFIX_BYTES];
            pair.write(&mut room);
            prop_assert_eq!(&room[..], &pair.to_bytes()[..]);
            room.extend_from_slice(&rest);
            prop_assert_eq!(PortPair::split(&room), Some((pair, &rest[..])));
            prop_assert_eq!(pair.turned().turned(), pair);
        }
    }

    #[test]
    fn the_sender_stands_first_and_low_bytes_before_high_ones() {
        assert_eq!(PortPair { from: Port(0x0102), to: Port(0x0304) }.to_bytes(), [2, 1, 4, 3]);
        assert_eq!(PortPair::split(&[2, 1, 4]), None);
    }
}
