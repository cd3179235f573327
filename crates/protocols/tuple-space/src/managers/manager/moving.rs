//! How tuples get from one manager to another: those of a signature that moves, and those that come to be where they do not belong.

use super::Manager;
use super::fellows::SPACE_IS_OVER;
use crate::Signature;
use crate::codec::{
    Class, DONE, ERROR, MIGRATE, Migrate, MovedTuple, ROUTE, Relocation, Route, TRANSFER, Transfer, View,
};
use crate::space::{Arrival, Leaving};
use bytes::Bytes;
use quintet_contract::{Address, Frame, Outbox, OwnedFrame, Time, Token};
use quintet_wire::{Decode, Reader, encode_to_vec};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of tuples in one transfer; a longer tuple has one of its own.
const CHUNK_BYTES: usize = 8 << 20;

/// A signature of which not all has come, or all of a key.
#[derive(Debug)]
pub(super) struct Incoming {
    /// The key, if only what has that moves.
    key: Option<u64>,
    /// The managers that may have more of it.
    from: BTreeSet<u8>,
    /// Who is told when all has come; none: the directory beside it.
    told: Option<(u8, Token)>,
    /// What was put or has returned meanwhile, and of which batch it is: what was put is younger than what has not come.
    put: Vec<(MovedTuple, Option<u64>)>,
    /// The same from other managers.
    sent: Vec<(u8, OwnedFrame)>,
    /// What has happened to its tuples, as the other managers had kept it, and how much each had, this one included.
    events: Vec<MovedTuple>,
    arrival: Arrival,
}

/// What was asked of another manager.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sent {
    Migrate,
    /// Part of a batch; none: nobody waits for it.
    Transfer(Option<u64>),
    Spread,
    Load,
    /// Whether that manager is of the same space.
    Join(u8),
    /// To stand still.
    Lock,
    /// To go on.
    Unlock,
    /// That there is something for which a part waits.
    Ring,
}

/// Tuples that are on their way, for which somebody waits.
#[derive(Debug)]
pub(super) struct Batch {
    /// Transfers that are not answered.
    pub(super) left: usize,
    /// Who waits: a client, or the manager that sent them here, from where they go on.
    pub(super) answer: (Address, Token),
}

impl Manager {
    /// A name for what is asked of another manager.
    pub(super) fn ask(&mut self, sent: Sent) -> Token {
        self.last_token += 1;
        let token = Token(self.last_token);
        self.sent.insert(token, sent);
        token
    }

    /// A frame of another manager.
    pub(super) fn fellow_frame(&mut self, now: Time, from: u8, frame: Frame<'_>, out: &mut dyn Outbox) {
        if !self.commits.stands_still() {
            self.spaces.unnamed_mut().catch_up(now, out);
        }
        match frame.kind {
            MIGRATE => {
                let mut reader = Reader::new(frame.body);
                if let Ok(migrate) = Migrate::decode(&mut reader) {
                    self.migrate(now, migrate, Some((from, frame.token)), out);
                }
            }
            TRANSFER => self.transfer(now, from, frame, out),
            ROUTE => self.route(now, self.managers[usize::from(from)], &frame, out),
            ERROR if frame.token == SPACE_IS_OVER => self.told_lost(now, from, &frame, out),
            _ => self.answered(now, &frame, out),
        }
        self.end_turn(now, out);
    }

    /// Serves those who waited for room that tuples have left.
    fn end_turn(&mut self, now: Time, out: &mut dyn Outbox) {
        if !self.commits.stands_still() {
            self.spaces.unnamed_mut().end_turn(now, out);
        }
    }

    /// Another manager has done what it was asked.
    fn answered(&mut self, now: Time, frame: &Frame<'_>, out: &mut dyn Outbox) {
        match self.sent.remove(&frame.token) {
            Some(Sent::Join(manager)) => self.joined(now, manager, frame, out),
            Some(Sent::Migrate) => self.has_changed(now, out),
            Some(Sent::Transfer(Some(batch))) => self.has_come(batch, out),
            Some(Sent::Lock) => self.locked(now, frame, out),
            Some(Sent::Transfer(None) | Sent::Spread | Sent::Load | Sent::Unlock | Sent::Ring) | None => {}
        }
    }

    fn has_come(&mut self, number: u64, out: &mut dyn Outbox) {
        let Some(batch) = self.batches.get_mut(&number) else { return };
        batch.left -= 1;
        if batch.left == 0 {
            let answer = batch.answer;
            self.batches.remove(&number);
            self.tell_come(answer, out);
            self.retry_fences(out);
        }
    }

    /// All is where it belongs for which somebody waits.
    fn tell_come(&mut self, (to, token): (Address, Token), out: &mut dyn Outbox) {
        match self.fellow(to) {
            Some(manager) => self.acknowledge(manager, token, out),
            None => self.spaces.unnamed_mut().reply(to, DONE, token, out),
        }
    }

    /// From now on a signature is somewhere else: sends away who waits for it, and what is not to be here.
    pub(super) fn migrate(
        &mut self,
        now: Time,
        migrate: Migrate,
        told: Option<(u8, Token)>,
        out: &mut dyn Outbox,
    ) {
        let Migrate { epoch, relocation } = migrate;
        let (signature, key) = (relocation.signature().clone(), relocation.key());
        let (me, from) = (self.me, self.others().collect());
        let before = self.placement().of_signature(&signature);
        let space = self.spaces.unnamed_mut();
        let kept = BTreeMap::from([(me, space.events_kept_of(&signature, key))]);
        let (arrival, events) = (Arrival { before, kept }, Vec::new());
        self.placement().change(epoch, &relocation);
        let incoming = Incoming { key, from, told, put: Vec::new(), sent: Vec::new(), events, arrival };
        self.incoming.insert(signature.clone(), incoming);
        let space = self.spaces.unnamed_mut();
        space.set_incoming(&signature, Some(key));
        space.send_waiters_away(&signature.0, key, out);
        space.send_watchers_away(now, &signature.0, key, out);
        let events = space.take_events_away(&signature.0);
        let moved = space.take_away_moved(now, &signature.0);
        // They come before what ends the signature.
        for (manager, events) in self.by_home(events) {
            self.send_tuples(manager, events, None, None, out);
        }
        let mut to_each = self.by_home(moved);
        for manager in self.others() {
            let tuples = to_each.remove(&manager).unwrap_or_default();
            self.send_tuples(manager, tuples, Some(&signature), None, out);
        }
        let early = core::mem::take(&mut self.early);
        for (from, frame) in early {
            self.transfer(now, from, frame.borrow(), out);
        }
        self.finish_incoming(now, &signature, out);
        self.end_turn(now, out);
    }

    pub(super) fn others(&self) -> impl Iterator<Item = u8> + use<> {
        let (me, number) = (self.me, u8::try_from(self.managers.len()).expect("at most MAX_MANAGERS"));
        (0..number).filter(move |manager| *manager != me)
    }

    fn by_home(&mut self, tuples: Vec<MovedTuple>) -> BTreeMap<u8, Vec<MovedTuple>> {
        let mut homes: BTreeMap<u8, Vec<MovedTuple>> = BTreeMap::new();
        let placement = self.placement();
        for tuple in tuples {
            let home = placement.of_tuple(&View::checked_tuple(&tuple.head, &tuple.bulk));
            homes.entry(home).or_default().push(tuple);
        }
        homes
    }

    /// Sends tuples to a manager, a part at a time; the last one says that these are all of a signature. How many parts.
    fn send_tuples(
        &mut self,
        manager: u8,
        tuples: Vec<MovedTuple>,
        ends: Option<&Signature>,
        batch: Option<u64>,
        out: &mut dyn Outbox,
    ) -> usize {
        self.counts.tuples_sent += tuples.len() as u64;
        let (epoch, space) = (self.placement().epoch, self.spaces.unnamed());
        let (next_age, number) = (space.next_age(), space.event_number());
        let ends = ends.map(|signature| {
            let kept = self.incoming.get(signature).and_then(|incoming| incoming.arrival.kept.get(&self.me));
            (signature.clone(), kept.cloned().flatten())
        });
        let chunks = chunks(tuples, ends.is_some());
        let (count, mut left) = (chunks.len(), chunks.len());
        for tuples in chunks {
            left -= 1;
            let ends = ends.clone().filter(|_| left == 0);
            let transfer = Transfer { epoch, next_age, number, ends, tuples };
            let (body, bulk) = transfer.to_parts().expect("a chunk is short, and so is a stored tuple");
            let token = self.ask(Sent::Transfer(batch));
            self.tell(manager, OwnedFrame { kind: TRANSFER, token, body: body.into(), bulk }, out);
        }
        count
    }

    /// Tuples come from another manager. Where that is ahead they wait until this one has heard why.
    fn transfer(&mut self, now: Time, from: u8, frame: Frame<'_>, out: &mut dyn Outbox) {
        let Ok(transfer) = Transfer::decode(frame.body, frame.bulk) else { return };
        if transfer.epoch > self.placement().epoch {
            return self.early.push((from, frame.to_owned()));
        }
        if transfer.tuples.first().is_some_and(|first| first.number > 0) {
            return self.keep_events(from, frame.token, transfer.tuples, out);
        }
        // What is put or returns is there when all of its signature is: before, another manager may still answer as if it were alone.
        let of_change = transfer.ends.is_some();
        for tuple in transfer.tuples.iter().filter(|_| !of_change) {
            let view = View::checked_tuple(&tuple.head, &tuple.bulk);
            if let Some(incoming) = self.incoming_with(&view) {
                return incoming.sent.push((from, frame.to_owned()));
            }
        }
        self.counts.tuples_adopted += transfer.tuples.len() as u64;
        self.spaces.unnamed_mut().pass_age(transfer.next_age);
        self.spaces.unnamed_mut().pass_event_number(transfer.number);
        self.spaces.unnamed_mut().adopt(now, &transfer.tuples, out);
        // What moved again meanwhile goes on, and has come when it is there: whoever hears so may ask that manager next.
        if !self.spaces.unnamed_mut().leaves_for(self.managers[usize::from(from)], frame.token) {
            self.acknowledge(from, frame.token, out);
        }
        if let Some((signature, kept)) = transfer.ends {
            if let Some(incoming) = self.incoming.get_mut(&signature) {
                incoming.from.remove(&from);
                incoming.arrival.kept.insert(from, kept);
            }
            self.finish_incoming(now, &signature, out);
        }
    }

    /// What has happened to tuples of a signature that moves, until all of it has come.
    fn keep_events(&mut self, from: u8, token: Token, events: Vec<MovedTuple>, out: &mut dyn Outbox) {
        for event in events {
            if let Some(incoming) = self.incoming_with(&View::checked_tuple(&event.head, &event.bulk)) {
                incoming.events.push(event);
            }
        }
        self.acknowledge(from, token, out);
    }

    /// What a tuple or a template is among that has not all come.
    pub(super) fn incoming_with(&mut self, about: &View<'_>) -> Option<&mut Incoming> {
        if self.incoming.is_empty() {
            return None;
        }
        let key = self.incoming.get(about.signature())?.key;
        let concerns = self.placement().concerns(about.signature(), key, about);
        self.incoming.get_mut(about.signature()).filter(|_| concerns)
    }

    pub(super) fn acknowledge(&mut self, manager: u8, token: Token, out: &mut dyn Outbox) {
        self.tell(manager, OwnedFrame { kind: DONE, token, body: Bytes::new(), bulk: Bytes::new() }, out);
    }

    /// Tells that all of a signature is here, if it is.
    fn finish_incoming(&mut self, now: Time, signature: &Signature, out: &mut dyn Outbox) {
        if self.incoming.get(signature).is_none_or(|incoming| !incoming.from.is_empty()) {
            return;
        }
        let Some(incoming) = self.incoming.remove(signature) else { return };
        let Incoming { key, told, put, sent, events, arrival, .. } = incoming;
        self.spaces.unnamed_mut().set_incoming(signature, None);
        self.spaces.unnamed_mut().events_have_come(now, (signature, key), arrival, events);
        self.spaces.unnamed_mut().adopt(now, put.iter().map(|(tuple, _)| tuple), out);
        put.into_iter().filter_map(|(_, batch)| batch).for_each(|batch| self.has_come(batch, out));
        for (from, frame) in sent {
            self.transfer(now, from, frame.borrow(), out);
        }
        match told {
            Some((manager, token)) => self.acknowledge(manager, token, out),
            None => self.has_changed(now, out),
        }
    }

    /// Sends what has come to be here and belongs elsewhere.
    pub(super) fn send_leaving(&mut self, now: Time, out: &mut dyn Outbox) {
        for Leaving { tuples, answer } in self.spaces.unnamed_mut().take_leaving() {
            let batch = answer.map(|_| self.last_batch + 1);
            let mut left = 0;
            for (manager, tuples) in self.by_home(tuples) {
                if manager == self.me {
                    left += self.keep(now, tuples, batch, out);
                } else {
                    left += self.send_tuples(manager, tuples, None, batch, out);
                }
            }
            let Some((answer, number)) = answer.zip(batch) else { continue };
            if left == 0 {
                self.tell_come(answer, out);
            } else {
                self.last_batch = number;
                self.batches.insert(number, Batch { left, answer });
            }
        }
    }

    /// Stores what left and belongs here after all, or keeps it until all of its signature has come. How much it keeps.
    fn keep(
        &mut self,
        now: Time,
        tuples: Vec<MovedTuple>,
        batch: Option<u64>,
        out: &mut dyn Outbox,
    ) -> usize {
        let (mut kept, mut here) = (0, Vec::new());
        for tuple in tuples {
            let view = View::checked_tuple(&tuple.head, &tuple.bulk);
            match self.incoming_with(&view) {
                Some(incoming) => {
                    incoming.put.push((tuple, batch));
                    kept += 1;
                }
                None => here.push(tuple),
            }
        }
        self.spaces.unnamed_mut().adopt(now, &here, out);
        kept
    }

    /// Asks the directory to spread a signature: the one beside this, or the first manager's.
    pub(super) fn ask_to_spread(&mut self, signature: Signature, field: u8, now: Time, out: &mut dyn Outbox) {
        if self.directory.is_some() {
            self.want(Relocation::Class(signature, Class::Hash(field)));
            return self.direct(now, out);
        }
        let token = self.ask(Sent::Spread);
        let body = encode_to_vec(&Route::Spread(signature, field)).into();
        self.tell(0, OwnedFrame { kind: ROUTE, token, body, bulk: Bytes::new() }, out);
    }
}

/// The tuples in parts of at most so many bytes; one without any where an end is to be told.
pub(super) fn chunks(tuples: Vec<MovedTuple>, at_least_one: bool) -> Vec<Vec<MovedTuple>> {
    let (mut chunks, mut chunk, mut bytes) = (Vec::new(), Vec::new(), 0);
    for tuple in tuples {
        let own = tuple.head.len() + tuple.bulk.len() + 64;
        if !chunk.is_empty() && bytes + own > CHUNK_BYTES {
            chunks.push(core::mem::take(&mut chunk));
            bytes = 0;
        }
        bytes += own;
        chunk.push(tuple);
    }
    if !chunk.is_empty() || (at_least_one && chunks.is_empty()) {
        chunks.push(chunk);
    }
    chunks
}
