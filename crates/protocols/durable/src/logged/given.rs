//! An input that outlives its call.

use quintet_contract::{Address, Input, OwnedFrame, PeerChange};

/// An input that outlives its call.
#[derive(Debug)]
pub(super) enum Given {
    Started,
    Wake,
    Frame(Address, OwnedFrame),
    Writable(Address),
    Peer(Address, PeerChange),
}

impl Given {
    pub(super) fn new(input: Input<'_>) -> Given {
        match input {
            Input::Started => Given::Started,
            Input::Wake => Given::Wake,
            Input::Frame(from, frame) => Given::Frame(from, frame.to_owned()),
            Input::Writable(to) => Given::Writable(to),
            Input::Peer(peer, change) => Given::Peer(peer, *change),
        }
    }

    pub(super) fn input(&self) -> Input<'_> {
        match self {
            Given::Started => Input::Started,
            Given::Wake => Input::Wake,
            Given::Frame(from, frame) => Input::Frame(*from, frame.borrow()),
            Given::Writable(to) => Input::Writable(*to),
            Given::Peer(peer, change) => Input::Peer(*peer, change),
        }
    }
}
