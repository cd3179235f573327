//! What every link provides. One conformance suite (`tests/conformance.rs`) runs on every implementation.

use crate::Packets;
#[cfg(not(loom))]
use crate::{BootstrapError, End, LinkAddress, NotAccepted};
use bytes::Bytes;
use core::fmt;
use core::time::Duration;
use quintet_clock::LiveClock;
use quintet_contract::{Address, Frame, Kind, LinkInfo, SendError, Token};
use std::os::fd::BorrowedFd;

/// Where a frame goes and what it means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Route {
    /// The sender.
    pub from: Address,
    /// The receiver.
    pub to: Address,
    /// What it means.
    pub kind: Kind,
    /// Which request it is, or answers.
    pub token: Token,
}

/// The sending half of one end.
pub trait Sender: Send {
    /// Room for a body of at most `at_most` bytes, where it will lie. A second `begin` abandons the first.
    ///
    /// # Errors
    /// [`SendError::Full`] when there is no room now, [`SendError::TooLong`], [`SendError::Unreachable`] when the link failed.
    fn begin(&mut self, route: Route, at_most: usize) -> Result<&mut [u8], SendError>;

    /// Sends the frame begun last, with the first `len` bytes of its room as the body. The peer may see it at once; it is sure to be woken
    /// only by [`Sender::flush`].
    ///
    /// # Panics
    /// If none was begun, or with less room: a defect of the caller.
    fn commit(&mut self, len: usize);

    /// Lets the frame begun last carry the time at which it departs, and asks the peer's end for the time at which it arrives. A link that
    /// cannot tell sends it without.
    fn stamp(&mut self) {}

    /// The clock of stamps. Before this is said, they count from when the link was made.
    fn set_clock(&mut self, _clock: LiveClock) {}

    /// How many writes each frame is sent with from now on. Before this is said, as few as can be.
    fn set_packets(&mut self, _packets: Packets) {}

    /// Sends a body with bulk data of at most [`LinkInfo::max_bulk_bytes`]. A link that lends may refuse long bulk that it cannot lend
    /// now, and says how much it takes ([`SendError::TooLong`]).
    ///
    /// # Errors
    /// As [`Sender::begin`].
    fn send_bulk(&mut self, route: Route, body: &[u8], bulk: Bytes) -> Result<(), SendError>;

    /// Ends a burst: what was committed is visible, and a sleeping peer is woken. Free when nothing was sent.
    ///
    /// # Errors
    /// What the operating system said.
    fn flush(&mut self) -> Result<(), LinkError>;

    /// Whether [`Sender::flush`] costs no system call while the peer is awake.
    fn is_free_to_flush(&self) -> bool {
        true
    }

    /// Whether a frame that answered [`SendError::Full`] may fit now. When the peer made room, a [`Receiver::wait`] of this end
    /// ends and [`Receiver::fd`] becomes readable; look here after it, and after [`Receiver::disarm`].
    fn has_room(&self) -> bool;

    /// Has the link end, when this half is dropped, as if it were cut: the peer is not told that it was closed. Where a link
    /// cannot be cut, nothing is different.
    fn abandon(&mut self) {}

    /// Has the link end, when this half is dropped, with word to the peer that it is not let in: its end is [`LinkError::Refused`]. Over shared
    /// memory and within a process the peer learns only that the link was closed.
    fn refuse(&mut self) {}

    /// Closes the link, as a drop of this half does, and waits until what was sent is on its way: for no longer than `limit`. A drop
    /// never waits: where the system takes nothing just then, the peer sees a cut. Nothing can be sent afterwards.
    fn close_within(&mut self, _limit: Duration) {}

    /// Bytes a second that the network was seen to carry of long bulk. None: it took too little time to be seen, or was not seen of late, or there is none.
    fn delivery_rate(&mut self) -> Option<u64> {
        None
    }

    /// What the link is, as the protocols that use it are told.
    fn info(&self) -> LinkInfo;
}

/// The receiving half of one end.
pub trait Receiver: Send {
    /// Hands at most `limit` frames to `deliver`, in order, and says how many. Never waits: a frame whose bulk is still on its
    /// way is delivered by a later poll. Where many frames have come close together and this end has sent none meanwhile, the
    /// next ones may gather for some microseconds before they are delivered.
    ///
    /// # Errors
    /// [`LinkError`] when the link failed; frames that arrived before are delivered first.
    fn poll(&mut self, limit: usize, deliver: &mut dyn FnMut(Route, Frame<'_>)) -> Result<usize, LinkError>;

    /// Whether `poll` would deliver something, or bring a frame nearer whose bulk comes in pieces.
    fn has_frames(&self) -> bool;

    /// The clock of stamps. Before this is said, they count from when the link was made.
    fn set_clock(&mut self, _clock: LiveClock) {}

    /// Whether a frame has come of whose bulk the rest is still on its way.
    fn awaits_bulk(&self) -> bool {
        false
    }

    /// Whether [`Receiver::poll`] costs no system call when there is nothing. Where it does, [`Receiver::fd`] is asked first.
    fn is_free_to_look_at(&self) -> bool {
        true
    }

    /// Waits, adaptively, until there are frames, the link failed, [`Receiver::waker`] rang or `limit` has passed (`None`: no limit).
    fn wait(&mut self, limit: Option<Duration>);

    /// Lets [`Receiver::wait`] spin so long before it sleeps, instead of [`SPIN`](crate::SPIN).
    fn set_spin(&mut self, spin: Duration);

    /// Ends a [`Receiver::wait`] from another thread; also one that begins just after the call.
    fn waker(&self) -> std::sync::Arc<dyn Fn() + Send + Sync>;

    /// Announces sleep to the sender, so that it will make [`Receiver::fd`] readable. False if frames came meanwhile:
    /// do not sleep then. Call [`Receiver::disarm`] after waking.
    fn arm(&mut self) -> bool;

    /// Ends what [`Receiver::arm`] began and drains the descriptor.
    fn disarm(&mut self);

    /// Readable when the receiver is armed and frames came, or when the link failed: for epoll, select, asyncio.
    fn fd(&self) -> BorrowedFd<'_>;
}

/// Waits for peers that connect.
#[cfg(not(loom))]
pub trait Listener: Send {
    /// The next connection that is complete, if there is one. Never waits; call it until it says `None` whenever
    /// [`Listener::fd`] is readable.
    ///
    /// # Errors
    /// Why one connection was not made; the listener is as good as before.
    fn accept(&mut self) -> Result<Option<End>, NotAccepted>;

    /// Readable when [`Listener::accept`] has something to do.
    fn fd(&self) -> BorrowedFd<'_>;

    /// Where it listens. Over TCP with the port that the system gave, where port 0 was asked for.
    fn address(&self) -> LinkAddress;
}

/// A connection that is being made.
#[cfg(not(loom))]
pub trait Dialer: Send {
    /// The connection, if it is complete. Never waits; call it whenever [`Dialer::fd`] is readable, until it is complete or
    /// failed, and not again after that. It has no limit of its own: to drop it gives the connection up.
    ///
    /// # Errors
    /// Why the connection cannot be made.
    fn finish(&mut self) -> Result<Option<End>, BootstrapError>;

    /// Readable when [`Dialer::finish`] has something to do.
    fn fd(&self) -> BorrowedFd<'_>;
}

/// Why a link failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LinkError {
    /// The peer closed it.
    Closed,
    /// The peer closed it, and said that it does not let this side in under the number that this side has given.
    Refused,
    /// The peer's process ended; over a link that may be cut, that was cut, or its end may have been the peer's.
    PeerDied,
    /// The peer's process ended, over a link that may be cut: its system says so.
    ProcessEnded,
    /// The peer wrote something that is no frame: what, and where. Over a link with checksums its checksum was right.
    Malformed(String),
    /// Something came over a link with checksums that is no frame, with a wrong checksum or none: it was changed on its way, and may
    /// come whole over another link.
    Damaged(String),
    /// The operating system refused, or a forked process used its parent's end: what was tried, and why not.
    System(String),
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkError::Closed => f.write_str("the other side closed the link"),
            LinkError::Refused => f.write_str(
                "the other side does not let this one in under the number that it has given: that belongs to another machine",
            ),
            LinkError::PeerDied | LinkError::ProcessEnded => f.write_str("the other side's process ended"),
            LinkError::Malformed(what) => {
                write!(f, "the other side wrote something that is no frame: {what}")
            }
            LinkError::Damaged(what) => {
                write!(f, "what the other side wrote was changed on its way: {what}; check the network")
            }
            LinkError::System(what) => write!(f, "the system refused: {what}"),
        }
    }
}

impl core::error::Error for LinkError {}

impl LinkError {
    /// A forked process uses its parent's end.
    #[cfg(not(loom))]
    pub(crate) fn inherited() -> Self {
        let what = "use a link in a forked process: it belongs to the process that made it; connect anew after the fork";
        LinkError::System(what.to_owned())
    }
}
