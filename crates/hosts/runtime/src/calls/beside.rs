//! Requests to either of two protocols of one process.

use super::{CallError, Calls, Pending};
use crate::instance::Instance;
use crate::request::Request;
use crate::slots::Slots;
use quintet_contract::{Port, Token};

impl Calls {
    /// Runs another protocol at a port beside the first, which is asked by [`Calls::begin_at`] and its like.
    #[must_use]
    pub fn beside(mut self, port: Port, instance: Instance) -> Self {
        let now = self.clock.now();
        let mut engine = self.lock();
        engine.add(now, port, instance);
        self.unlock(engine);
        self.beside = Some(port);
        self
    }

    /// Where what is asked of a port enters: behind a link all goes through the node's sessions.
    fn entry(&self, port: Port) -> Port {
        if self.beside == Some(port) { port } else { self.at.port }
    }

    /// As [`Calls::begin`], of the protocol at another port. However long that waits, what came after it is settled.
    ///
    /// # Errors
    /// As [`Calls::begin`].
    pub fn begin_at(&self, port: Port, request: &dyn Request) -> Result<Pending, CallError> {
        self.begin_with(self.entry(port), Slots::open_apart, request)
    }

    /// As [`Calls::tell`], to the protocol at another port.
    ///
    /// # Errors
    /// As [`Calls::tell`].
    pub fn tell_at(
        &self,
        port: Port,
        about: Option<Pending>,
        request: &dyn Request,
    ) -> Result<(), CallError> {
        self.tell_with(self.entry(port), about, request)
    }

    pub(super) fn begin_with(
        &self,
        port: Port,
        open: fn(&mut Slots) -> Token,
        request: &dyn Request,
    ) -> Result<Pending, CallError> {
        let mut engine = self.own()?;
        let is_first = !engine.has_to_flush();
        let now = engine.time_of_burst(self.clock);
        let token = open(engine.slots());
        engine.submit(now, port, token, request)?;
        let lacks_link = engine.lacks_link();
        let due = if self.puts_off_writing(&engine, now, is_first) {
            self.hand_back(engine)
        } else {
            self.release(engine)
        };
        if let (Some(watch), true) = (self.watch.get(), lacks_link) {
            // Nothing comes that would have the event loop make the link.
            watch.ring();
        }
        due.into_iter().for_each(|callback| callback());
        Ok(Pending(token))
    }

    pub(super) fn tell_with(
        &self,
        port: Port,
        about: Option<Pending>,
        request: &dyn Request,
    ) -> Result<(), CallError> {
        let mut engine = self.own()?;
        let token = about.map_or(Token(0), |pending| pending.0);
        let now = engine.time_of_burst(self.clock);
        let told = engine.pass(now, port, token, request);
        self.unlock(engine);
        told
    }
}
