//! The agent's own thread as a caller of its node's instances: what they answer, and what they hand up, comes to its inbox.

use quintet_contract::{Input, Outbox, OwnedFrame, Protocol, Time};
use std::sync::mpsc::Sender;

/// What comes to the agent's own thread.
#[derive(Debug)]
pub(crate) enum Inbox {
    /// A frame of one of the node's instances.
    Frame(OwnedFrame),
    /// The replica that this machine keeps since that view has its log on the disk.
    Votes(u64),
    /// The agent is to end.
    End,
}

/// The port of the node's callers: leaves all in the inbox.
pub(crate) struct Callers(pub(crate) Sender<Inbox>);

impl Protocol for Callers {
    fn handle(&mut self, _now: Time, input: Input<'_>, _out: &mut dyn Outbox) {
        if let Input::Frame(_, frame) = input {
            // Whoever took from it has ended, and the node ends after it.
            let _ = self.0.send(Inbox::Frame(frame.to_owned()));
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}
