//! What waits for room on the way to one address.

use crate::codec::view_of;
use crate::logical_time::Rank;
use quintet_contract::{Address, Kind, Outbox, OwnedFrame, SendError};
use std::collections::VecDeque;

/// Frames for one address, in order; answers and the like pass the parts that wait, which need leave to be asked.
#[derive(Default, Debug)]
pub(crate) struct Lane {
    ahead: VecDeque<OwnedFrame>,
    parts: VecDeque<(Rank, OwnedFrame)>,
    /// The way is full, or not there yet.
    is_blocked: bool,
}

impl Lane {
    pub(crate) fn push(&mut self, frame: OwnedFrame) {
        self.ahead.push_back(frame);
    }

    /// What waited on another lane to the same address goes behind what waits here.
    pub(crate) fn follow(&mut self, mut other: Lane) {
        self.ahead.append(&mut other.ahead);
    }

    pub(crate) fn push_part(&mut self, rank: Rank, frame: OwnedFrame) {
        self.parts.push_back((rank, frame));
    }

    /// Drops what is of a view.
    pub(crate) fn forget_view(&mut self) {
        self.ahead.retain(|frame| view_of(frame.borrow()).is_none());
        self.parts.clear();
    }

    /// Drops all but frames of one kind.
    pub(crate) fn keep_only(&mut self, kind: Kind) {
        self.ahead.retain(|frame| frame.kind == kind);
        self.parts.clear();
    }

    /// There may be room.
    pub(crate) fn unblock(&mut self) {
        self.is_blocked = false;
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.ahead.is_empty() && self.parts.is_empty()
    }

    /// Sends what there is room for; the ranks of the parts that have left.
    ///
    /// # Errors
    /// A frame is longer than the way takes.
    pub(crate) fn flush(&mut self, to: Address, out: &mut dyn Outbox) -> Result<Vec<Rank>, SendError> {
        let mut left = Vec::new();
        if self.is_blocked {
            return Ok(left);
        }
        while let Some(frame) = self.ahead.front() {
            if !passes(to, frame, out)? {
                self.is_blocked = true;
                return Ok(left);
            }
            self.ahead.pop_front();
        }
        while let Some((rank, frame)) = self.parts.front() {
            if !passes(to, frame, out)? {
                self.is_blocked = true;
                return Ok(left);
            }
            left.push(*rank);
            self.parts.pop_front();
        }
        Ok(left)
    }
}

/// Sends a frame, if there is room and a way.
fn passes(to: Address, frame: &OwnedFrame, out: &mut dyn Outbox) -> Result<bool, SendError> {
    match out.send(to, frame.kind, frame.token, &frame.body) {
        Ok(()) => Ok(true),
        Err(SendError::Full | SendError::Unreachable) => Ok(false),
        Err(error) => Err(error),
    }
}
