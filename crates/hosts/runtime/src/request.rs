//! Encoding a caller's request as the frame a remote one would be.

use bytes::Bytes;
use quintet_contract::limits::MAX_PAYLOAD_BYTES;
use quintet_contract::{Address, Disconnect, Frame, Kind, Outbox, SendError, Token};

/// Writes one request into an outbox: to the address, with the token, given; the second token is the oldest this caller
/// has not settled yet (all answers below it have been received for good).
pub trait Request {
    /// Writes it. Called once.
    ///
    /// # Errors
    /// What the outbox says.
    fn write(&self, out: &mut dyn Outbox, to: Address, token: Token, settled: Token)
    -> Result<(), SendError>;
}

impl<F: Fn(&mut dyn Outbox, Address, Token, Token) -> Result<(), SendError>> Request for F {
    fn write(
        &self,
        out: &mut dyn Outbox,
        to: Address,
        token: Token,
        settled: Token,
    ) -> Result<(), SendError> {
        self(out, to, token, settled)
    }
}

/// Holds the one frame of a request. Kept from call to call, so that a request allocates nothing.
#[derive(Default)]
pub(crate) struct RequestBuffer {
    /// As long as the longest body so far.
    body: Vec<u8>,
    head: Option<Head>,
    bulk: Bytes,
}

#[derive(Clone, Copy)]
struct Head {
    kind: Kind,
    token: Token,
    /// Bytes of the body.
    len: usize,
}

impl RequestBuffer {
    /// The frame that was written, if one was.
    pub(crate) fn frame(&self) -> Option<Frame<'_>> {
        let Head { kind, token, len } = self.head?;
        Some(Frame { kind, token, body: &self.body[..len], bulk: &self.bulk, stamps: None })
    }

    pub(crate) fn clear(&mut self) {
        self.head = None;
        self.bulk = Bytes::new();
    }
}

impl Outbox for RequestBuffer {
    fn begin(
        &mut self,
        _to: Address,
        kind: Kind,
        token: Token,
        at_most: usize,
    ) -> Result<&mut [u8], SendError> {
        if at_most > MAX_PAYLOAD_BYTES {
            return Err(SendError::TooLong { len: at_most, limit: MAX_PAYLOAD_BYTES });
        }
        self.head = Some(Head { kind, token, len: at_most });
        if self.body.len() < at_most {
            self.body.resize(at_most, 0);
        }
        Ok(&mut self.body[..at_most])
    }

    fn commit(&mut self, len: usize) {
        let head = self.head.as_mut().expect("commit follows begin");
        assert!(len <= head.len, "{len} bytes were written into room for {}", head.len);
        head.len = len;
    }

    fn send_bulk(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        head: &[u8],
        bulk: Bytes,
    ) -> Result<(), SendError> {
        self.begin(to, kind, token, head.len())?.copy_from_slice(head);
        self.bulk = bulk;
        Ok(())
    }

    /// A request is one frame and has no links.
    fn disconnect(&mut self, _peer: Address, _how: Disconnect) {}
}
