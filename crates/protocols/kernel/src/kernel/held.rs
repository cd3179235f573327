//! Frames for which there was no room, in their order.

use quintet_contract::{Address, Frame, Outbox, OwnedFrame, SendError};
use std::collections::VecDeque;

/// What a frame takes here beside its bytes, about.
const FRAME_BYTES: u64 = 64;

/// Frames that wait for room in one link, each of a client.
#[derive(Debug, Default)]
pub(super) struct Held {
    frames: VecDeque<(Address, OwnedFrame)>,
    bytes: u64,
}

impl Held {
    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Keeps a frame of a client. So many bytes.
    pub(super) fn keep(&mut self, client: Address, frame: OwnedFrame) -> u64 {
        let bytes = bytes(&frame.borrow());
        self.bytes += bytes;
        self.frames.push_back((client, frame));
        bytes
    }

    /// The oldest.
    pub(super) fn first(&self) -> Option<Frame<'_>> {
        self.frames.front().map(|(_, frame)| frame.borrow())
    }

    /// Takes the oldest: whose it is, and its bytes.
    pub(super) fn take(&mut self) -> Option<(Address, u64)> {
        let (client, frame) = self.frames.pop_front()?;
        let bytes = bytes(&frame.borrow());
        self.bytes -= bytes;
        Some((client, bytes))
    }
}

fn bytes(frame: &Frame<'_>) -> u64 {
    FRAME_BYTES + (frame.body.len() + frame.bulk.len()) as u64
}

/// Sends a frame as it lies.
///
/// # Errors
/// As [`Outbox::begin`].
pub(super) fn send(to: Address, frame: &Frame<'_>, out: &mut dyn Outbox) -> Result<(), SendError> {
    match frame.bulk.is_empty() {
        true => out.send(to, frame.kind, frame.token, frame.body),
        false => out.send_bulk(to, frame.kind, frame.token, frame.body, frame.bulk.clone()),
    }
}
