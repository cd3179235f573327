//! What a program has said of its isonet before it joins, and what comes of it.

use super::Member;
use super::inbox::Item;
use crate::boundary::misuse;
use quintet::{Delivery, Error, IsonetBuilder, LinkAddress, Variable};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// A member of which nothing is heard for so long is lost to the others, unless it says otherwise.
const SILENCE: Duration = Duration::from_secs(1);

/// What is said before it joins.
#[derive(Clone, Default)]
pub(super) struct Said {
    pub(super) member: Option<(u16, u16)>,
    /// Number, bytes, and who has copies; none: all have.
    pub(super) variables: Vec<(Variable, usize, Option<Vec<u16>>)>,
    pub(super) handlers: Vec<u32>,
    pub(super) plain_handlers: Vec<u32>,
    pub(super) is_agreed: bool,
    pub(super) listens_at: Option<LinkAddress>,
    pub(super) tells_views: bool,
    pub(super) tells_values: bool,
    pub(super) silence_limit: Option<Duration>,
    pub(super) is_rejoinable: bool,
    pub(super) shares_state: bool,
    pub(super) checks_invariants: bool,
    pub(super) keeps_witness: bool,
}

impl Member {
    /// # Errors
    /// `BadValue` once it has joined.
    pub(super) fn say(&self, say: impl FnOnce(&mut Said)) -> Result<(), Error> {
        if self.joined.get().is_some() {
            return Err(misuse("this isonet was joined: what it shares is said before"));
        }
        say(&mut self.said.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(())
    }

    pub(super) fn builder(&self, said: Said) -> IsonetBuilder {
        let mut builder = self.connection.lab.isochrons(&self.name);
        if let Some((member, members)) = said.member {
            builder = builder.member(member, members);
        }
        for (variable, bytes, copies) in said.variables {
            builder = match copies {
                Some(copies) => builder.variable_at(variable, bytes, &copies),
                None => builder.variable(variable, bytes),
            };
        }
        let silence = said.silence_limit.unwrap_or(SILENCE);
        builder = builder.silence_limit(silence);
        self.inbox.set_patience(silence / 2);
        for handler in said.handlers.iter().copied().filter(|_| !said.tells_values) {
            let inbox = Arc::clone(&self.inbox);
            builder = builder.handler(handler, move |received| {
                let taken = inbox.put(Item::of(handler, received), Some(&received.maker()));
                taken.unwrap_or_else(|why| received.leave(why));
            });
        }
        if said.tells_values {
            builder = self.telling_values(builder, said.handlers);
        }
        for handler in said.plain_handlers {
            let inbox = Arc::clone(&self.inbox);
            builder = builder.plain_handler(handler, move |received| {
                let taken = inbox.put(Item::of_plain(handler, received), Some(&received.maker()));
                taken.unwrap_or_else(|why| received.leave(why));
            });
        }
        if said.is_agreed {
            builder = builder.delivery(Delivery::Agreed);
        }
        if let Some(address) = said.listens_at {
            builder = builder.listen_at(address);
        }
        let views = Arc::clone(&self.views);
        builder = builder.on_view(move |view| views.note(view));
        if said.tells_views {
            let inbox = Arc::clone(&self.inbox);
            builder = builder.on_view(move |view| inbox.put_view(view));
        }
        if said.checks_invariants {
            builder = builder.check_invariants();
        }
        if said.keeps_witness {
            builder = builder.keep_witness();
        }
        if said.is_rejoinable {
            builder = builder.rejoinable();
        }
        if said.shares_state {
            let [giving, taking] = [(); 2].map(|()| Arc::clone(&self.inbox));
            let take = move |state: &[u8]| {
                taking.put_state(state);
                Ok(())
            };
            builder = builder.state(move || giving.ask_for_state(), take);
        }
        builder
    }
}
