//! A token goes round a ring of N; each node holds it for a while, measured by a deadline, then passes it on.

use crate::{ANSWER, ASK, TOKEN};
use quintet_contract::{Address, Input, Outbox, Protocol, Span, Time, Token};

/// One node of the ring.
pub struct Ring {
    next: Address,
    hold: Span,
    /// The round whose token is held, and until when.
    held: Option<(u64, Time)>,
    first: bool,
    /// Who asked to be told, and at which round.
    asked: Option<(Address, u64)>,
}

impl Ring {
    /// A node that passes the token to `next` after holding it for `hold`. The `first` one makes the token.
    #[must_use]
    pub fn new(next: Address, hold: Span, first: bool) -> Self {
        Ring { next, hold, held: None, first, asked: None }
    }

    fn receive(&mut self, now: Time, round: u64, out: &mut dyn Outbox) {
        self.held = Some((round, now + self.hold));
        if let Some((asker, wanted)) = self.asked
            && round >= wanted
        {
            self.asked = None;
            out.send(asker, ANSWER, Token(wanted), &round.to_le_bytes())
                .expect("callers have room for answers");
        }
    }
}

impl Protocol for Ring {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Started if self.first => self.held = Some((0, now + self.hold)),
            Input::Frame(_, frame) if frame.kind == TOKEN => {
                self.receive(now, frame.token.0 + u64::from(self.first), out);
            }
            Input::Frame(from, frame) if frame.kind == ASK => self.asked = Some((from, frame.token.0)),
            _ => {}
        }
        if let Some((round, until)) = self.held
            && now >= until
            && out.send(self.next, TOKEN, Token(round), &[]).is_ok()
        {
            self.held = None;
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.held.map(|(_, until)| until)
    }
}
