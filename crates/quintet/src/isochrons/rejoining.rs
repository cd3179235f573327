//! How a member that has ended comes back: a later process of it calls those who are there, each by its number, and is told where they listen.
//!
//! ```text
//!   who comes back                             every member that is rejoinable
//!                                                handles NAME/members, at its number
//!     calls each of the others: who it is,
//!       where it listens, what it shares         replies: the isonet's number, and where it listens
//!     dials them, and asks to be let in
//! ```

use super::links::{Places, Returning};
use super::meeting::{Hello, Meeting, Met};
use crate::{Code, Error, Handler, HandlerLimits};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;

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
        cluster: u128,
        returning: &Returning,
    ) -> Result<Doors, Error> {
        let mine = self.hello(shares, places);
        let limits = HandlerLimits::default();
        let handler =
            self.lab.messaging().handle_at(&self.name_of_members(), Some(self.me.into()), limits)?;
        let handler = Arc::new(handler);
        let at_the_thread = Arc::clone(&handler);
        let met = Met { cluster, members: BTreeMap::from([(self.me, mine.address.clone())]) };
        let (returning, credentials) = (Arc::clone(returning), places.credentials());
        let answer = move || {
            let served = at_the_thread.serve(|call| {
                let said = Hello::from_text(call.payload()).and_then(|hello| {
                    hello.fits(&mine)?;
                    let address = hello.address.identified(credentials.as_ref());
                    returning.lock().unwrap_or_else(PoisonError::into_inner).insert(hello.me, address);
                    Ok(met.to_text())
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
        let mut found: Option<Met> = None;
        for member in (0..self.members).filter(|member| *member != self.me) {
            let there = self.lab.messaging().to(&self.name_of_members()).rank(member.into());
            let reply = match there.call_within(hello.clone(), self.left()) {
                Ok(reply) => reply,
                Err(error) if matches!(error.code(), Code::NoHandler | Code::PeerDied) => continue,
                Err(error) => return Err(error),
            };
            let told = Met::from_text(&reply, &[member], places)?;
            let met = found.get_or_insert(Met { cluster: told.cluster, members: BTreeMap::new() });
            if met.cluster != told.cluster {
                return Err(self.two_of_that_name());
            }
            met.members.extend(told.members);
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

impl Drop for Doors {
    fn drop(&mut self) {
        // It fails where the lab is gone, and with it whoever could call.
        let _ = self.handler.leave();
        self.thread.take().into_iter().for_each(|thread| thread.join().unwrap_or_default());
    }
}
