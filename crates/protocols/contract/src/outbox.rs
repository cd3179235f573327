//! Where a protocol's effects go.

use crate::{Address, CELL_WORDS, Cell, DownCause, Kind, Seen, Token};
use bytes::Bytes;
use core::fmt;

/// How a protocol has a link closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Disconnect {
    /// For a peer that broke the protocol, or that this side gives up. This node's instances learn
    /// [`Down(Misbehaved)`](crate::DownCause::Misbehaved), the peer's `Down(Closed)`.
    ForGood,
    /// For a link that may be broken without a sign: the peer is to come back over the next one. This node's instances learn
    /// [`Down(Silent)`](crate::DownCause::Silent), the peer's `Down(Died)`, as of every cut; or `Down(Closed)`, where links cannot be cut.
    UntilNextLink,
}

impl Disconnect {
    /// What the instances of the node that closes the link learn.
    #[must_use]
    pub const fn cause(self) -> DownCause {
        match self {
            Disconnect::ForGood => DownCause::Misbehaved,
            Disconnect::UntilNextLink => DownCause::Silent,
        }
    }
}

/// Why a frame was not taken. Nothing of it was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendError {
    /// No room now. The host says [`Input::Writable`](crate::Input::Writable) for that address when there is.
    Full,
    /// Longer than this outbox carries, ever.
    TooLong {
        /// Bytes offered.
        len: usize,
        /// Bytes this outbox carries.
        limit: usize,
    },
    /// Nothing is known under that address, or its link is down.
    Unreachable,
}

/// A named part of a protocol's work, for the report that explains a delay. Numbered within its protocol.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Stage(pub u8);

/// Takes what a protocol sends. Object-safe on purpose: dynamic dispatch costs nothing measurable here.
///
/// A frame is encoded where it will lie: `begin` gives the room, `commit` sends as much of it as was filled. Frames to one address arrive in
/// the order of their commits, or not at all when the address fails.
pub trait Outbox {
    /// Room for a body of at most `at_most` bytes, of any content. A second `begin` before `commit` abandons the first. What is asked for has
    /// to fit, though the body may become shorter.
    ///
    /// # Errors
    /// Why the frame cannot be taken; nothing was changed.
    fn begin(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        at_most: usize,
    ) -> Result<&mut [u8], SendError>;

    /// Sends the frame begun last, with the first `len` bytes of its room as the body.
    ///
    /// # Panics
    /// If none was begun, or with less room: a defect of the calling protocol.
    fn commit(&mut self, len: usize);

    /// Asks the link to stamp the frame begun last, when it departs and when it arrives: its receiver finds [`Frame::stamps`](crate::Frame::stamps). Said
    /// between `begin` and `commit`. What goes by no link, by one that cannot tell, or not at the first try, has none.
    fn stamp(&mut self) {}

    /// Sends `head` as the body, and `bulk` with it, shared and not copied where the link allows.
    ///
    /// # Errors
    /// Why the frame cannot be taken; nothing was changed.
    fn send_bulk(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        head: &[u8],
        bulk: Bytes,
    ) -> Result<(), SendError>;

    /// Has the host close the link to the peer's node once this `handle` is over. Frames committed before still go, as far as they
    /// can; frames after it are refused or lost, and one that was only begun is abandoned. Nothing that the peer sent is shown any more.
    ///
    /// A link is shared by all pairs of addresses that the two nodes join over it, so every one of them is cut: which instance
    /// a node's garbage reaches is the node's own choice. On this node each learns of it once, on the peer's after what was sent before: as what,
    /// [`Disconnect`] says. The peer may come back over a new link. Without a link, and for an address of the own
    /// node, nothing happens.
    fn disconnect(&mut self, peer: Address, how: Disconnect);

    /// Declares work done since the last frame. Simulated, it costs the modelled cycles of `stage` and the next frame
    /// departs after it; live, it may fill a histogram.
    fn work(&mut self, _stage: Stage, _units: u32) {}

    /// Writes a [`cell`](crate::cell()); [`CellWriter::poke`](crate::CellWriter::poke) says it. Live, the value is there at once. Simulated, it is there
    /// after the work declared before it, as the next frame departs then.
    fn poke(&mut self, cell: &Cell, words: [u64; CELL_WORDS]) {
        cell.write(words);
    }

    /// Reads a cell; [`CellReader::peek`](crate::CellReader::peek) says it. A recorder keeps what was read; a replay puts it back. Simulated, the value may be
    /// one that was replaced a moment ago, as it may be between two processors.
    fn peek(&mut self, cell: &Cell, seen: &mut Seen) {
        cell.read(seen);
    }

    /// Sends a body that already lies encoded.
    ///
    /// # Errors
    /// As [`Outbox::begin`].
    fn send(&mut self, to: Address, kind: Kind, token: Token, body: &[u8]) -> Result<(), SendError> {
        self.begin(to, kind, token, body.len())?.copy_from_slice(body);
        self.commit(body.len());
        Ok(())
    }
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SendError::Full => f.write_str("no room in the link now"),
            SendError::TooLong { len, limit } => write!(f, "{len} bytes, above the limit of {limit}"),
            SendError::Unreachable => f.write_str("no link to that address"),
        }
    }
}

impl core::error::Error for SendError {}
