//! What several managers do at one instant: their parts, brought together by the lowest of them.
//!
//! Each part was prepared, so that it can be done. The lowest manager stands still, and has one after the other of the higher ones stand still: it handles
//! nothing, and its time does not pass. When all do, each does its part and goes on. So there is an instant at which all of it happens, and nobody can be
//! answered by one manager as if it had happened, and later by another as if it had not. To everybody else a manager that stands still is a slow one, as any
//! process may be.
//!
//! Managers wait for higher ones only, so that none waits in a circle; and whoever stands still waits for nothing but that: neither for room nor for tuples
//! that move. (docs/design/0061.)

use super::collecting::{Collects, Role};
use super::moving::Sent;
use super::{Manager, seeded};
use crate::codec::{
    DONE, ERROR, Found, Further, MOVED, Outcome, Prepare, PreparedAt, ROUTE, Refusal, Route, SeekView, View,
};
use crate::space::{Prepared, Readiness};
use bytes::Bytes;
use core::mem;
use quintet_contract::{Address, Frame, Input, Outbox, OwnedFrame, PeerChange, Time, Token};
use quintet_errors::Code;
use quintet_wire::{Decode, encode_to_vec};
use std::collections::VecDeque;

/// What a manager and others do together.
#[derive(Debug, Default)]
pub(super) struct Commits {
    /// For what it stands still, if it does.
    pub(super) still: Option<Still>,
    /// What came meanwhile, in its order.
    held: VecDeque<Held>,
    /// Parts that it is to bring together with others next.
    ready: VecDeque<u64>,
}

/// For what a manager stands still.
#[derive(Debug)]
pub(super) enum Still {
    /// It brings its own part together with others.
    Brings {
        part: u64,
        /// Those that stand still, and the one that was asked to.
        asked: Vec<u8>,
        /// Those that are asked next.
        left: VecDeque<PreparedAt>,
        /// What each that stands still has found, in the order in which they do, this one first.
        found: Vec<Found>,
    },
    /// Another manager does that.
    Waits { part: u64, for_manager: u8 },
    /// It brings a collection into another space together with others.
    Collects(Box<Collects>),
    /// Another manager does that.
    Joins { role: Role, for_manager: u8 },
}

/// An input that came while the manager stood still.
#[derive(Debug)]
enum Held {
    Frame(Address, OwnedFrame),
    Writable(Address),
    Peer(Address, PeerChange),
}

impl Commits {
    pub(super) fn stands_still(&self) -> bool {
        self.still.is_some()
    }

    /// The space is over: nothing is done together any more. Whose collection was under way.
    pub(super) fn end(&mut self) -> Option<(Address, Token)> {
        self.ready.clear();
        match self.still.take() {
            Some(Still::Collects(collects)) => Some(collects.asker),
            _ => None,
        }
    }
}

impl Manager {
    /// A client's part of what several managers do.
    pub(super) fn prepare(&mut self, now: Time, from: Address, frame: Frame<'_>, out: &mut dyn Outbox) {
        self.spaces.unnamed_mut().catch_up(now, out);
        let copy;
        let frame = if !frame.bulk.is_empty() && Prepare::relies_on_bulk(frame.body) {
            copy = Bytes::copy_from_slice(frame.bulk);
            Frame { bulk: &copy, ..frame }
        } else {
            frame
        };
        match Prepare::decode(frame.body, frame.bulk) {
            Ok((settled, Prepare::Part(part))) => {
                self.spaces.unnamed_mut().settle(from, Token(settled));
                if self.refuse_above((from, frame.token), &part.others, out) {
                    return;
                }
                if !self.admitted.contains(from) || !self.has_all_of(&part.put) {
                    self.admitted.remove(from);
                    return self.send_away(from, frame.token, out);
                }
                self.spaces.unnamed_mut().prepare(now, (from, frame.token), &part, out);
            }
            Ok((settled, Prepare::Seek(part))) => {
                self.spaces.unnamed_mut().settle(from, Token(settled));
                self.seek(now, (from, frame.token), part, out);
            }
            Ok((_, Prepare::GiveUp(number))) => {
                self.spaces.unnamed_mut().give_up(now, from, number, out);
                self.spaces.unnamed_mut().reply(from, DONE, frame.token, out);
            }
            Err(error) => {
                let text = error.to_string();
                self.spaces.unnamed_mut().refuse(from, frame.token, Code::Malformed, text, out);
            }
        }
    }

    /// Refuses a part with others that are not all above this manager; whether it is such a one.
    fn refuse_above(
        &mut self,
        (from, token): (Address, Token),
        others: &[PreparedAt],
        out: &mut dyn Outbox,
    ) -> bool {
        let number = self.managers.len();
        let is_above = |other: &PreparedAt| other.manager > self.me && usize::from(other.manager) < number;
        let is_refused = !others.iter().all(is_above);
        if is_refused {
            let text = "parts are brought together by the lowest of their managers";
            self.spaces.unnamed_mut().refuse(from, token, Code::Malformed, text, out);
        }
        is_refused
    }

    /// A client's part of a select or a replacement that concerns several managers.
    fn seek(&mut self, now: Time, (from, token): (Address, Token), part: SeekView<'_>, out: &mut dyn Outbox) {
        if self.refuse_above((from, token), &part.others, out) {
            return;
        }
        let is_all_here = match &part.further {
            Further::Replace(replace) => {
                (!part.is_here || self.is_here(&replace.template))
                    && replace.tuples.views().all(|tuple| self.is_here(&tuple))
            }
            Further::Select(select) => select.templates.iter().all(|(template, _)| self.is_here(template)),
            Further::Collect(_) | Further::CollectInto(_) => true,
        };
        if !self.admitted.contains(from) || !is_all_here {
            self.admitted.remove(from);
            return self.send_away(from, token, out);
        }
        self.spaces.unnamed_mut().seek(now, (from, token), part, out);
    }

    /// Whether an input waits until this manager goes on.
    pub(super) fn stands_still_for(&self, input: &Input<'_>) -> bool {
        if !self.holds() {
            return false;
        }
        match input {
            Input::Started => false,
            Input::Wake => true,
            // Links to other managers, and their ends.
            Input::Writable(peer) | Input::Peer(peer, _) => self.fellow(*peer).is_none(),
            Input::Frame(from, frame) => match self.fellow(*from) {
                Some(manager) => !self.is_word(manager, frame),
                None => true,
            },
        }
    }

    /// Whether it stands still, and lets everything wait.
    fn holds(&self) -> bool {
        match &self.commits.still {
            None => false,
            Some(Still::Waits { .. }) => !seeded!(self.config, LockNotHeld),
            Some(Still::Collects(collects)) => {
                !(collects.awaits_pages() && seeded!(self.config, PagesNotAwaited))
            }
            Some(Still::Brings { .. } | Still::Joins { .. }) => true,
        }
    }

    /// Whether another manager says what this one stands still for.
    fn is_word(&self, from: u8, frame: &Frame<'_>) -> bool {
        match frame.kind {
            ROUTE => match &self.commits.still {
                Some(Still::Waits { for_manager, .. }) => {
                    *for_manager == from && Route::is_unlock(frame.body)
                }
                Some(Still::Joins { for_manager, .. }) => {
                    *for_manager == from && (Route::is_unlock(frame.body) || Route::is_page(frame.body))
                }
                Some(Still::Collects(_)) => Route::is_page(frame.body),
                Some(Still::Brings { .. }) | None => false,
            },
            ERROR if frame.token == super::fellows::SPACE_IS_OVER => true,
            // Other managers number what they ask as this one does.
            DONE | MOVED | ERROR => self.sent.get(&frame.token) == Some(&Sent::Lock),
            _ => false,
        }
    }

    /// Keeps an input until this manager goes on.
    pub(super) fn hold(&mut self, input: &Input<'_>) {
        let held = match input {
            Input::Frame(from, frame) => Held::Frame(*from, frame.to_owned()),
            Input::Writable(to) => Held::Writable(*to),
            Input::Peer(peer, change) => Held::Peer(*peer, **change),
            // What is due is done when time goes on.
            Input::Wake | Input::Started => return,
        };
        self.counts.held += 1;
        self.commits.held.push_back(held);
    }

    /// Brings together what is ready for it, and does what waited for this manager to go on, until it stands still again.
    pub(super) fn go_on(&mut self, now: Time, out: &mut dyn Outbox) {
        loop {
            for part in self.spaces.unnamed_mut().take_ready() {
                if !self.commits.ready.contains(&part) {
                    self.commits.ready.push_back(part);
                }
            }
            for (manager, part) in self.spaces.unnamed_mut().take_rings() {
                self.counts.rings += 1;
                self.say(manager, Sent::Ring, &Route::Ring(part), out);
            }
            if self.holds() {
                return;
            }
            if let Some(part) = self.commits.ready.pop_front() {
                self.begin(now, part, out);
                continue;
            }
            match self.commits.held.pop_front() {
                Some(Held::Frame(from, frame)) => self.attend(now, Input::Frame(from, frame.borrow()), out),
                Some(Held::Writable(to)) => self.attend(now, Input::Writable(to), out),
                Some(Held::Peer(peer, change)) => self.attend(now, Input::Peer(peer, &change), out),
                None => return,
            }
        }
    }

    /// Asks another manager something.
    fn say(&mut self, manager: u8, sent: Sent, word: &Route, out: &mut dyn Outbox) {
        let token = self.ask(sent);
        let body = encode_to_vec(word).into();
        self.tell(manager, OwnedFrame { kind: ROUTE, token, body, bulk: Bytes::new() }, out);
    }

    /// Whether a part can be done, and what is found for it; else why not.
    fn readiness(
        &mut self,
        number: u64,
        by: Option<(u8, u64)>,
        out: &mut dyn Outbox,
    ) -> Result<Found, Option<Refusal>> {
        if by.is_some() || self.spaces.unnamed().is_sought(number) {
            return self.look(number, by, out).ok_or(None);
        }
        self.readiness_of_group(number).map(|()| Found::default())
    }

    /// What is found for a part of a select or a replacement; none if it is to be asked again.
    fn look(&mut self, number: u64, by: Option<(u8, u64)>, out: &mut dyn Outbox) -> Option<Found> {
        // What it puts may belong elsewhere since it was prepared. Where its templates do, it was sent away.
        let space = self.spaces.unnamed();
        let is_here =
            |tuple: View<'_>| !self.incoming.contains_key(tuple.signature()) && space.is_home(&tuple);
        if !space.puts_all(number, is_here) {
            return None;
        }
        self.spaces.unnamed_mut().find_sought(number, by, out)
    }

    /// Whether what a group has read is there, and what is put belongs here; else why not.
    fn readiness_of_group(&self, number: u64) -> Result<(), Option<Refusal>> {
        match self.spaces.unnamed().readiness(number) {
            Readiness::Ready => {}
            Readiness::Gone => {
                let text = "its part of what several managers were to do was given up, as its link to its client has ended; nothing of it has happened";
                let text = format!("manager {}: {text}", self.me + 1);
                return Err(Some(Refusal::new(Code::PeerDied, text)));
            }
            Readiness::Conflict(age) => {
                let text = format!(
                    "tuple {age}, which the group has read, was taken by somebody else, has expired or has moved before its end; nothing of the group has happened: do it again"
                );
                return Err(Some(Refusal::new(Code::Conflict, text)));
            }
        }
        // What it puts may belong elsewhere since it was prepared.
        let space = self.spaces.unnamed();
        let is_here =
            |tuple: View<'_>| !self.incoming.contains_key(tuple.signature()) && space.is_home(&tuple);
        let are_here = space.part(number).is_none_or(|part| part.views().all(is_here));
        if are_here { Ok(()) } else { Err(None) }
    }

    /// This manager's part is prepared, and so are the others: brings them together.
    fn begin(&mut self, now: Time, part: u64, out: &mut dyn Outbox) {
        // Its client may be gone.
        let Some((_, others)) = self.spaces.unnamed().asked_part(part) else { return };
        let left = others.iter().copied().collect();
        match self.readiness(part, None, out) {
            Ok(found) => {
                self.commits.still =
                    Some(Still::Brings { part, asked: Vec::new(), left, found: vec![found] });
                self.ask_next(now, out);
            }
            Err(why) => self.refuse_part(now, part, why, out),
        }
    }

    /// Asks the next manager to stand still; if all do, it happens.
    fn ask_next(&mut self, now: Time, out: &mut dyn Outbox) {
        let Some(Still::Brings { part, asked, left, found }) = &mut self.commits.still else { return };
        let part = *part;
        if let Some(next) = left.pop_front() {
            asked.push(next.manager);
            let by = if self.spaces.unnamed().is_sought(part) { part } else { 0 };
            return self.say(next.manager, Sent::Lock, &Route::Lock { part: next.number, by }, out);
        }
        let (asked, found) = (mem::take(asked), mem::take(found));
        self.counts.commits += 1;
        if self.spaces.unnamed().is_sought(part) {
            return self.choose(now, part, asked, found, out);
        }
        let answer = self.spaces.unnamed().part(part).map(Prepared::asked);
        self.spaces.unnamed_mut().perform(now, part, out);
        self.unlock(asked, |_| Outcome::Happens, out);
        if let Some((to, token)) = answer {
            self.spaces.unnamed_mut().reply(to, DONE, token, out);
        }
    }

    /// All stand still for a select or a replacement: the manager whose match has the lowest age answers it. Ages of two managers say nothing of which was put first.
    fn choose(&mut self, now: Time, part: u64, asked: Vec<u8>, found: Vec<Found>, out: &mut dyn Outbox) {
        let managers = core::iter::once(self.me).chain(asked.iter().copied());
        let ages = managers.zip(&found).filter_map(|(manager, found)| Some((found.age?, manager)));
        let Some((_, oldest)) = ages.min() else {
            let is_over = self.spaces.unnamed_mut().nothing_found(now, part, out);
            let outcome = if is_over { Outcome::Elsewhere } else { Outcome::Nothing };
            return self.unlock(asked, |_| outcome, out);
        };
        if let Some(refusal) = found.into_iter().find_map(|found| found.refusal) {
            self.unlock(asked, |_| Outcome::Nothing, out);
            return self.refuse_part(now, part, Some(refusal), out);
        }
        let is_replacement = self.spaces.unnamed().is_replacement(part);
        let all_do = is_replacement || seeded!(self.config, SelectTakesAll);
        let outcome =
            |manager| if all_do || manager == oldest { Outcome::Happens } else { Outcome::Elsewhere };
        self.finish_part(now, part, outcome(self.me), out);
        self.unlock(asked, outcome, out);
    }

    /// Lets these managers go on, and this one.
    pub(super) fn unlock(
        &mut self,
        managers: Vec<u8>,
        outcome: impl Fn(u8) -> Outcome,
        out: &mut dyn Outbox,
    ) {
        self.commits.still = None;
        for manager in managers {
            self.say(manager, Sent::Unlock, &Route::Unlock(outcome(manager)), out);
        }
    }

    /// The manager that was asked last stands still, or says why it does not.
    pub(super) fn locked(&mut self, now: Time, frame: &Frame<'_>, out: &mut dyn Outbox) {
        match self.commits.still.take() {
            Some(Still::Collects(collects)) => return self.collect_on(now, collects, frame, out),
            other => self.commits.still = other,
        }
        let Some(Still::Brings { part, asked, found, .. }) = &mut self.commits.still else { return };
        let why = match frame.kind {
            DONE => match Found::decode_all(frame.body) {
                Ok(more) => {
                    found.push(more);
                    return self.ask_next(now, out);
                }
                Err(error) => Some(Refusal::new(Code::Malformed, error.to_string())),
            },
            _ => why(frame),
        };
        // It goes on as it is.
        asked.pop();
        let (part, asked) = (*part, mem::take(asked));
        self.unlock(asked, |_| Outcome::Nothing, out);
        self.refuse_part(now, part, why, out);
    }

    /// Answers that nothing has come of what was to be brought together here: why, or that it is to be asked again.
    fn refuse_part(&mut self, now: Time, part: u64, why: Option<Refusal>, out: &mut dyn Outbox) {
        let Some(((to, token), _)) = self.spaces.unnamed().asked_part(part) else { return };
        self.spaces.unnamed_mut().abandon(now, part, out);
        match why {
            Some(Refusal { code, text }) => self.spaces.unnamed_mut().refuse(to, token, code, text, out),
            None => {
                self.admitted.remove(to);
                self.send_away(to, token, out);
            }
        }
    }

    /// Another manager says to stand still, or to go on.
    pub(super) fn commit_word(
        &mut self,
        now: Time,
        (from, token): (u8, Token),
        word: Route,
        out: &mut dyn Outbox,
    ) {
        let (kind, body) = match word {
            Route::Lock { part, by } => self.stand_still(now, from, (part, by), out),
            Route::Unlock(outcome) => {
                self.end_part(now, from, outcome, out);
                (DONE, Vec::new())
            }
            Route::Ring(part) => {
                self.spaces.unnamed_mut().rung(part);
                (DONE, Vec::new())
            }
            _ => return,
        };
        self.tell(from, OwnedFrame { kind, token, body: body.into(), bulk: Bytes::new() }, out);
    }

    /// Stands still for a part that another manager brings together with others, if it can be done: the answer.
    fn stand_still(
        &mut self,
        now: Time,
        from: u8,
        (part, by): (u64, u64),
        out: &mut dyn Outbox,
    ) -> (quintet_contract::Kind, Vec<u8>) {
        if let Some(lost) = self.fellows.lost() {
            return (ERROR, encode_to_vec(lost));
        }
        let asked = self.spaces.unnamed().asked_part(part);
        if asked.is_some_and(|(_, others)| !others.is_empty() || from > self.me) {
            let text = "parts are brought together by the lowest of their managers";
            return (ERROR, encode_to_vec(&Refusal::new(Code::Malformed, text)));
        }
        match self.readiness(part, (by != 0).then_some((from, by)), out) {
            Ok(found) => {
                self.commits.still = Some(Still::Waits { part, for_manager: from });
                if seeded!(self.config, PartDoneAtLock) {
                    self.spaces.unnamed_mut().perform(now, part, out);
                }
                (DONE, encode_to_vec(&found))
            }
            Err(Some(refusal)) => (ERROR, encode_to_vec(&refusal)),
            Err(None) => (MOVED, self.placement().epoch.to_le_bytes().to_vec()),
        }
    }

    /// The part for which this manager stands still happens, or not: then its client gives it up.
    fn end_part(&mut self, now: Time, from: u8, outcome: Outcome, out: &mut dyn Outbox) {
        match self.commits.still.take() {
            Some(Still::Waits { part, for_manager }) if for_manager == from => {
                self.finish_part(now, part, outcome, out);
            }
            Some(Still::Joins { role, for_manager }) if for_manager == from => {
                self.end_role(now, from, (role, outcome), out);
            }
            other => self.commits.still = other,
        }
    }

    /// Does what comes of a part.
    fn finish_part(&mut self, now: Time, part: u64, outcome: Outcome, out: &mut dyn Outbox) {
        let space = self.spaces.unnamed_mut();
        match outcome {
            Outcome::Nothing => {}
            Outcome::Happens => {
                space.perform(now, part, out);
                space.perform_sought(now, part, out);
            }
            Outcome::Elsewhere => drop(space.drop_sought(now, part, out)),
        }
    }
}

/// Why a manager does not stand still; none: it is to be asked again.
pub(super) fn why(frame: &Frame<'_>) -> Option<Refusal> {
    let read = || Refusal::decode_all(frame.body);
    let refusal = || read().unwrap_or_else(|error| Refusal::new(Code::Malformed, error.to_string()));
    (frame.kind != MOVED).then(refusal)
}
