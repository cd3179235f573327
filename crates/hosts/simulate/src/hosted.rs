//! What a simulated node runs.

use crate::picos::Picos;
use quintet_contract::{Input, Outbox, Protocol, Time};
use std::any::Any;

/// A protocol that can be looked at again by its own type, or a modelled program. Every protocol without borrowed parts is one.
pub trait Hosted: Any {
    /// Handles an input that came at `came`, exactly, and may have waited since.
    fn receive(&mut self, came: Picos, now: Time, input: Input<'_>, out: &mut dyn Outbox);
    /// As [`Protocol::deadline`].
    fn wakes_at(&self) -> Option<Time>;
    /// To be downcast by who looks on.
    fn as_any(&self) -> &dyn Any;
    /// To be downcast and changed.
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl<P: Protocol + Any> Hosted for P {
    fn receive(&mut self, _came: Picos, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        self.handle(now, input, out);
    }
    fn wakes_at(&self) -> Option<Time> {
        self.deadline()
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}
