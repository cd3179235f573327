//! What waits for room on the way to one address.

use crate::codec::view_of;
use crate::frames::Frames;
use crate::logical_time::Rank;
use quintet_contract::{Address, Frame, Kind, Outbox, SendError, Token};
use quintet_wire::Encode;

/// Frames for one address, in order; answers and the like pass the parts that wait, which need leave to be asked.
#[derive(Default, Debug)]
pub(crate) struct Lane {
    ahead: Frames,
    /// Parts of isochrons, each under its rank.
    parts: Frames,
    /// The way is full, or not there yet.
    is_blocked: bool,
}

impl Lane {
    pub(crate) fn push(&mut self, kind: Kind, token: Token, body: &impl Encode) {
        self.ahead.push(kind, token, body);
    }

    /// What waited on another lane to the same address goes behind what waits here.
    pub(crate) fn follow(&mut self, other: Lane) {
        self.ahead.append(other.ahead);
    }

    pub(crate) fn push_part(&mut self, kind: Kind, rank: Rank, body: &impl Encode) {
        self.parts.push(kind, Token(rank.0), body);
    }

    /// Drops what is of a view.
    pub(crate) fn forget_view(&mut self) {
        self.ahead.retain(|frame| view_of(frame).is_none());
        self.parts = Frames::default();
    }

    /// Drops all but frames of one kind.
    pub(crate) fn keep_only(&mut self, kind: Kind) {
        self.ahead.retain(|frame| frame.kind == kind);
        self.parts = Frames::default();
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
            && let Some((frame, ())) = self.ahead.front()
        {
            self.is_blocked = !passes(to, frame, out)?;
            if !self.is_blocked {
                self.ahead.pop_front();
            }
        }
        while !self.is_blocked
            && let Some((frame, ())) = self.parts.front()
        {
            let rank = Rank(frame.token.0);
            self.is_blocked = !passes(to, frame, out)?;
            if !self.is_blocked {
                self.parts.pop_front();
                part_left(rank);
            }
        }
        Ok(())
    }
}

/// Sends a frame, if there is room and a way.
fn passes(to: Address, frame: Frame<'_>, out: &mut dyn Outbox) -> Result<bool, SendError> {
    match out.send(to, frame.kind, frame.token, frame.body) {
        Ok(()) => Ok(true),
        Err(SendError::Full | SendError::Unreachable) => Ok(false),
        Err(error) => Err(error),
    }
}
