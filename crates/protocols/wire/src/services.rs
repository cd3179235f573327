//! What a host's services are asked and what they answer. The kinds stand in the registry.
//!
//! A request is answered with its token, once. What a service cannot read is answered with
//! [`SERVICE_REFUSED`](crate::registry::SERVICE_REFUSED); a service that the host does not provide refuses the frame at once, as unreachable.
//! The links alone are asked nothing: they tell whom the host was told to.

pub mod process;

use crate::{Decode, DecodeError, Encode, Reader, Sink};
use quintet_contract::NodeId;

/// The body of [`DISK_READ`](crate::registry::DISK_READ): which bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DiskRead {
    /// The first.
    pub at: u64,
    /// How many. Where the disk ends before, those that are there.
    pub len: u32,
}

/// The body of [`DISK_TRUNCATE`](crate::registry::DISK_TRUNCATE).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DiskTruncate {
    /// How many bytes stay. A shorter disk stays as it is.
    pub length: u64,
}

/// The body of [`DISK_DONE`](crate::registry::DISK_DONE) and [`DISK_DATA`](crate::registry::DISK_DATA).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DiskDone {
    /// Whether it was not done: the device failed, or is full. What was to be written is not there, or nothing is known of it.
    pub failed: bool,
    /// How long the disk is after it: what was appended ends there.
    pub length: u64,
}

/// The body of [`LINK_NEWS`](crate::registry::LINK_NEWS): what the host has found where it dials a peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkNews {
    /// The peer's node.
    pub node: NodeId,
    /// There is no link, and the system there says that nobody listens: the peer's process has ended, unless something between the two says so
    /// in its place. It is told once, until there is a link again, which is told as well.
    pub is_refused: bool,
}

/// The body of [`DEVICE_LAUNCH`](crate::registry::DEVICE_LAUNCH), with the sizes by which a simulated device knows what it costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Launch<'a> {
    /// How much is to be computed, in units of which the device does so many a second.
    pub units: u64,
    /// Bytes of the output.
    pub output_bytes: u32,
    /// The input, or its first part: bulk belongs to it.
    pub input: &'a [u8],
}

impl Encode for DiskRead {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u64(self.at);
        sink.u32(self.len);
    }

    fn max_len(&self) -> usize {
        12
    }
}

impl Decode<'_> for DiskRead {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(DiskRead { at: reader.u64()?, len: reader.u32()? })
    }
}

impl Encode for DiskTruncate {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u64(self.length);
    }

    fn max_len(&self) -> usize {
        8
    }
}

impl Decode<'_> for DiskTruncate {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(DiskTruncate { length: reader.u64()? })
    }
}

impl Encode for DiskDone {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u8(u8::from(self.failed));
        sink.u64(self.length);
    }

    fn max_len(&self) -> usize {
        9
    }
}

impl Decode<'_> for DiskDone {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let failed = reader.flag("outcome")?;
        Ok(DiskDone { failed, length: reader.u64()? })
    }
}

impl Encode for LinkNews {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u16(self.node.0);
        sink.u8(u8::from(self.is_refused));
    }

    fn max_len(&self) -> usize {
        3
    }
}

impl Decode<'_> for LinkNews {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let node = NodeId(reader.u16()?);
        let is_refused = reader.flag("refusal")?;
        Ok(LinkNews { node, is_refused })
    }
}

impl Encode for Launch<'_> {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u64(self.units);
        sink.u32(self.output_bytes);
        sink.bytes(self.input);
    }

    fn max_len(&self) -> usize {
        12 + self.input.len()
    }
}

impl<'a> Decode<'a> for Launch<'a> {
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let (units, output_bytes) = (reader.u64()?, reader.u32()?);
        let input = reader.bytes(reader.left())?;
        Ok(Launch { units, output_bytes, input })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode_to_vec;
    use proptest::prelude::*;

    fn comes_back<'a, T: Encode + Decode<'a> + PartialEq>(value: &T, bytes: &'a [u8]) -> bool {
        value.max_len() == bytes.len() && T::decode_all(bytes).as_ref() == Ok(value)
    }

    proptest! {
        #[test]
        fn requests_and_answers_come_back(at: u64, len: u32, failed: bool, input: Vec<u8>) {
            let read = DiskRead { at, len };
            prop_assert!(comes_back(&read, &encode_to_vec(&read)));
            let truncate = DiskTruncate { length: at };
            prop_assert!(comes_back(&truncate, &encode_to_vec(&truncate)));
            let done = DiskDone { failed, length: at };
            prop_assert!(comes_back(&done, &encode_to_vec(&done)));
            let news = LinkNews { node: NodeId(at as u16), is_refused: failed };
            prop_assert!(comes_back(&news, &encode_to_vec(&news)));
            let launch = Launch { units: at, output_bytes: len, input: &input };
            prop_assert!(comes_back(&launch, &encode_to_vec(&launch)));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let _ = (DiskRead::decode_all(&bytes), DiskTruncate::decode_all(&bytes), Launch::decode_all(&bytes));
            if let Ok(done) = DiskDone::decode_all(&bytes) {
                prop_assert_eq!(encode_to_vec(&done), &bytes[..]);
            }
            if let Ok(news) = LinkNews::decode_all(&bytes) {
                prop_assert_eq!(encode_to_vec(&news), bytes);
            }
        }
    }
}
