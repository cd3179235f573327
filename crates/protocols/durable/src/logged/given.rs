//! An input that outlives its call.

use quintet_contract::{Address, Input, OwnedFrame, PeerChange};

/// An input that outlives its call.
#[derive(Debug)]
pub enum Given {
    /// The host runs.
    Started,
    /// The deadline has passed.
    Wake,
    /// A frame came.
    Frame(Address, OwnedFrame),
    /// An address has room again.
    Writable(Address),
    /// A peer came or went.
    Peer(Address, PeerChange),
}

impl Given {
    /// A copy.
    #[must_use]
    pub fn new(input: Input<'_>) -> Given {
        match input {
            Input::Started => Given::Started,
            Input::Wake => Given::Wake,
            Input::Frame(from, frame) => Given::Frame(from, frame.to_owned()),
            Input::Writable(to) => Given::Writable(to),
            Input::Peer(peer, change) => Given::Peer(peer, *change),
        }
    }

    /// The input.
    #[must_use]
    pub fn input(&self) -> Input<'_> {
        match self {
            Given::Started => Input::Started,
            Given::Wake => Input::Wake,
            Given::Frame(from, frame) => Input::Frame(*from, frame.borrow()),
            Given::Writable(to) => Input::Writable(*to),
            Given::Peer(peer, change) => Input::Peer(*peer, change),
        }
    }
}
