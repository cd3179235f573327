//! Until when the service surely knows this client, whatever has become of the link.

use quintet_contract::{Span, Time};

/// By what the service has said last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vouched {
    /// For how long the service waits for who is away.
    window: Span,
    /// It knew this client then, or later.
    at: Time,
}

impl Vouched {
    /// The service said nothing so far.
    pub(super) const NOT_YET: Vouched = Vouched { window: Span::ZERO, at: Time::ZERO };

    /// It waits for so long, as it says in reply to what was sent then.
    pub(super) fn for_window(window: Span, sent: Time) -> Vouched {
        Vouched { window, at: sent }
    }

    /// It replied to what was sent then. When the reply came says less: it may have lain here for long.
    pub(super) fn replied(&mut self, sent: Time) {
        self.at = self.at.max(sent);
    }

    /// Whether it may know the client no more, or not for long enough that what is sent now surely finds it known.
    pub(super) fn is_in_doubt(&self, now: Time) -> bool {
        now.since(self.at) > Span(self.window.0 / 2)
    }
}
