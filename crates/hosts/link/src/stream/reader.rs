//! Takes frames out of the bytes of a stream. Its writer may be hostile, and the bytes come in any pieces.
//!
//! Bytes are read into one bounded buffer; what was announced counts for nothing before it was checked against the limits.
//! Bodies are handed out where they lie there. Bulk is read into memory of its own, of which there is room for the whole
//! only after a part of it has come.

use super::check::{check_in_place, check_more};
use super::fault::{Fault, Suspect};
use super::layout::{
    BULK_LENGTH_BYTES, EARNEST_BYTES, FRAME_BULK_BYTES, MAX_FRAME_BYTES, MAX_INLINE_BYTES,
    READ_BEHIND_BULK_BYTES, READ_BYTES, RECEIVER_LEFT, SENDER_LEFT, SENDER_REFUSES, WORD_BYTES,
};
use crate::pages::Pages;
use crate::{LinkError, Route};
use bytes::Bytes;
use core::mem::MaybeUninit;
use core::ops::Range;
use quintet_contract::Time;
use quintet_contract::limits::{HEADER_BYTES, MAX_BODY_BYTES};
use quintet_wire::{Header, STAMP_BYTES};

/// The buffer: what is left of a frame, and one read behind it.
pub(super) const BUFFER_BYTES: usize = MAX_INLINE_BYTES + READ_BYTES;

/// Reads one direction of a link.
#[derive(Debug)]
pub(super) struct FrameReader {
    buffer: Pages,
    /// What was received and not taken.
    filled: Range<usize>,
    /// The number of the next frame.
    sequence: u32,
    /// Whether frames carry a checksum.
    is_checked: bool,
    /// The frame whose bulk is on its way, or is whole and not taken. Its body lies in the buffer in front of what is filled.
    incoming: Option<Incoming>,
    /// The last frame taken had bulk.
    after_bulk: bool,
    /// What came that is no frame.
    fault: Option<Fault>,
    /// The sender said that it sends no more, and why.
    farewell: Option<Farewell>,
}

/// How a sender ends its link in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Farewell {
    Closed,
    Refused,
}

impl Farewell {
    /// Said by this word in place of a frame's length.
    #[inline]
    fn of(word: u32) -> Option<Farewell> {
        match word {
            SENDER_LEFT => Some(Farewell::Closed),
            SENDER_REFUSES => Some(Farewell::Refused),
            _ => None,
        }
    }

    /// What the end of the link is to this side.
    #[cold]
    pub(super) fn end(self) -> LinkError {
        match self {
            Farewell::Closed => LinkError::Closed,
            Farewell::Refused => LinkError::Refused,
        }
    }
}

/// A frame of which the bulk is not all there.
#[derive(Debug)]
struct Incoming {
    header: Header,
    body: Range<usize>,
    bulk: Vec<u8>,
    len: usize,
    /// The checksum of what came.
    check: u32,
}

impl Incoming {
    fn left(&self) -> usize {
        self.len - self.bulk.len()
    }

    /// Makes room for more: a little at first, and for all of it when that has come.
    fn make_room(&mut self) {
        if self.bulk.len() == self.bulk.capacity() {
            let more = if self.bulk.len() < EARNEST_BYTES { EARNEST_BYTES } else { self.left() };
            self.bulk.reserve_exact(more.min(self.left()));
        }
    }
}

/// What the stream says next.
#[derive(Debug)]
pub(super) enum Item<'a> {
    Frame {
        route: Route,
        body: &'a [u8],
        /// When it departed, by the peer's clock, if its sender wanted that told.
        departed: Option<Time>,
    },
    FrameWithBulk {
        route: Route,
        body: &'a [u8],
        bulk: Bytes,
    },
    /// The peer receives no more.
    ReceiverLeft,
}

/// Something came that is no frame. What, the reader knows: a frame is not to pay for what has no room in a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Faulty;

/// Where the next bytes of the stream go.
pub(super) enum Room<'a> {
    /// Bulk goes where it stays.
    Bulk(&'a mut [MaybeUninit<u8>]),
    Buffer(&'a mut [u8]),
}

impl FrameReader {
    /// Into a buffer of [`BUFFER_BYTES`].
    pub(super) fn new(buffer: Pages, is_checked: bool) -> Self {
        FrameReader {
            buffer,
            filled: 0..0,
            sequence: 0,
            is_checked,
            incoming: None,
            after_bulk: false,
            fault: None,
            farewell: None,
        }
    }

    /// Whether [`FrameReader::next`] has something to tell, without more bytes.
    #[inline]
    pub(super) fn has_item(&self) -> bool {
        if let Some(fault) = &self.fault {
            return matches!(fault, Fault::Certain(_));
        }
        if let Some(incoming) = &self.incoming {
            return incoming.left() == 0;
        }
        self.word().is_some_and(|word| self.filled.len() >= word as usize && Farewell::of(word).is_none())
    }

    /// Whether a frame has come of whose bulk the rest is still on its way.
    pub(super) fn awaits_bulk(&self) -> bool {
        self.incoming.as_ref().is_some_and(|incoming| incoming.left() > 0)
    }

    /// Whether the sender said that it sends no more, and everything before that was taken.
    #[inline]
    pub(super) fn sender_left(&self) -> bool {
        self.farewell().is_some()
    }

    /// How the sender ended the link in order, if it did, and everything before that was taken.
    #[inline]
    pub(super) fn farewell(&self) -> Option<Farewell> {
        if self.farewell.is_some() || self.incoming.is_some() {
            return self.farewell;
        }
        self.word().and_then(Farewell::of)
    }

    /// The length of the next frame, or what stands in its place.
    #[inline]
    fn word(&self) -> Option<u32> {
        let word = self.buffer[self.filled.clone()].first_chunk::<WORD_BYTES>()?;
        Some(u32::from_le_bytes(*word))
    }

    /// Room for what is to be received next. None while there is a whole frame to be taken first, or nothing more is wanted.
    pub(super) fn room(&mut self) -> Option<Room<'_>> {
        if self.has_item() || self.sender_left() {
            return None;
        }
        if let Some(incoming) = &mut self.incoming {
            // What the buffer held of it was absorbed.
            incoming.make_room();
            let left = incoming.left();
            let spare = incoming.bulk.spare_capacity_mut();
            let len = left.min(spare.len());
            return Some(Room::Bulk(&mut spare[..len]));
        }
        let wanted = if self.after_bulk { READ_BEHIND_BULK_BYTES } else { READ_BYTES };
        if self.filled.is_empty() {
            self.filled = 0..0;
        } else if self.buffer.len() - self.filled.end < wanted {
            self.buffer.copy_within(self.filled.clone(), 0);
            self.filled = 0..self.filled.len();
        }
        let end = self.buffer.len().min(self.filled.end + wanted);
        Some(Room::Buffer(&mut self.buffer[self.filled.end..end]))
    }

    /// So many bytes were written to the front of [`FrameReader::room`].
    pub(super) fn received(&mut self, count: usize) {
        if let Some(incoming) = &mut self.incoming {
            let done = incoming.bulk.len();
            assert!(
                count <= incoming.left() && count <= incoming.bulk.capacity() - done,
                "more than the room"
            );
            // SAFETY: the capacity was checked, and whoever received has written that many bytes behind the length.
            unsafe { incoming.bulk.set_len(done + count) };
            if self.is_checked {
                incoming.check = check_more(incoming.check, &incoming.bulk[done..]);
            }
            return;
        }
        self.filled.end += count;
        self.absorb_suspect();
        if !self.has_item() && !self.sender_left() {
            // The first frame is not whole. Finds out now whether it has bulk, and keeps what is wrong with it.
            let _ = self.begin_bulk();
        }
    }

    /// What came that is no frame: [`LinkError::Malformed`], or [`LinkError::Damaged`] where there are checksums and the frame's is wrong, or
    /// its length cannot be, so that it has none.
    ///
    /// # Panics
    /// If [`FrameReader::next`] has not said that there is something.
    #[cold]
    pub(super) fn error(&self) -> LinkError {
        match &self.fault {
            Some(Fault::Certain(error)) => error.clone(),
            other => panic!("nothing is known to be wrong: {other:?}"),
        }
    }

    /// The next frame, or what stands in its place.
    ///
    /// # Errors
    /// Something came that is no frame, for good: [`FrameReader::error`] says what.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<Item<'_>>, Faulty> {
        if let Some(fault) = &self.fault {
            return if matches!(fault, Fault::Certain(_)) { Err(Faulty) } else { Ok(None) };
        }
        if self.incoming.is_some() {
            return self.whole_bulk();
        }
        match self.word() {
            None => Ok(None),
            Some(word @ (SENDER_LEFT | SENDER_REFUSES)) => {
                self.farewell = Farewell::of(word);
                Ok(None)
            }
            Some(RECEIVER_LEFT) => {
                self.filled.start += WORD_BYTES;
                Ok(Some(Item::ReceiverLeft))
            }
            Some(_) => self.next_frame(),
        }
    }

    #[inline]
    fn next_frame(&mut self) -> Result<Option<Item<'_>>, Faulty> {
        let Some(header) = self.header()? else { return Ok(None) };
        if header.has_bulk {
            self.begin_bulk()?;
            return self.whole_bulk();
        }
        self.whole(header)
    }

    /// The header of the next frame, if it is there, compared with the limits and the frame before.
    #[inline]
    fn header(&mut self) -> Result<Option<Header>, Faulty> {
        let Some(length) = self.word() else { return Ok(None) };
        // First and alone, so that nothing is waited for that cannot be a frame.
        if (length as usize) < HEADER_BYTES || length as usize > MAX_FRAME_BYTES {
            let what =
                format!("frame length {length} lies outside {HEADER_BYTES} to {MAX_FRAME_BYTES} bytes");
            return Err(self.unattributed(&what));
        }
        let Some(bytes) = self.buffer[self.filled.clone()].first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        let header = match Header::from_bytes(bytes, MAX_FRAME_BYTES as u32) {
            Ok(header) => header,
            Err(error) => return self.malformed(&error.to_string()).map(|()| None),
        };
        if header.sequence != self.sequence {
            let what = format!("its number is {} instead of {}", header.sequence, self.sequence);
            return self.malformed(&what).map(|()| None);
        }
        if !self.is_checked && header.check != 0 {
            return self.malformed("it carries a checksum, where none is used").map(|()| None);
        }
        let body = header.length as usize - HEADER_BYTES - stamp_bytes(header);
        if !header.has_bulk && body > MAX_BODY_BYTES {
            let what = format!("its body of {body} bytes exceeds {MAX_BODY_BYTES}");
            return self.malformed(&what).map(|()| None);
        }
        Ok(Some(header))
    }

    /// A frame without bulk, if all of it is there.
    #[inline]
    fn whole(&mut self, header: Header) -> Result<Option<Item<'_>>, Faulty> {
        let len = header.length as usize;
        if self.filled.len() < len {
            return Ok(None);
        }
        let start = self.filled.start;
        if self.is_checked {
            let check = check_in_place(&mut self.buffer[start..start + len]);
            self.compare(header, check)?;
        }
        self.filled.start += len;
        self.sequence = self.sequence.wrapping_add(1);
        self.after_bulk = false;
        let (body, stamp) =
            self.buffer[start + HEADER_BYTES..start + len].split_at(len - HEADER_BYTES - stamp_bytes(header));
        let departed = stamp.try_into().ok().map(|stamp| Time(u64::from_le_bytes(stamp)));
        Ok(Some(Item::Frame { route: route(header), body, departed }))
    }

    /// If the next frame has bulk and all in front of that is there: takes what the buffer holds of it, and has the rest
    /// received where it stays.
    fn begin_bulk(&mut self) -> Result<(), Faulty> {
        let Some(header) = self.header()? else { return Ok(()) };
        if !header.has_bulk {
            return Ok(());
        }
        // Else a frame could be whole, and the length of its bulk be waited for.
        let behind = header.length as usize - HEADER_BYTES;
        if behind < BULK_LENGTH_BYTES {
            return self.malformed(&format!("bulk, and {behind} bytes behind its header"));
        }
        let start = self.filled.start;
        let told = self.buffer[start + HEADER_BYTES..self.filled.end].first_chunk::<BULK_LENGTH_BYTES>();
        let Some(told) = told else { return Ok(()) };
        let len = u32::from_le_bytes(*told) as usize;
        let possible = FRAME_BULK_BYTES.min(behind - BULK_LENGTH_BYTES);
        if len == 0 || len > possible {
            return self.malformed(&format!("bulk of {len} bytes, where {possible} are possible"));
        }
        let body = start + HEADER_BYTES + BULK_LENGTH_BYTES..start + header.length as usize - len;
        if body.len() > MAX_BODY_BYTES {
            return self.malformed(&format!("its body of {} bytes exceeds {MAX_BODY_BYTES}", body.len()));
        }
        if body.end > self.filled.end {
            return Ok(());
        }
        let check = if self.is_checked { check_in_place(&mut self.buffer[start..body.end]) } else { 0 };
        self.filled.start = body.end;
        self.incoming = Some(Incoming { header, body, bulk: Vec::new(), len, check });
        self.absorb();
        Ok(())
    }

    /// Moves what the buffer holds of the bulk that is coming.
    fn absorb(&mut self) {
        let Some(incoming) = &mut self.incoming else { return };
        let count = incoming.left().min(self.filled.len());
        let piece = &self.buffer[self.filled.start..self.filled.start + count];
        incoming.make_room();
        incoming.bulk.extend_from_slice(piece);
        if self.is_checked {
            incoming.check = check_more(incoming.check, piece);
        }
        self.filled.start += count;
    }

    /// The frame whose bulk was begun, if all of that is there.
    fn whole_bulk(&mut self) -> Result<Option<Item<'_>>, Faulty> {
        let Some(incoming) = self.incoming.take_if(|incoming| incoming.left() == 0) else { return Ok(None) };
        if self.is_checked {
            self.compare(incoming.header, incoming.check)?;
        }
        self.sequence = self.sequence.wrapping_add(1);
        self.after_bulk = true;
        let (body, bulk) = (&self.buffer[incoming.body], incoming.bulk.into());
        Ok(Some(Item::FrameWithBulk { route: route(incoming.header), body, bulk }))
    }

    fn compare(&mut self, header: Header, check: u32) -> Result<(), Faulty> {
        if header.check == check {
            return Ok(());
        }
        Err(self.unattributed(&format!("its checksum is {:#010x} instead of {check:#010x}", header.check)))
    }

    /// With the frame in which that is.
    fn in_frame(&self, what: &str) -> String {
        format!("frame {} of the stream: {what}", self.sequence)
    }

    /// Something is wrong with the next frame, and no checksum tells that its sender made it so.
    #[cold]
    fn unattributed(&mut self, what: &str) -> Faulty {
        let what = self.in_frame(what);
        let error = if self.is_checked { LinkError::Damaged(what) } else { LinkError::Malformed(what) };
        self.fault = Some(Fault::Certain(error));
        Faulty
    }

    /// Something is wrong with the next frame, of which the header is there and the length possible. Told once it is known whose
    /// fault that is.
    #[cold]
    fn malformed(&mut self, what: &str) -> Result<(), Faulty> {
        if !self.is_checked {
            return Err(self.unattributed(what));
        }
        let what = self.in_frame(what);
        let len = self.word().map_or(0, |word| word as usize);
        let front = &mut self.buffer[self.filled.clone()];
        let header = front.first_chunk_mut::<HEADER_BYTES>().expect("the header is there");
        self.fault = Some(Fault::Suspected(Suspect::new(what, header, len)));
        self.filled.start += HEADER_BYTES;
        self.absorb_suspect();
        if matches!(self.fault, Some(Fault::Certain(_))) { Err(Faulty) } else { Ok(()) }
    }

    /// Takes what the buffer holds of a frame whose checksum is wanted for nothing else than whose fault it is.
    fn absorb_suspect(&mut self) {
        let Some(Fault::Suspected(suspect)) =
            self.fault.take_if(|fault| matches!(fault, Fault::Suspected(_)))
        else {
            return;
        };
        let (count, fault) = suspect.absorb(&self.buffer[self.filled.clone()]);
        self.filled.start += count;
        self.fault = Some(fault);
    }
}

/// Bytes of the time at the end of a frame.
#[inline]
fn stamp_bytes(header: Header) -> usize {
    if header.is_stamped { STAMP_BYTES } else { 0 }
}

#[inline]
fn route(header: Header) -> Route {
    Route { from: header.from, to: header.to, kind: header.kind, token: header.token }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_contract::{Address, Kind, Token};

    #[test]
    fn what_is_announced_only_takes_little_memory() {
        let header = Header {
            length: (HEADER_BYTES + BULK_LENGTH_BYTES + FRAME_BULK_BYTES) as u32,
            kind: Kind(0xf0),
            has_bulk: true,
            is_stamped: false,
            token: Token(1),
            from: Address::new(1, 1),
            to: Address::new(2, 2),
            sequence: 0,
            check: 0,
        };
        let mut reader = FrameReader::new(Pages::new(BUFFER_BYTES).expect("there is memory"), false);
        let announced = [&header.to_bytes()[..], &(FRAME_BULK_BYTES as u32).to_le_bytes()].concat();
        let Some(Room::Buffer(room)) = reader.room() else { panic!("it waits for a frame") };
        room[..announced.len()].copy_from_slice(&announced);
        reader.received(announced.len());
        let mut came = 0;
        while came < FRAME_BULK_BYTES {
            let Some(Room::Bulk(room)) = reader.room() else { panic!("it waits for bulk") };
            let len = room.len();
            assert!(came + len <= EARNEST_BYTES || came >= EARNEST_BYTES, "room for {len} after {came}");
            room.fill(MaybeUninit::new(7));
            reader.received(len);
            came += len;
        }
        let item = reader.next().expect("nothing is wrong").expect("it is whole");
        assert!(matches!(item, Item::FrameWithBulk { bulk, .. } if bulk == vec![7; FRAME_BULK_BYTES]));
    }
}
