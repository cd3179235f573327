//! Where a node takes new links: its listeners, and when each of them is left alone.

use crate::event::Event;
use crate::poller::{Poller, Source};
use crate::rarely::{QUIET, Rarely};
use quintet_contract::{Port, Span, Time};
use quintet_errors::Code;
use quintet_link::{BootstrapError, End, Listener, NotAccepted};
use std::io;
use std::net::IpAddr;

/// How long a listener is left alone when there is no room for another link: it stays readable meanwhile.
const REST: Span = Span::from_millis(100);

/// Connections for which there is no room, looked at before a listener is left alone. Each is told so, where that can be done: else it
/// would wait in vain.
const REFUSALS: u32 = 256;

/// Connections that fail, looked at in one turn.
const FAILURES: usize = 64;

/// All listeners of a node.
#[derive(Default)]
pub(crate) struct Listening {
    listeners: Vec<Watched>,
}

/// One of them.
struct Watched {
    listener: Box<dyn Listener>,
    /// The instance that its links join.
    port: Port,
    /// Whether there may be a new link.
    is_called: bool,
    /// Until when it is left alone.
    rests_until: Option<Time>,
    shortage: Shortage,
    /// The connections that were not made, by cause and machine.
    failures: Rarely<(Code, Option<IpAddr>)>,
}

/// The system refuses what a link needs.
#[derive(Default)]
struct Shortage {
    /// Connections that met it since the listener rested, or had nobody.
    refusals: u32,
    /// It was told of, and goes on if there is another one before.
    told_until: Time,
}

impl Listening {
    pub(crate) fn is_empty(&self) -> bool {
        self.listeners.is_empty()
    }

    /// Takes links from `listener` for the instance at `port`.
    ///
    /// # Errors
    /// The system refuses to watch it.
    pub(crate) fn add(&mut self, listener: Box<dyn Listener>, port: Port, poller: &Poller) -> io::Result<()> {
        poller.add(listener.fd(), Source::Listener(place(self.listeners.len())))?;
        let (shortage, failures) = (Shortage::default(), Rarely::default());
        self.listeners.push(Watched {
            listener,
            port,
            is_called: true,
            rests_until: None,
            shortage,
            failures,
        });
        Ok(())
    }

    /// A listener's descriptor is readable.
    pub(crate) fn called(&mut self, place: u32) {
        if let Some(watched) = self.listeners.get_mut(place as usize) {
            watched.is_called = true;
        }
    }

    /// Whether there may be a new link.
    #[inline]
    pub(crate) fn is_called(&self) -> bool {
        self.listeners.iter().any(|watched| watched.is_called)
    }

    /// The next new link, and the instance that it joins.
    pub(crate) fn accept(
        &mut self,
        now: Time,
        poller: &Poller,
        tell: &mut dyn FnMut(&Event),
    ) -> Option<(End, Port)> {
        for _ in 0..FAILURES {
            let watched = self.listeners.iter_mut().find(|watched| watched.is_called)?;
            match watched.listener.accept() {
                Ok(Some(end)) => return Some((end, watched.port)),
                Ok(None) => (watched.is_called, watched.shortage.refusals) = (false, 0),
                Err(NotAccepted { why, .. }) if why.is_own_shortage() => {
                    if watched.shortage.is_enough(*why, now, tell) {
                        watched.rest(now, poller);
                    }
                }
                Err(refused) => tell_of(&mut watched.failures, refused, now, tell),
            }
        }
        None
    }

    /// Leaves all of them alone for a while: new links wait in the system's queues.
    pub(crate) fn rest(&mut self, now: Time, poller: &Poller) {
        self.listeners
            .iter_mut()
            .filter(|watched| watched.is_called)
            .for_each(|watched| watched.rest(now, poller));
    }

    /// Ends the rests that are over.
    pub(crate) fn end_rests(&mut self, now: Time, poller: &Poller) {
        for (at, watched) in self.listeners.iter_mut().enumerate() {
            if watched.rests_until.is_some_and(|until| until <= now) {
                // If the system refuses, the listener is looked at again after the next rest.
                let is_watched = poller.add(watched.listener.fd(), Source::Listener(place(at))).is_ok();
                watched.rests_until = (!is_watched).then(|| now + REST);
                watched.is_called = true;
            }
        }
    }

    /// When a listener is to be looked at although nothing calls.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.listeners.iter().filter_map(|watched| watched.rests_until).min()
    }
}

impl Watched {
    fn rest(&mut self, now: Time, poller: &Poller) {
        self.is_called = false;
        self.rests_until = Some(now + REST);
        poller.forget(self.listener.fd());
    }
}

impl Shortage {
    /// One more connection met it. Whether the listener is to be left alone.
    fn is_enough(&mut self, why: BootstrapError, now: Time, tell: &mut dyn FnMut(&Event)) -> bool {
        if now >= self.told_until {
            tell(&Event::NoNewLinks { why });
        }
        self.told_until = now + QUIET;
        self.refusals = (self.refusals + 1) % REFUSALS;
        self.refusals == 0
    }
}

/// A connection that was not made: tells of it, unless another one like it was told of a moment ago.
fn tell_of(
    failures: &mut Rarely<(Code, Option<IpAddr>)>,
    refused: NotAccepted,
    now: Time,
    tell: &mut dyn FnMut(&Event),
) {
    let NotAccepted { why, from, identity } = refused;
    if let Some(before) = failures.count((why.code(), from.map(|from| from.ip())), now) {
        tell(&Event::NotConnected { why: *why, from, identity, before });
    }
}

fn place(at: usize) -> u32 {
    u32::try_from(at).expect("a process has fewer descriptors than that")
}

#[cfg(test)]
mod tests;
