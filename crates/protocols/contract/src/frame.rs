//! What travels: a kind, a token, a body.

use crate::Time;
use bytes::Bytes;

/// What a frame means to the protocol that receives it. Numbers are given out in `wire`'s registry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Kind(pub u8);

/// Joins an answer to its request. Chosen by the requester, unique among its unanswered requests.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Token(pub u64);

/// A frame as a protocol receives it, borrowed from the link's buffer for the length of one `handle`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame<'a> {
    /// What it means.
    pub kind: Kind,
    /// Which request it is, or answers.
    pub token: Token,
    /// The encoded part. At most [`limits::MAX_BODY_BYTES`](crate::limits::MAX_BODY_BYTES).
    pub body: &'a [u8],
    /// Large data that came with it, empty if none. May be kept (cloning shares it, copying nothing).
    pub bulk: &'a Bytes,
    /// When it crossed its link, if its sender asked for that and the link can tell.
    pub stamps: Option<&'a Stamps>,
}

/// When a frame crossed a link, told by the link's two ends, not by the bursts in which protocols sent and got it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamps {
    /// When it was given to the link, by the sender's clock.
    pub departed: Time,
    /// When it was taken from the link, by this side's clock.
    pub arrived: Time,
}

/// A frame that owns its parts: what a queue, a journal or a simulated network holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OwnedFrame {
    /// See [`Frame::kind`].
    pub kind: Kind,
    /// See [`Frame::token`].
    pub token: Token,
    /// See [`Frame::body`].
    pub body: Bytes,
    /// See [`Frame::bulk`].
    pub bulk: Bytes,
}

static NO_BULK: Bytes = Bytes::new();

impl<'a> Frame<'a> {
    /// A frame without bulk data.
    #[must_use]
    pub fn new(kind: Kind, token: Token, body: &'a [u8]) -> Self {
        Frame { kind, token, body, bulk: &NO_BULK, stamps: None }
    }

    /// Copies the body, shares the bulk, drops the stamps.
    #[must_use]
    pub fn to_owned(&self) -> OwnedFrame {
        OwnedFrame {
            kind: self.kind,
            token: self.token,
            body: Bytes::copy_from_slice(self.body),
            bulk: self.bulk.clone(),
        }
    }
}

impl OwnedFrame {
    /// The frame as a protocol receives it.
    #[must_use]
    pub fn borrow(&self) -> Frame<'_> {
        Frame { kind: self.kind, token: self.token, body: &self.body, bulk: &self.bulk, stamps: None }
    }
}
