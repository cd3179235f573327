//! What an entry of the agreed log says: inputs of the protocol, each with the log's time.

use bytes::Bytes;
use quintet_contract::limits::MAX_BULK_BYTES;
use quintet_contract::{Input, Time};
use quintet_durable::Kept;
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// In front of an input: its length u32, the log's time u64.
const HEAD_BYTES: usize = 12;

/// Longer than any log lasts, and so long before the end of all times that what is added to it is a time.
const MAX_TIME: u64 = 1 << 62;

/// Inputs that are agreed on together. An empty one is what a leader begins its term with.
///
/// ```text
/// n times: length u32 (of what follows the time) | the log's time u64 | the input as a recording keeps it, its bulk
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Batch(Bytes);

impl Batch {
    /// Without an input.
    pub(crate) const NOTHING: Batch = Batch(Bytes::new());

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The inputs, in order.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = (Time, Kept<'_>)> {
        let mut rest = &self.0[..];
        std::iter::from_fn(move || {
            let (input, behind) = first(rest).expect("it was read when it came")?;
            rest = behind;
            Some(input)
        })
    }
}

/// The first input, and what lies behind it.
type First<'a> = ((Time, Kept<'a>), &'a [u8]);

fn first(bytes: &[u8]) -> Result<Option<First<'_>>, DecodeError> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let mut reader = Reader::new(bytes);
    let length = reader.u32()? as usize;
    let time = reader.u64()?;
    if time > MAX_TIME {
        return Err(reader.invalid("time", time, 8));
    }
    let time = Time(time);
    let kept = Kept::decode_all(reader.bytes(length)?)?;
    Ok(Some(((time, kept), &bytes[HEAD_BYTES + length..])))
}

impl Encode for Batch {
    fn encode(&self, sink: &mut impl Sink) {
        sink.counted(&self.0);
    }
}

impl Decode<'_> for Batch {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let bytes = reader.counted("inputs", MAX_BULK_BYTES)?;
        let mut rest = bytes;
        while let Some((_, behind)) = first(rest)? {
            rest = behind;
        }
        Ok(Batch(Bytes::copy_from_slice(bytes)))
    }
}

/// Inputs that come together while a burst lasts.
#[derive(Debug, Default)]
pub(crate) struct Gathering(Vec<u8>);

impl Gathering {
    pub(crate) fn add(&mut self, time: Time, input: &Input<'_>) {
        let begin = self.0.len();
        self.0.u32(0);
        self.0.u64(time.0);
        Kept::new(input).encode(&mut self.0);
        let length = self.0.len() - begin - HEAD_BYTES;
        let length = u32::try_from(length).expect("an input is shorter than 4 GiB");
        self.0[begin..begin + 4].copy_from_slice(&length.to_le_bytes());
    }

    /// How long they are together.
    pub(crate) fn bytes(&self) -> usize {
        self.0.len()
    }

    /// All of them, if there are any.
    pub(crate) fn take(&mut self) -> Option<Batch> {
        (!self.0.is_empty()).then(|| Batch(core::mem::take(&mut self.0).into()))
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_contract::{Address, Frame, Kind, NodeId, Port, Token};
    use quintet_wire::encode_to_vec;

    #[test]
    fn inputs_come_back_in_their_order_and_what_is_cut_short_is_refused() {
        let from = Address { node: NodeId(3), port: Port(4) };
        let bulk = Bytes::from_static(b"bulk");
        let frame = Frame { kind: Kind(9), token: Token(7), body: b"body", bulk: &bulk, stamps: None };
        let mut gathering = Gathering::default();
        gathering.add(Time(1), &Input::Wake);
        gathering.add(Time(5), &Input::Frame(from, frame));
        let batch = gathering.take().expect("two inputs");
        assert_eq!((gathering.take(), gathering.bytes()), (None, 0));
        let bytes = encode_to_vec(&batch);
        let read = Batch::decode_all(&bytes).expect("it was written so");
        assert_eq!(read, batch);
        let mut told = Vec::new();
        read.inputs().for_each(|(time, kept)| kept.give(|input| told.push(format!("{} {input:?}", time.0))));
        assert_eq!(told, [format!("1 {:?}", Input::Wake), format!("5 {:?}", Input::Frame(from, frame))]);
        for end in 4..bytes.len() {
            let mut cut = bytes[..end].to_vec();
            cut[..4].copy_from_slice(&u32::try_from(end - 4).expect("short").to_le_bytes());
            // Where the second input begins a batch of one input ends.
            let is_whole = end == 4 || end == 4 + HEAD_BYTES + 1;
            assert_eq!(Batch::decode_all(&cut).is_ok(), is_whole, "{end} of {}", bytes.len());
        }
    }
}
