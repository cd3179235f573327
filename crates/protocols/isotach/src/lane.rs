//! What waits for room on the way to one address.

use crate::codec::{PART, Part, view_of};
use crate::frames::{self, Frames};
use crate::logical_time::Rank;
use quintet_contract::{Address, Bytes, Kind, Outbox, SendError, Token};
use quintet_wire::{Encode, encode_to_vec};
use std::collections::VecDeque;

/// Frames for one address, in order; answers and the like pass the parts that wait, which need leave to be asked.
#[derive(Default, Debug)]
pub(crate) struct Lane {
    /// Each with its bulk, empty if it has none.
    ahead: Frames<Bytes>,
    /// Parts of isochrons, which are written as they leave.
    parts: VecDeque<Part>,
    /// The way is full, or not there yet.
    is_blocked: bool,
}

impl Lane {
    pub(crate) fn push(&mut self, kind: Kind, token: Token, body: &impl Encode) {
        self.ahead.push(kind, token, body);
    }

    pub(crate) fn push_with_bulk(&mut self, kind: Kind, token: Token, body: &impl Encode, bulk: Bytes) {
        self.ahead.push_noted(kind, token, body, bulk);
    }

    /// What waited on another lane to the same address goes behind what waits here.
    pub(crate) fn follow(&mut self, other: Lane) {
        self.ahead.append(other.ahead);
    }

    pub(crate) fn push_part(&mut self, part: Part) {
        self.parts.push_back(part);
    }

    /// Drops what is of a view.
    pub(crate) fn forget_view(&mut self) {
        self.ahead.retain(|frame| view_of(frame).is_none());
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

    /// Sends what there is room for, and says of which isochrons parts have left.
    ///
    /// # Errors
    /// A frame is longer than the way takes.
    pub(crate) fn flush(
        &mut self,
        to: Address,
        out: &mut dyn Outbox,
        mut part_left: impl FnMut(Rank),
    ) -> Result<(), SendError> {
        while !self.is_blocked
            && let Some((frame, bulk)) = self.ahead.front()
        {
            self.is_blocked = !has_passed(frames::send(out, to, frame, bulk))?;
            if !self.is_blocked {
                self.ahead.pop_front();
            }
        }
        while !self.is_blocked
            && let Some(part) = self.parts.front()
        {
            let rank = part.rank;
            self.is_blocked = !has_passed(send_part(out, to, part))?;
            if !self.is_blocked {
                self.parts.pop_front();
                part_left(rank);
            }
        }
        Ok(())
    }
}

fn send_part(out: &mut dyn Outbox, to: Address, part: &Part) -> Result<(), SendError> {
    let (token, bulk) = (Token(part.rank.0), part.bulk());
    match bulk.is_empty() {
        true => quintet_wire::send(out, to, PART, token, part),
        false => out.send_bulk(to, PART, token, &encode_to_vec(part), bulk),
    }
}

/// Whether there were room and a way for a frame.
fn has_passed(sent: Result<(), SendError>) -> Result<bool, SendError> {
    match sent {
        Ok(()) => Ok(true),
        Err(SendError::Full | SendError::Unreachable) => Ok(false),
        Err(error) => Err(error),
    }
}
