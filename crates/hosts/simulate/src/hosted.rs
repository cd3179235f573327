//! What a simulated node runs.

use crate::picos::Picos;
use quintet_contract::{Address, Input, Outbox, Protocol, Time};
use std::any::Any;

/// How an input came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Came {
    /// When, exactly. It may have waited since.
    pub at: Picos,
    /// To which instance.
    pub to: Address,
    /// Inputs that wait behind it.
    pub behind: usize,
}

/// What waits within an instance, and is in no inbox any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Backlog {
    /// Whether what comes now waits within it even if its processor is free.
    pub is_blocked: bool,
    /// Messages that wait within it.
    pub messages: usize,
    /// Those of one activation.
    pub of_each: usize,
    /// The mark with which its activations begin, if they have one: those waits as well of which that is still to be made.
    pub begins: Option<u32>,
}

/// A protocol that can be looked at again by its own type, or a modelled program. Every protocol without borrowed parts is one.
pub trait Hosted: Any {
    /// Handles an input.
    fn receive(&mut self, came: Came, now: Time, input: Input<'_>, out: &mut dyn Outbox);
    /// As [`Protocol::deadline`].
    fn wakes_at(&self) -> Option<Time>;
    /// What waits within it. A protocol keeps nothing that its host might have to count.
    fn backlog(&self) -> Backlog {
        Backlog::default()
    }
    /// To be downcast by who looks on.
    fn as_any(&self) -> &dyn Any;
    /// To be downcast and changed.
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl<P: Protocol + Any> Hosted for P {
    fn receive(&mut self, _came: Came, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
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
