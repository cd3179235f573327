//! What makes isochrons that are bound to no thread.

use super::host::Core;
use super::isochron::Isochron;
use crate::Error;
use std::sync::Arc;

/// Makes isochrons of a member that are bound to no thread: several may be put together at once on one, as an event loop does, and each may go from thread to thread. Made by
/// [`Isonet::maker`](super::Isonet::maker) and [`Received::maker`](super::Received::maker); cheap to clone. It keeps no isonet alive.
#[derive(Clone)]
pub struct IsochronMaker {
    pub(super) core: Arc<Core>,
}

impl IsochronMaker {
    /// Begins to put an isochron together.
    ///
    /// # Errors
    /// As [`Isonet::isochron`](super::Isonet::isochron), whatever else this thread has open.
    pub fn isochron(&self) -> Result<Isochron, Error> {
        Isochron::open_unbound(&self.core)
    }

    /// Whether this is the thread that runs the handlers: what waits there for an isochron is refused.
    #[must_use]
    pub fn is_handling(&self) -> bool {
        self.core.board.is_poller()
    }

    /// Why nothing more is executed: a member that is gone, or this member's own end. None: it goes on.
    #[must_use]
    pub fn end(&self) -> Option<Error> {
        self.core.board.end()
    }

    /// Ends this member, as it is not where the others are: they are told that it is gone, and who waits here gets `why`.
    pub fn leave(&self, why: Error) {
        self.core.leave(why);
    }

    /// Calls back once nothing more is executed: now, or on the thread that finds it. The callback hands over and returns.
    pub fn notify_end(&self, callback: Box<dyn FnOnce() + Send>) {
        self.core.board.notify(None, callback);
    }
}
