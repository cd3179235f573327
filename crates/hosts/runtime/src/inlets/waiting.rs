//! How whoever drives the engine waits at its links.

use super::{Inlets, TURNS_BETWEEN_LOOKS};
use crate::dialling::Dialling;
use crate::mailbox::Mailbox;
use crate::poller::{Poller, Source};
use quintet_link::{Receiver, Waiting};
use std::io;
use std::time::Duration;

impl Inlets {
    /// The only link, where there is nothing else to wait for.
    pub(super) fn only_link(&self) -> Option<u32> {
        let dials = self.dialling.iter().any(Dialling::is_under_way);
        let alone = self.inlets.len() == 1 && self.mailbox.is_none() && self.listening.is_empty() && !dials;
        (alone && self.inlets[0].is_some()).then_some(0)
    }

    /// Waits, adaptively, until something is to be done or `limit` has passed (`None`: no limit).
    ///
    /// # Errors
    /// The system refuses to wait.
    pub(crate) fn wait(&mut self, limit: Option<Duration>) -> io::Result<()> {
        if let Some(at) = self.only_link() {
            self.activate(at);
            self.inlet(at).receiver.wait(limit);
            return Ok(());
        }
        let mut patience = core::mem::take(&mut self.patience);
        let mut idle = Idle { inlets: self, woken: false, failed: None };
        patience.wait(&mut idle, limit);
        let failed = idle.failed;
        self.patience = patience;
        failed.map_or(Ok(()), Err)
    }

    /// Takes note of what calls, without waiting.
    pub(crate) fn attend(&mut self) {
        if let Some(at) = self.only_link() {
            return self.activate(at);
        }
        // It fails only where there is no such descriptor.
        let _ = self.look(Some(Duration::ZERO));
    }

    /// Lets the descriptors tell of everything that comes. False if something has come already.
    pub(crate) fn rest_all(&mut self) -> bool {
        let active = self.active.clone();
        // Every one, also after one has refused.
        active.into_iter().map(|at| self.rest(at)).fold(true, |all, rests| all & rests)
    }

    /// Whether a turn would find a frame.
    pub(crate) fn has_frames(&self) -> bool {
        self.active().any(|receiver| receiver.has_frames())
    }

    fn active(&self) -> impl Iterator<Item = &dyn Receiver> {
        let inlets = self.active.iter().filter_map(|at| self.inlets[*at as usize].as_ref());
        inlets.map(|inlet| &*inlet.receiver)
    }

    /// Under load the descriptors are looked at now and then, and in every turn while sockets are busy.
    #[inline]
    pub(super) fn look_if_due(&mut self) {
        if let Some(at) = self.only_link() {
            return self.activate(at);
        }
        match self.turns_until_look.checked_sub(1) {
            Some(left) if !self.looks_at_sockets => self.turns_until_look = left,
            _ => self.attend(),
        }
    }

    fn look(&mut self, limit: Option<Duration>) -> io::Result<()> {
        self.turns_until_look = TURNS_BETWEEN_LOOKS;
        let Some(poller) = &self.poller else { return Ok(()) };
        let mut links = Vec::new();
        poller.wait(limit, |source| match source {
            Source::Link(at) => links.push(at),
            Source::Listener(at) => self.listening.called(at),
            // A turn looks into both without being told.
            Source::Mailbox => self.mailbox.iter().for_each(Mailbox::quieten),
            Source::Dialer => {}
        })?;
        links.into_iter().for_each(|at| self.activate(at));
        Ok(())
    }
}

/// Inlets at which there is nothing to do.
pub(super) struct Idle<'a> {
    pub(super) inlets: &'a mut Inlets,
    /// Whether a sleep has ended: somebody called, and only a turn shows why. A link's end is no frame.
    pub(super) woken: bool,
    pub(super) failed: Option<io::Error>,
}

impl Waiting for Idle<'_> {
    fn ready(&self) -> bool {
        let Inlets { mailbox, poller, looks_at_sockets, .. } = &*self.inlets;
        self.woken
            || self.failed.is_some()
            || mailbox.as_ref().is_some_and(|mailbox| mailbox.is_stopped() || mailbox.has_frames())
            || self.inlets.has_frames()
            || *looks_at_sockets && poller.as_ref().is_some_and(Poller::is_called)
    }

    fn is_near(&self) -> bool {
        self.inlets.active().any(|receiver| receiver.awaits_bulk())
    }

    /// Sleeps until a link, the mailbox, a listener or a deadline calls.
    fn sleep(&mut self, limit: Option<Duration>) {
        self.inlets.looks_at_sockets = false;
        // First, as links that rest are looked at less often: only if nothing lies there.
        if self.inlets.mailbox.as_ref().is_none_or(Mailbox::rest) {
            if self.inlets.rest_all() {
                self.failed = self.inlets.look(limit).err();
            }
            self.inlets.mailbox.iter().for_each(Mailbox::wake);
        }
        self.woken = true;
    }
}
