//! The reading side of a ring. Its writer may be hostile.

use super::{PADDING, PUBLISH_SHARE, RingLimits, extent};
use crate::shared_memory::bulk::{BULK_OUTLINE_BYTES, Bulk};
use crate::shared_memory::store::{ReadStore, SLOT};
use crate::sync::{AtomicU64, Ordering, fence};
use core::ops::Range;
use quintet_contract::Time;
use quintet_contract::limits::HEADER_BYTES;
use quintet_wire::{Header, STAMP_BYTES};

/// Reads frames.
#[derive(Debug)]
pub(crate) struct RingReader<S> {
    store: S,
    limits: RingLimits,
    /// Bytes read since the ring began, padding included.
    position: u64,
    /// The head that the writer was told last.
    published: u64,
    /// The next frame's number.
    sequence: u32,
    /// The last frame's bytes behind the header, out of the writer's reach.
    copy: Box<[u8]>,
    /// Where in the copy its body lies.
    body: Range<usize>,
}

/// A frame, copied and checked.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Received<'a> {
    pub(crate) header: Header,
    pub(crate) body: &'a [u8],
    /// Bulk, which lies elsewhere: its length is within the limit, its lead within its length.
    pub(crate) bulk: Option<Bulk>,
    /// When it departed, as its sender says, if it says so.
    pub(crate) departed: Option<Time>,
}

/// What a checked header says about the bytes behind it.
struct Layout {
    header: Header,
    inline_len: usize,
    bulk: Option<Bulk>,
}

impl<S: ReadStore> RingReader<S> {
    /// Reads a ring from its first frame.
    pub(crate) fn new(store: S, limits: RingLimits) -> Self {
        let copy = vec![0; limits.inline_bytes].into_boxed_slice();
        RingReader { store, limits, position: 0, published: 0, sequence: 0, copy, body: 0..0 }
    }

    /// Whether [`RingReader::next`] would give something.
    #[inline]
    pub(crate) fn has_frame(&self) -> bool {
        match self.store.word(self.offset()).load(Ordering::Relaxed) {
            0 => false,
            PADDING => {
                // Without it the word at the start might be read as it was a lap ago.
                fence(Ordering::Acquire);
                self.store.word(0).load(Ordering::Relaxed) != 0
            }
            _ => true,
        }
    }

    /// Fetches the second line of the next frame, so that it comes along with the first while a wait looks at that. It is
    /// fetched again if it was too early; where two processors are far from each other, each line costs a third of a round trip.
    #[inline]
    pub(crate) fn fetch_ahead(&self) {
        self.store.prefetch((self.offset() + SLOT) & (self.store.size() - 1));
    }

    /// The next frame, if one was committed.
    ///
    /// # Errors
    /// What the writer wrote that is no frame. The ring cannot be read any further.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<Received<'_>>, String> {
        let mut word = self.committed();
        if word == PADDING {
            self.skip_padding()?;
            word = self.committed();
        }
        if word == 0 {
            return Ok(None);
        }
        let Layout { header, inline_len, bulk } = self.check(word)?;
        let at = self.offset() + HEADER_BYTES;
        let copy = &mut self.copy[..inline_len];
        self.store.read(at, copy);
        self.position += extent(HEADER_BYTES + inline_len) as u64;
        self.sequence = self.sequence.wrapping_add(1);
        let (end, departed) = match copy.split_last_chunk::<STAMP_BYTES>() {
            Some((body, stamp)) if header.is_stamped => (body.len(), Some(Time(u64::from_le_bytes(*stamp)))),
            _ => (inline_len, None),
        };
        self.body = if header.has_bulk { BULK_OUTLINE_BYTES..end } else { 0..end };
        Ok(Some(Received { header, body: self.body(), bulk, departed }))
    }

    /// The body of the last frame, until the next is read.
    #[inline]
    pub(crate) fn body(&self) -> &[u8] {
        &self.copy[self.body.clone()]
    }

    /// Tells the writer how far everything was read, if that is worth it. True if it was told.
    #[inline]
    pub(crate) fn publish(&mut self, head: &AtomicU64) -> bool {
        let worth = self.position - self.published >= (self.store.size() / PUBLISH_SHARE) as u64;
        if worth {
            self.published = self.position;
            head.store(self.position, Ordering::Release);
        }
        worth
    }

    /// The commit word of the next frame; what lies behind it may be read if it is not zero.
    #[inline]
    fn committed(&self) -> u32 {
        let word = self.store.word(self.offset()).load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        word
    }

    fn skip_padding(&mut self) -> Result<(), String> {
        match self.offset() {
            // It would have the reader turn round for ever.
            0 => Err(format!("padding at the ring's start, byte {}", self.position)),
            offset => {
                self.position += (self.store.size() - offset) as u64;
                Ok(())
            }
        }
    }

    /// Copies the header once, then checks the copy.
    #[inline]
    fn check(&self, word: u32) -> Result<Layout, String> {
        let at = self.offset();
        // The rest of a short body comes while the header is checked.
        self.fetch_ahead();
        let bytes = self.store.header(at, word);
        let longest = HEADER_BYTES + self.limits.inline_bytes + self.limits.lent_bytes;
        let longest = u32::try_from(longest).expect("limits lie below 4 GiB");
        let header = Header::from_bytes(&bytes, longest).map_err(|error| self.complain(error))?;
        if header.sequence != self.sequence {
            return Err(
                self.complain(format_args!("frame number {} instead of {}", header.sequence, self.sequence))
            );
        }
        let behind = header.length as usize - HEADER_BYTES;
        let bulk = if header.has_bulk { Some(self.bulk(at, behind)?) } else { None };
        let inline_len = behind - bulk.map_or(0, Bulk::len);
        if inline_len > self.limits.inline_bytes || at + extent(HEADER_BYTES + inline_len) > self.store.size()
        {
            return Err(self.complain(format_args!("a frame of {inline_len} bytes that does not fit there")));
        }
        Ok(Layout { header, inline_len, bulk })
    }

    /// What is told of the bulk, copied once, then checked against the `behind` bytes behind the header. A bulk of no bytes
    /// is none: its sender would have sent a frame without.
    fn bulk(&self, at: usize, behind: usize) -> Result<Bulk, String> {
        let mut bytes = [0; BULK_OUTLINE_BYTES];
        self.store.read(at + HEADER_BYTES, &mut bytes);
        let bulk = Bulk::from_bytes(bytes);
        let len = bulk.len();
        let limit = match bulk {
            Bulk::InRing(_) => self.limits.bulk_bytes,
            Bulk::Lent(_) => self.limits.lent_bytes,
        };
        let possible = behind.saturating_sub(BULK_OUTLINE_BYTES).min(limit);
        if behind < BULK_OUTLINE_BYTES || len == 0 || len > possible {
            return Err(self.complain(format_args!("bulk of {len} bytes, where {possible} are possible")));
        }
        match bulk {
            Bulk::InRing(outline) if outline.lead > len => {
                Err(self.complain(format_args!("{} bytes that lead a bulk of {len}", outline.lead)))
            }
            _ => Ok(bulk),
        }
    }

    #[cold]
    fn complain(&self, what: impl core::fmt::Display) -> String {
        format!("at byte {} of the ring: {what}", self.position)
    }

    #[inline]
    fn offset(&self) -> usize {
        self.position as usize & (self.store.size() - 1)
    }
}
