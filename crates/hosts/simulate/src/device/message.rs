//! What goes in and out of a device.

use crate::picos::Picos;
use quintet_contract::Random;

/// A station: its index in the device's connection list.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Station(pub u16);

impl Station {
    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// How urgent a message is. Only the timed token ring treats the two differently.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Class {
    /// Sent when there is time.
    #[default]
    Asynchronous,
    /// Sent within its station's allocation at every visit of the token.
    Synchronous,
}

/// A message to be carried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// Comes back in the [`Outcome`]; chosen by the host, one for each message.
    pub ticket: u64,
    /// The sender.
    pub from: Station,
    /// The receiver. A station may send to itself; the message takes the medium as any other.
    pub to: Station,
    /// The bytes handed to the device, before words, blocks and their overhead. Zero is a message too.
    pub bytes: u64,
    /// How urgent it is.
    pub class: Class,
    /// What it takes where a server works on it: in a [`Pool`](super::Pool). Media take no notice.
    pub work: Picos,
}

/// What became of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Its last bit has reached the receiver.
    Delivered {
        /// The message's.
        ticket: u64,
    },
    /// The rest of it was given up.
    Dropped {
        /// The message's.
        ticket: u64,
        /// Why.
        why: DropCause,
    },
}

impl Outcome {
    /// The message's ticket.
    #[must_use]
    pub const fn ticket(self) -> u64 {
        match self {
            Outcome::Delivered { ticket } | Outcome::Dropped { ticket, .. } => ticket,
        }
    }
}

/// Why a device gave a message up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DropCause {
    /// One of its blocks collided as often as the retry limit allows.
    RetryLimit,
    /// An output port's buffer had no room, or could never hold a block of it.
    BufferFull,
    /// It was lost on a link.
    LinkLoss,
    /// A synchronous block takes longer than its station's allocation.
    NoAllocation,
    /// The sender or the receiver is not in the connection list, or there is no way between the two.
    NoStation,
}

/// A point in time at which a device wants to be woken. Opaque: the host hands it back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timer {
    pub(crate) what: Alarm,
    pub(crate) station: Station,
    /// Which alarm of its kind this is; a device compares it with the one it waits for.
    pub(crate) stamp: u64,
}

/// What a timer is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Alarm {
    /// A transmission ends.
    End,
    /// A station tries to send.
    Try,
    /// A station hears a collision.
    Collide,
    /// The last bit reaches the receiver; the stamp is the ticket.
    Arrive,
    /// A contention slot ends.
    Slot,
    /// The token reaches a station that has something to send.
    Token,
    /// A block has entered a switch far enough to be buffered.
    Enter,
    /// A block may leave a switch.
    Ready,
    /// A block has left a switch.
    Leave,
}

/// What follows from a call. The buffers are the host's, kept from call to call.
#[derive(Debug)]
pub struct Effects<'a> {
    /// The device's random stream.
    pub random: &'a mut Random,
    /// Timers to be set, none earlier than the call's `now`.
    pub timers: &'a mut Vec<(Picos, Timer)>,
    /// What became of messages, at the call's `now`.
    pub outcomes: &'a mut Vec<Outcome>,
}

impl Effects<'_> {
    pub(crate) fn set(&mut self, at: Picos, what: Alarm, station: Station, stamp: u64) {
        if at < Picos::NEVER {
            self.timers.push((at, Timer { what, station, stamp }));
        }
    }

    pub(crate) fn delivered(&mut self, ticket: u64) {
        self.outcomes.push(Outcome::Delivered { ticket });
    }

    pub(crate) fn dropped(&mut self, ticket: u64, why: DropCause) {
        self.outcomes.push(Outcome::Dropped { ticket, why });
    }
}
