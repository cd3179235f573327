//! What stands in front of each message: which two instances it is between.
//!
//! ```text
//! from u16 | to u16 | what the instance sent
//! ```
//!
//! [`ABSENT`], with nothing behind its four bytes, is the answer to a frame for a port where nothing is: from that port, to the port
//! that had asked for it.
//!
//! [`LEFT`], with one byte behind them, ends one pair whose nodes stay linked, as only nodes that pass frames on do ([`Role::KERNEL`](crate::Role::KERNEL)):
//!
//! ```text
//! 0 closed | 1 died | 2 silent | 3 broke the protocol: how it ended, with whoever was behind the port it comes from
//! 4 heard: the answer, after which nothing comes of that pair any more
//! ```

use quintet_contract::limits::PORTS_PREFIX_BYTES;
use quintet_contract::{DownCause, Kind, Port};
use quintet_wire::registry::PORTS;
use quintet_wire::{Decode, DecodeError, Reader};

/// Says that nothing is at the port it comes from.
pub const ABSENT: Kind = PORTS.kind(0);

/// Says that the pair is over, or that this was heard: body is the pair and a [`Parting`].
pub const LEFT: Kind = PORTS.kind(1);

/// What [`LEFT`] says of a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parting {
    /// It is over, like this. (A refusal is said as an end of the process behind it.)
    Over(DownCause),
    /// That was heard.
    Heard,
}

impl Parting {
    /// The two behind one another, as the body of [`LEFT`].
    #[must_use]
    pub fn to_bytes(self, pair: PortPair) -> [u8; PORTS_PREFIX_BYTES + 1] {
        let [f0, f1, t0, t1] = pair.to_bytes();
        let word = match self {
            Parting::Over(DownCause::Closed) => 0,
            Parting::Over(DownCause::Died | DownCause::Refused(_)) => 1,
            Parting::Over(DownCause::Silent) => 2,
            Parting::Over(DownCause::Misbehaved) => 3,
            Parting::Heard => 4,
        };
        [f0, f1, t0, t1, word]
    }
}

impl Decode<'_> for Parting {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(match reader.u8()? {
            0 => Parting::Over(DownCause::Closed),
            1 => Parting::Over(DownCause::Died),
            2 => Parting::Over(DownCause::Silent),
            3 => Parting::Over(DownCause::Misbehaved),
            4 => Parting::Heard,
            other => return Err(reader.invalid("how a pair of ports ended", other, 1)),
        })
    }
}

/// A port of the sender's node and one of the receiver's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PortPair {
    /// The sender's.
    pub from: Port,
    /// The receiver's.
    pub to: Port,
}

impl PortPair {
    /// The pair in front of a body, and what stands behind it; none if the body is too short.
    #[must_use]
    pub fn split(body: &[u8]) -> Option<(PortPair, &[u8])> {
        let ([f0, f1, t0, t1], rest) = body.split_first_chunk::<PORTS_PREFIX_BYTES>()?;
        let port = |low, high| Port(u16::from_le_bytes([low, high]));
        Some((PortPair { from: port(*f0, *f1), to: port(*t0, *t1) }, rest))
    }

    /// Writes itself to the front of `room`.
    ///
    /// # Panics
    /// If that is shorter than [`PORTS_PREFIX_BYTES`].
    pub fn write(self, room: &mut [u8]) {
        room[..PORTS_PREFIX_BYTES].copy_from_slice(&self.to_bytes());
    }

    /// As it stands in front of a body.
    #[must_use]
    pub fn to_bytes(self) -> [u8; PORTS_PREFIX_BYTES] {
        let ([f0, f1], [t0, t1]) = (self.from.0.to_le_bytes(), self.to.0.to_le_bytes());
        [f0, f1, t0, t1]
    }

    /// The pair of what goes the other way.
    #[must_use]
    pub fn turned(self) -> PortPair {
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
    fn how_a_pair_ended_comes_back_and_what_says_nothing_is_refused() {
        let pair = PortPair { from: Port(7), to: Port(9) };
        let ends = [DownCause::Closed, DownCause::Died, DownCause::Silent, DownCause::Misbehaved];
        for parting in ends.map(Parting::Over).into_iter().chain([Parting::Heard]) {
            let body = parting.to_bytes(pair);
            let (read, rest) = PortPair::split(&body).expect("it is there");
            assert_eq!((read, Parting::decode_all(rest)), (pair, Ok(parting)));
        }
        for bytes in [&[][..], &[5], &[0, 0]] {
            assert!(Parting::decode_all(bytes).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn the_sender_stands_first_and_low_bytes_before_high_ones() {
        assert_eq!(PortPair { from: Port(0x0102), to: Port(0x0304) }.to_bytes(), [2, 1, 4, 3]);
        assert_eq!(PortPair::split(&[2, 1, 4]), None);
    }
}
