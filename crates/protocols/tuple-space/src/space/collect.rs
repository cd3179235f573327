//! Collections: all tuples that match, to whoever asks, a page at a time.
//!
//! A collection is about the tuples that were there when its first page was asked for, which is to say older than an age. Each page goes on
//! from an age, so that nothing is kept for it between two pages. One that takes is a plain take of all its tuples: they are hidden once
//! the link has taken the whole page, settled together, and return together. A page compares no more than one turn may, and ends early
//! where an index is being built, at which it does a step: it says from where to go on. (docs/design/0051.)

use super::scan::comparisons;
use super::stores::Place;
use super::waiter::{Operation, Requester};
use super::{Space, seeded, stages};
use crate::codec::{COLLECTED, Collect, CollectedBody, CollectedRows};
use core::ops::ControlFlow;
use quintet_contract::limits::MAX_PAYLOAD_BYTES;
use quintet_contract::{Outbox, SendError, Time};
use quintet_wire::{encode_to_vec, send};

/// Bytes of the bulk of a page with more than one tuple.
const PAGE_BULK_BYTES: usize = 1 << 20;

/// How far a walk over the tuples that match has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reach {
    /// It has seen all of them.
    End,
    /// It has not looked at the one of this age.
    Before(u64),
    /// The index to look in is being built.
    NotReady,
}

/// The tuples of a page.
struct Page {
    rows: CollectedRows,
    places: Vec<Place>,
    next: Option<u64>,
    below: u64,
}

impl Space {
    /// Answers with a page.
    pub(super) fn collect(
        &mut self,
        now: Time,
        requester: Requester,
        asked: &Collect<'_>,
        out: &mut dyn Outbox,
    ) {
        if asked.from == 0 {
            self.note_question(now, &requester, &asked.template);
        }
        // A page is taken whole or not at all, and no more may be unsettled than that.
        let most = if asked.takes { self.config.max_unsettled.max(1) } else { usize::MAX };
        let mut page = self.page(asked, most.min(asked.most as usize), out);
        let mut sent = send_page(&page, &requester, out);
        if matches!(sent, Err(SendError::TooLong { .. })) && page.places.len() > 1 {
            page = self.page(asked, 1, out);
            sent = send_page(&page, &requester, out);
        }
        match sent {
            Ok(()) => self.hand_over_page(now, &page.places, &requester),
            Err(SendError::Full) => self.ask_again(&requester, asked.from, page.below, out),
            sent => self.conclude(&requester, sent, out),
        }
    }

    /// What matches from there on, as far as one page and one turn go.
    fn page(&mut self, asked: &Collect<'_>, most: usize, out: &mut dyn Outbox) -> Page {
        let below = asked.below.unwrap_or(self.next_order);
        let limit = comparisons(self.config.index_step.max(1), &asked.template);
        let (mut rows, mut places) = (CollectedRows::default(), Vec::new());
        let mut budget = self.budget();
        let (reach, compared) = self.stores.walk(
            &asked.template,
            asked.from..below,
            limit,
            (&mut budget, &self.key),
            |place, entry| {
                let (head, bulk) = (entry.head(), entry.bulk());
                if places.len() == most
                    || !rows.has_room(head.len(), bulk.len(), MAX_PAYLOAD_BYTES, PAGE_BULK_BYTES)
                {
                    return ControlFlow::Break(());
                }
                rows.add(head, bulk);
                places.push(place);
                ControlFlow::Continue(())
            },
        );
        self.room.index_made(budget.made);
        out.work(stages::MATCH, compared.saturating_add(1));
        let next = match reach {
            Reach::End => None,
            Reach::Before(age) => Some(age),
            Reach::NotReady => {
                self.build(out);
                Some(asked.from.max(1))
            }
        };
        Page { rows, places, next, below }
    }

    /// A page has gone: what it takes is its taker's.
    fn hand_over_page(&mut self, now: Time, places: &[Place], requester: &Requester) {
        let stays = requester.operation.leaves();
        for place in places {
            self.stores[place.store].note_delivery(now, place.entry, stays);
            let is_left = seeded!(self.config, CollectedStays) && *place == places[0];
            if !(stays || is_left) {
                self.hold_until_settled(now, *place, requester);
            }
        }
    }

    /// The link has no room: nothing was given, and the same page is to be asked for again.
    fn ask_again(&mut self, requester: &Requester, from: u64, below: u64, out: &mut dyn Outbox) {
        let body = CollectedBody { next: Some(from.max(1)), below, rows: &CollectedRows::default() };
        self.reply_with(requester.address, COLLECTED, requester.token, &body, out);
    }
}

impl Requester {
    /// Who asks for a page.
    pub(super) fn of_page(self, takes: bool) -> Requester {
        Requester { operation: if takes { Operation::Take } else { Operation::Read }, ..self }
    }
}

fn send_page(page: &Page, requester: &Requester, out: &mut dyn Outbox) -> Result<(), SendError> {
    let Requester { address, token, .. } = *requester;
    let body = CollectedBody { next: page.next, below: page.below, rows: &page.rows };
    match page.rows.bulk() {
        bulk if bulk.is_empty() => send(out, address, COLLECTED, token, &body),
        bulk => out.send_bulk(address, COLLECTED, token, &encode_to_vec(&body), bulk),
    }
}
