//! What waits for room on the links to managers.

use super::{Router, TOO_LONG, forward};
use quintet_contract::{Outbox, OwnedFrame, SendError, Token};
use quintet_errors::Code;

impl Router {
    /// Sends what does not wait behind requests.
    pub(super) fn tell(&mut self, manager: u8, frame: OwnedFrame, out: &mut dyn Outbox) {
        self.at(manager).outgoing.push_back(frame);
        self.flush(manager, out);
    }

    /// Whether all that waited for the link has gone.
    pub(super) fn flush(&mut self, manager: u8, out: &mut dyn Outbox) -> bool {
        let mut too_long = Vec::new();
        let at = self.at(manager);
        if !at.is_up {
            return at.outgoing.is_empty();
        }
        let has_gone = loop {
            let Some(frame) = at.outgoing.front() else { break true };
            match forward(frame.borrow(), at.address, out) {
                Err(SendError::Full) => break false,
                Err(SendError::TooLong { .. }) => too_long.push(frame.token),
                // The news that the manager is gone ends all that was asked.
                Ok(()) | Err(SendError::Unreachable) => {}
            }
            at.outgoing.pop_front();
        };
        too_long.into_iter().for_each(|token| self.refuse_too_long(token, out));
        has_gone
    }

    /// Ends a request of which the link to a manager takes no part.
    pub(super) fn refuse_too_long(&mut self, token: Token, out: &mut dyn Outbox) {
        if self.take_parts(token, true, out).is_some() {
            self.refuse(token, Code::TooLarge, TOO_LONG, out);
        }
    }
}
