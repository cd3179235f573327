//! What a protocol is.

use crate::{Address, Frame, Incarnation, LinkInfo, Meter, Outbox, Time};

/// A state machine without I/O.
///
/// # Order of calls
/// A host calls `handle` with [`Input::Started`] once, first; then one input at a time. After every call it asks
/// [`deadline`](Protocol::deadline). `now` never decreases. `handle` is atomic: nothing else of this instance runs
/// meanwhile, and what it sends departs after it.
pub trait Protocol {
    /// Takes one input, changes state, sends what follows from it.
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox);

    /// When it wants [`Input::Wake`], if it does. The wake may come late, never early. A protocol may ask for a wake that finds
    /// nothing to do, now and then, where that is cheaper than to keep account; not again and again while nothing happens.
    fn deadline(&self) -> Option<Time>;

    /// Whether a frame, the first over a new link, shows that who sends it goes on with what this instance has with that address
    /// over another link: then a host puts the new link in the other's place, whose cut it need not have seen. Changes nothing.
    fn is_resumed_by(&self, _from: Address, _frame: Frame<'_>) -> bool {
        false
    }

    /// Tells what it counts, and then what those above it count. Changes nothing.
    fn measure(&self, _meter: &mut Meter<'_>) {}
}

/// What can happen to a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input<'a> {
    /// The host runs; the first input of every instance.
    Started,
    /// The deadline has passed.
    Wake,
    /// A frame came from an address.
    Frame(Address, Frame<'a>),
    /// An address that answered [`SendError::Full`](crate::SendError::Full) has room again.
    Writable(Address),
    /// A peer came or went.
    Peer(Address, &'a PeerChange),
}

/// How a peer changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PeerChange {
    /// It can be reached.
    Up {
        /// Which of its lives this is.
        incarnation: Incarnation,
        /// What its link is.
        link: LinkInfo,
    },
    /// It cannot be reached any more.
    Down(DownCause),
}

/// Why a peer cannot be reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DownCause {
    /// It said goodbye, or closed the link.
    Closed,
    /// Its process ended or its machine cut the link.
    Died,
    /// Nothing was heard of it for too long.
    Silent,
    /// It broke the protocol and was cut off.
    Misbehaved,
    /// It refused this side: another version or cluster, say. The number of the code in `errors`.
    Refused(u16),
}

impl<P: Protocol + ?Sized> Protocol for Box<P> {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        (**self).handle(now, input, out);
    }

    fn deadline(&self) -> Option<Time> {
        (**self).deadline()
    }

    fn is_resumed_by(&self, from: Address, frame: Frame<'_>) -> bool {
        (**self).is_resumed_by(from, frame)
    }

    fn measure(&self, meter: &mut Meter<'_>) {
        (**self).measure(meter);
    }
}
