//! Several messages in one frame: the first of a burst goes alone, and at once; those that follow it gather, and go at the burst's end.
//!
//! ```text
//!   PACK:   prefix | kind u8, flags u8, length u16, token u64, body | the same of the next message | ...
//! ```
//!
//! The prefix returns credit as every prefix does; whether a message is an answer, its own flags say. Each takes its own credit and
//! keeps its place in the order, as if it had come alone.

use crate::codec::{PACK, PREFIX_BYTES, Prefix, flags, is_answer};
use quintet_contract::limits::MAX_BODY_BYTES;
use quintet_contract::{Address, Kind, Outbox, SendError, Token};
use quintet_wire::{DecodeError, Reader};

/// A pack grows no longer: its receiver is to have work while the next one is filled.
const PACK_BYTES: usize = 4096;
/// A message with a longer body goes alone: there is little to be saved.
const PACKED_BODY_BYTES: usize = 1024;
/// In front of each message's body.
const ITEM_BYTES: usize = 12;

const _: () = assert!(
    PREFIX_BYTES + ITEM_BYTES + PACKED_BODY_BYTES <= PACK_BYTES && PACK_BYTES <= MAX_BODY_BYTES,
    "any message that may be packed fits a pack, and any pack a frame"
);

/// What is told of a message besides its body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Item {
    pub(crate) kind: Kind,
    /// It travels in the room reserved by its request.
    pub(crate) answer: bool,
    pub(crate) token: Token,
}

/// The messages that gather for one peer.
#[derive(Debug)]
pub(crate) struct Pack {
    /// The longest.
    limit: usize,
    /// Room for a prefix, then the messages, then what is left of earlier ones.
    bytes: Vec<u8>,
    /// Where the next message begins.
    end: usize,
    messages: u32,
    /// The one that came first.
    first: Option<Item>,
    /// One of them asked for stamps.
    is_stamped: bool,
    /// The link had no room for it.
    pub(crate) is_refused: bool,
}

impl Pack {
    /// For a link that takes bodies of so many bytes.
    pub(crate) fn new(link: usize) -> Self {
        Pack {
            limit: link.min(PACK_BYTES),
            bytes: Vec::new(),
            end: PREFIX_BYTES,
            messages: 0,
            first: None,
            is_stamped: false,
            is_refused: false,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.messages == 0
    }

    /// Whether a message with a body of at most so many bytes may gather with others.
    pub(crate) fn takes(&self, at_most: usize) -> bool {
        at_most <= PACKED_BODY_BYTES && PREFIX_BYTES + ITEM_BYTES + at_most <= self.limit
    }

    /// Whether there is room left for such a body.
    pub(crate) fn has_room(&self, at_most: usize) -> bool {
        self.end + ITEM_BYTES + at_most <= self.limit
    }

    /// Room for a body.
    pub(crate) fn begin(&mut self, at_most: usize) -> &mut [u8] {
        let body = self.end + ITEM_BYTES;
        if self.bytes.len() < body + at_most {
            self.bytes.resize(body + at_most, 0);
        }
        &mut self.bytes[body..body + at_most]
    }

    /// The message begun last has so many bytes.
    pub(crate) fn commit(&mut self, item: Item, len: usize) {
        let Item { kind, answer, token } = item;
        let [l0, l1] = u16::try_from(len).expect("a body that may be packed is short").to_le_bytes();
        let head = &mut self.bytes[self.end..self.end + ITEM_BYTES];
        head[..4].copy_from_slice(&[kind.0, flags(answer), l0, l1]);
        head[4..].copy_from_slice(&token.0.to_le_bytes());
        self.end += ITEM_BYTES + len;
        self.messages += 1;
        self.first.get_or_insert(item);
    }

    /// Has the frame stamped in which the message begun last goes.
    pub(crate) fn stamp(&mut self) {
        self.is_stamped = true;
    }

    /// Sends what gathered, behind a prefix. A message that stayed alone goes as it would have gone before others.
    ///
    /// # Errors
    /// As [`Outbox::begin`]; then everything is still here.
    pub(crate) fn send(
        &mut self,
        to: Address,
        prefix: Prefix,
        out: &mut dyn Outbox,
    ) -> Result<(), SendError> {
        let Some(Item { kind, answer, token }) = self.first else { return Ok(()) };
        let sent = if self.messages == 1 {
            let from = PREFIX_BYTES + ITEM_BYTES;
            self.send_from(from, to, (kind, token), Prefix { answer, ..prefix }, out)
        } else {
            self.send_from(PREFIX_BYTES, to, (PACK, Token(0)), prefix, out)
        };
        self.is_refused = sent == Err(SendError::Full);
        sent?;
        *self = Pack { bytes: core::mem::take(&mut self.bytes), ..Pack::new(self.limit) };
        Ok(())
    }

    fn send_from(
        &self,
        start: usize,
        to: Address,
        (kind, token): (Kind, Token),
        prefix: Prefix,
        out: &mut dyn Outbox,
    ) -> Result<(), SendError> {
        let body = &self.bytes[start..self.end];
        let room = out.begin(to, kind, token, PREFIX_BYTES + body.len())?;
        prefix.write(room);
        room[PREFIX_BYTES..].copy_from_slice(body);
        if self.is_stamped {
            out.stamp();
        }
        out.commit(PREFIX_BYTES + body.len());
        Ok(())
    }
}

/// The messages of a pack that came.
pub(crate) struct Unpacked<'a>(Reader<'a>);

impl<'a> Unpacked<'a> {
    /// Of what lies behind the prefix.
    pub(crate) fn new(items: &'a [u8]) -> Self {
        Unpacked(Reader::new(items))
    }

    /// The next message and its body; `None` at the end.
    ///
    /// # Errors
    /// What no honest peer writes.
    pub(crate) fn next(&mut self) -> Result<Option<(Item, &'a [u8])>, DecodeError> {
        let Unpacked(reader) = self;
        if reader.left() == 0 {
            return Ok(None);
        }
        let kind = Kind(reader.u8()?);
        let answer = is_answer(reader)?;
        let len = reader.u16()?;
        let token = Token(reader.u64()?);
        Ok(Some((Item { kind, answer, token }, reader.bytes(usize::from(len))?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Credit;
    use quintet_contract::Effects;

    #[test]
    fn the_next_pack_gathers_where_the_last_one_lay() {
        let mut pack = Pack::new(usize::MAX);
        let gather = |pack: &mut Pack| {
            for token in 0..2 {
                pack.begin(100).fill(7);
                pack.commit(Item { kind: Kind(0xf0), answer: false, token: Token(token) }, 100);
            }
            pack.bytes.as_ptr()
        };
        let place = gather(&mut pack);
        let prefix = Prefix { answer: false, credit: Credit::default() };
        pack.send(Address::new(1, 1), prefix, &mut Effects::default()).expect("there is room");
        assert!(pack.is_empty());
        assert_eq!(gather(&mut pack), place, "nothing is allocated");
    }
}
