//! A frame between [`Outbox::begin`](crate::Outbox::begin) and [`Outbox::commit`](crate::Outbox::commit), for outboxes that keep it.

use crate::{Address, Kind, OwnedFrame, Token};
use bytes::Bytes;

/// A frame that was begun: whom it goes to, and room for its body.
#[derive(Debug)]
pub struct Draft {
    to: Address,
    kind: Kind,
    token: Token,
    room: Vec<u8>,
}

impl Draft {
    /// Room for a body of at most so many bytes.
    #[must_use]
    pub fn new(to: Address, kind: Kind, token: Token, at_most: usize) -> Self {
        Draft { to, kind, token, room: vec![0; at_most] }
    }

    /// Where the body is written.
    pub fn room(&mut self) -> &mut [u8] {
        &mut self.room
    }

    /// The frame, with the first `len` bytes of its room as the body, and whom it goes to.
    ///
    /// # Panics
    /// There is less room: a defect of the caller.
    #[must_use]
    pub fn commit(mut self, len: usize) -> (Address, OwnedFrame) {
        assert!(len <= self.room.len(), "{len} bytes were written into room for {}", self.room.len());
        self.room.truncate(len);
        let Draft { to, kind, token, room } = self;
        (to, OwnedFrame { kind, token, body: room.into(), bulk: Bytes::new() })
    }
}
