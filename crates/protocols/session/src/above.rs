//! What may stand on sessions: a protocol, or several at ports of their node.

use crate::outbox::SessionOutbox;
use quintet_contract::{Input, Meter, Protocol, Time};

/// What stands on sessions: every protocol may, and so do [`Ports`](crate::Ports), which know the sessions' own outbox, so that they cost no layer
/// of calls.
pub trait Above {
    /// Takes one input, as [`Protocol::handle`].
    fn take(&mut self, now: Time, input: Input<'_>, out: &mut SessionOutbox<'_>);

    /// As [`Protocol::deadline`].
    fn wakes_at(&self) -> Option<Time>;

    /// As [`Protocol::measure`].
    fn tell_metrics(&self, meter: &mut Meter<'_>);
}

impl<P: Protocol> Above for P {
    #[inline]
    fn take(&mut self, now: Time, input: Input<'_>, out: &mut SessionOutbox<'_>) {
        self.handle(now, input, out);
    }

    #[inline]
    fn wakes_at(&self) -> Option<Time> {
        self.deadline()
    }

    fn tell_metrics(&self, meter: &mut Meter<'_>) {
        self.measure(meter);
    }
}
