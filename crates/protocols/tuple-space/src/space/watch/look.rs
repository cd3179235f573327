//! The tuples that can be taken, whole, a page at a time: with what happened since, they are the space at one number.
//!
//! A page looks at no more than one turn may, and keeps nothing for the next one.

use crate::codec::{Change, EVENTS, EventRows, EventsBody, LookView};
use crate::space::scan::comparisons;
use crate::space::stores::Place;
use crate::space::{Space, stages};
use quintet_contract::limits::MAX_PAYLOAD_BYTES;
use quintet_contract::{Address, Outbox, SendError, Token};
use quintet_errors::Code;
use quintet_wire::encode_to_vec;

impl Space {
    /// Answers with a page.
    pub(in crate::space) fn look(
        &mut self,
        (from, token): (Address, Token),
        look: &LookView<'_>,
        out: &mut dyn Outbox,
    ) {
        let (rows, next, looked_at) = match &self.elsewhere {
            Some(_) => self.look_here(look),
            None => self.look_from(look),
        };
        out.work(stages::MATCH, looked_at + 1);
        let number = self.watches.history.number();
        let body = EventsBody { number, next, rows: &rows };
        if rows.bulk().is_empty() {
            return self.reply_with(from, EVENTS, token, &body, out);
        }
        match out.send_bulk(from, EVENTS, token, &encode_to_vec(&body), rows.bulk().clone()) {
            // An answer that waits for a link has no bulk: this one says to ask again.
            Err(SendError::Full) => {
                let again = EventsBody { number, next: Some(look.from), rows: &EventRows::default() };
                self.reply_with(from, EVENTS, token, &again, out);
            }
            Err(error @ SendError::TooLong { .. }) => {
                let text = format!("a tuple cannot be sent to you: {error}");
                self.refuse(from, token, Code::TooLarge, text, out);
            }
            Ok(()) | Err(SendError::Unreachable) => {}
        }
    }

    /// The same at one of several managers, which has the tuples of one signature: a page says when these have moved last, and where they have moved since
    /// the pages begin anew.
    fn look_here(&mut self, look: &LookView<'_>) -> (EventRows, Option<u64>, u32) {
        let nothing = (EventRows::default(), None, 0);
        let Some(template) = look.template else { return nothing };
        let Some(store) = self.stores.find(template.signature()) else { return nothing };
        let moved = self.moved_at(template.signature()) & u64::from(u32::MAX);
        let asked = Place::of_number(look.from);
        let entry = if u64::from(asked.store) == moved { asked.entry } else { 0 };
        let from = Place { store, entry }.number();
        let (rows, next, looked_at) = self.look_from(&LookView { from, ..*look });
        let next = next.map(Place::of_number).filter(|next| next.store == store);
        (rows, next.map(|next| moved << 32 | u64::from(next.entry)), looked_at)
    }

    /// The tuples from there on, where the next page begins, and at how many it has looked.
    fn look_from(&self, look: &LookView<'_>) -> (EventRows, Option<u64>, u32) {
        let step = self.config.index_step.max(1);
        let mut steps = look.template.map_or(step, |template| comparisons(step, &template));
        let number = self.watches.history.number();
        let (mut rows, mut looked_at) = (EventRows::default(), 0);
        let mut from = Place::of_number(look.from);
        for (store, tuples) in self.stores.iter_from(from.store) {
            // The one with which a page begins costs nothing, so that each page comes further.
            if store != from.store {
                from = Place { store, entry: 0 };
                if steps == 0 {
                    return (rows, Some(from.number()), looked_at);
                }
                steps -= 1;
                looked_at += 1;
            }
            let is_other =
                look.template.is_some_and(|template| template.signature() != &*tuples.signature().0);
            if is_other {
                continue;
            }
            for (entry, tuple) in tuples.entries_from(from.entry) {
                let here = Some(Place { store, entry }.number());
                let view = tuples.view(entry);
                let is_wanted =
                    tuple.is_shown() && look.template.is_none_or(|template| template.matches(&view));
                let has_room = rows.count < look.most && rows.has_room(tuple.head().len(), MAX_PAYLOAD_BYTES);
                if steps == 0 || is_wanted && !has_room {
                    return (rows, here, looked_at);
                }
                steps -= 1;
                looked_at += 1;
                if is_wanted {
                    rows.add(number, tuple.order, Change::There, tuple.head(), tuple.bulk());
                }
            }
        }
        (rows, None, looked_at)
    }
}
