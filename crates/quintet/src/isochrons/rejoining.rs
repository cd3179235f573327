//! How a member that has ended comes back: a later process of it calls those who are there, each by its number, and is told where all listen.
//!
//! ```text
//!   who comes back                             every member that is rejoinable
//!                                                handles NAME/members, at its number
//!     calls all others: who it is,
//!       where it listens, what it shares         replies: the isonet's number, and where who is, as far as it knows
//!     dials them, and asks to be let in
//! ```
//!
//! Some of the others may have ended, which a call to them shows only once their connection is given up. So the answers of those who are there are enough.

use super::links::{Places, Returning};
use super::meeting::{Hello, Meeting, Met};
use crate::{Bytes, Code, Error, Handler, HandlerLimits, PendingReply};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How much longer than the first one the others are waited for that answer.
const PATIENCE: Duration = Duration::from_millis(500);

/// Between two looks at who else has answered.
const TURN: Duration = Duration::from_millis(5);

/// A member's thread that answers those who come back. Dropped, it answers nobody any more.
pub(super) struct Doors {
    handler: Arc<Handler>,
    thread: Option<JoinHandle<()>>,
}

impl Meeting<'_> {
    fn name_of_members(&self) -> String {
        format!("{}/members", self.handler_name())
    }

    /// Answers those who come back, on a thread of its own.
    ///
    /// # Errors
    /// The lab's own, and the system's.
    pub(super) fn open(
        &self,
        shares: &str,
        places: &Places,
        met: &Met,
        returning: &Returning,
    ) -> Result<Doors, Error> {
        let (mine, mut known) = (self.hello(shares, places), met.clone());
        known.members.insert(self.me, mine.address.clone());
        let limits = HandlerLimits::default();
        let handler =
            self.lab.messaging().handle_at(&self.name_of_members(), Some(self.me.into()), limits)?;
        let handler = Arc::new(handler);
        let at_the_thread = Arc::clone(&handler);
        let (returning, credentials) = (Arc::clone(returning), places.credentials());
        let answer = move || {
            let served = at_the_thread.serve(|call| {
                let said = Hello::from_text(call.payload()).and_then(|hello| {
                    hello.fits(&mine)?;
                    let address = hello.address.identified(credentials.as_ref());
                    let mut returning = returning.lock().unwrap_or_else(PoisonError::into_inner);
                    returning.insert(hello.me, address);
                    known.members.extend(returning.clone());
                    Ok(known.to_text())
                });
                Ok::<_, Error>(said.unwrap_or_else(|error| super::meeting::refused(&error)))
            });
            // Whoever comes back finds nobody here then, as where the member is gone.
            drop(served);
        };
        let thread = std::thread::Builder::new().name("quintet-rejoin".to_owned()).spawn(answer)?;
        Ok(Doors { handler, thread: Some(thread) })
    }

    /// Finds the members that are there.
    ///
    /// # Errors
    /// [`Code::NoHandler`]: none is there and lets others come back. [`Code::BadValue`]: this one does not share what they do.
    pub(super) fn find(&self, shares: &str, places: &Places) -> Result<Met, Error> {
        let hello = self.hello(shares, places).to_text();
        let mut calls = BTreeMap::new();
        for member in (0..self.members).filter(|member| *member != self.me) {
            let there = self.lab.messaging().to(&self.name_of_members()).rank(member.into());
            calls.insert(member, there.begin_call(hello.clone(), self.left())?);
        }
        let (mut found, mut until): (Option<Met>, Instant) = (None, self.until);
        while let Some((member, reply)) = next_reply(&mut calls, until) {
            let reply = match reply {
                Ok(reply) => reply,
                Err(error) if matches!(error.code(), Code::NoHandler | Code::PeerDied) => continue,
                Err(error) => return Err(error),
            };
            let said = Met::from_text(&reply, places)?;
            let met = found.get_or_insert_with(|| {
                until = until.min(Instant::now() + PATIENCE);
                said.clone()
            });
            if met.cluster != said.cluster {
                return Err(self.two_of_that_name());
            }
            // Each knows best of itself.
            met.members.extend(said.members.get(&member).map(|address| (member, address.clone())));
        }
        found.ok_or_else(|| self.nobody())
    }

    fn two_of_that_name(&self) -> Error {
        let text = format!("members of two isonets of the name {:?} are there: end one of them", self.name);
        Error::new(Code::BadValue, text)
    }

    fn nobody(&self) -> Error {
        let text = format!(
            "no member of isonet {:?} is there that lets others come back: do they say `rejoinable`, and are they still there?",
            self.name
        );
        Error::new(Code::NoHandler, text)
    }
}

/// Waits for the next reply; none: nobody is left who might, or the time is over.
fn next_reply(
    calls: &mut BTreeMap<u16, PendingReply>,
    until: Instant,
) -> Option<(u16, Result<Bytes, Error>)> {
    loop {
        let done = calls.iter().find(|(_, call)| call.is_done()).or(calls.first_key_value());
        let member = *done?.0;
        let left = until.saturating_duration_since(Instant::now());
        // To wait for one is to hear the others as well.
        if let Some(reply) = calls.get_mut(&member)?.wait(left.min(TURN)) {
            calls.remove(&member);
            return Some((member, reply));
        }
        if left.is_zero() {
            return None;
        }
    }
}

impl Drop for Doors {
    fn drop(&mut self) {
        // It fails where the lab is gone, and with it whoever could call.
        let _ = self.handler.leave();
        self.thread.take().into_iter().for_each(|thread| thread.join().unwrap_or_default());
    }
}
