//! Bulk that is lent instead of copied: its bytes stay where the sender has them, and the receiver looks at them there.
//!
//! A *segment* (`segment.rs`) is sealed memory that holds one bulk; a program gets one as a [`Buffer`](super::pool::Buffer), and
//! whoever was lent one may lend it on. A *place* is a number under which a link's receiver knows a segment, at most [`PLACES`] in each
//! direction. The descriptor of a segment crosses once, over the socket of the bootstrap, before the first frame that names its
//! place; later frames name the place alone.
//!
//! ```text
//!   lender                                  borrower
//!   sends the descriptor, if it is new      (a socket)
//!   commits a frame: place, length   --->   maps the segment, if it is new; delivers a view
//!   keeps the bulk                          ...
//!   lets the bulk go                 <---   the last view is dropped: counts the return in its own memory
//! ```
//!
//! - **A segment is not written while it is lent**, and used again only after every return. A return is one addition to a word that
//!   the borrower writes, from whatever thread drops the view; the lender looks at the words when it flushes. Nobody waits for one.
//! - **What never comes back is never written again**: a link that ends takes the lends with it that are still out, and their
//!   segments are *retired*. Whoever had lent such a segment on says so beside its own return, up to who made it, and that one
//!   does not use it again. So a view stays what it was, whoever dies or closes; its memory goes with the last mapping.
//! - **What lies elsewhere is copied into a segment**, once, by who sends it; such copies take half of the places at most, and
//!   [`COPIED_BYTES`].
//! - **What cannot be lent goes through the ring**: it is short, or there is no place, no descriptor or no memory. What is too long for
//!   the ring is refused then: its sender cuts it.
//! - **Bound**: a peer has at most [`PLACES`] segments mapped here for each link, of [`LENT_BYTES`] all together, another one in a place only when
//!   all views of the last have gone, besides those whose links have ended while views were out; the descriptors of all links together are a quarter of this process's, and each link is told its share (`lending/share.rs`).
//! - **A long segment is forgotten with its last view** ([`REMEMBERED_BYTES`]), so that its memory goes back when its maker lets it go. The
//!   place has none then, and the next lend brings a descriptor.
//! - **Trust**: a frame tells a place and a length, which are checked against what is mapped here. A segment cannot shrink and has all
//!   its pages, so reading never faults. Its bytes are as the maker wrote them for as long as the maker keeps to the first rule; a
//!   process of the same user that does not may change them under a reader, who must not conclude anything from them that a change could
//!   make untrue. The space keeps neither lengths nor text there.
//!
//! | file | holds |
//! | --- | --- |
//! | `lending/lender.rs` | the sending side: what is lent in which place |
//! | `lending/borrower.rs` | the receiving side: segments by place, and views |
//! | `lending/returns.rs` | how a lend comes back |
//! | `lending/share.rs` | how many places a link gets of this process's descriptors |

#[cfg(not(loom))]
mod borrower;
#[cfg(not(loom))]
mod lender;
mod returns;
#[cfg(not(loom))]
mod share;
#[cfg(all(test, not(loom)))]
mod tests;

#[cfg(not(loom))]
pub(crate) use borrower::Borrower;
#[cfg(not(loom))]
pub(crate) use lender::{Lender, Way};
pub(crate) use returns::{give_back, is_back};
#[cfg(not(loom))]
pub(crate) use share::Share;

use quintet_contract::limits::MAX_BULK_BYTES;

/// Segments that a peer can be lent over one link at a time.
pub(crate) const PLACES: usize = 16;
/// The shortest bulk that is lent: a page.
#[cfg(not(loom))]
pub(crate) const SHORTEST_BYTES: usize = 4096;
/// The longest segment: it holds the bulk of one message.
pub(crate) const SEGMENT_BYTES: usize = MAX_BULK_BYTES;
/// Bytes of all segments together that a peer can be lent over one link at a time.
#[cfg(not(loom))]
pub(crate) const LENT_BYTES: usize = SEGMENT_BYTES;
/// The longest segment that both sides remember while it is not lent. All that a link's places remember is 64 MiB.
#[cfg(not(loom))]
pub(crate) const REMEMBERED_BYTES: usize = 4 * 1024 * 1024;
/// Bytes of the copies that one end makes to lend them, at most, so that a peer who keeps them takes no more memory, and
/// none takes long to make.
#[cfg(not(loom))]
pub(crate) const COPIED_BYTES: usize = 64 * 1024 * 1024;

/// Where a frame's bulk lies that is lent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Lent {
    /// All of its bytes, from the segment's beginning.
    pub(crate) len: usize,
    /// The segment; below [`PLACES`].
    pub(crate) place: usize,
    /// The place has another segment from here on: its descriptor is the next on the socket.
    pub(crate) is_new: bool,
}

/// In the word that tells a lead where bulk lies in the ring: it is lent.
const IS_LENT: u32 = 1 << 31;
/// Beside it: [`Lent::is_new`].
const IS_NEW: u32 = 1 << 30;

impl Lent {
    /// The word for the frame.
    pub(crate) fn to_word(self) -> u32 {
        let place = u32::try_from(self.place).expect("there are few places");
        IS_LENT | if self.is_new { IS_NEW } else { 0 } | place
    }

    /// What a peer wrote, if it says that its bulk is lent. The place is not checked.
    pub(crate) fn from_word(len: usize, word: u32) -> Option<Lent> {
        let place = (word & !(IS_LENT | IS_NEW)) as usize;
        (word & IS_LENT != 0).then_some(Lent { len, place, is_new: word & IS_NEW != 0 })
    }
}
