//! The other managers: whether all of them are there and of the same space, and what is answered once one of them is gone.
//!
//! No request is done before all managers that are in processes of their own have said to each other that they are of one space: a tuple that moves has somewhere to go. One that is gone
//! takes its tuples with it, so that no answer of the others would be one of the whole space: from then on they answer everything with its name.

use super::{Manager, Sent};
use crate::codec::{DONE, ERROR, MANAGERS_BEHAVIOUR, MANAGERS_NEWS, ManagersNews, ROUTE, Refusal, Route};
use crate::managers::{another_version, gone};
use bytes::Bytes;
use quintet_contract::{Address, DownCause, Frame, Outbox, OwnedFrame, PeerMap, Time, Token};
use quintet_errors::Code;
use quintet_wire::{Decode, encode_to_vec, send};
use std::collections::BTreeSet;

/// Nothing is asked under it: an error that says why the space is over.
pub(super) const SPACE_IS_OVER: Token = Token(0);

/// What one manager knows of the others.
#[derive(Debug)]
pub(super) struct Fellows {
    /// Those that have not said so far that they are of this space.
    missing: BTreeSet<u8>,
    /// Fences of clients that wait for them.
    fences: Vec<(Address, Token)>,
    /// Why the space is over, if it is.
    lost: Option<Refusal>,
    /// Who is told.
    told: Option<Address>,
}

impl Fellows {
    pub(super) fn new(others: impl Iterator<Item = u8>, told: Option<Address>) -> Fellows {
        Fellows { missing: others.collect(), fences: Vec::new(), lost: None, told }
    }

    /// Why the space is over, if it is.
    pub(super) fn lost(&self) -> Option<&Refusal> {
        self.lost.as_ref()
    }

    /// Who is gone waits for nothing.
    pub(super) fn forget(&mut self, client: Address) {
        self.fences.retain(|(from, _)| *from != client);
    }

    fn tell(&self, news: &ManagersNews, out: &mut dyn Outbox) {
        if let Some(told) = self.told {
            // Where nobody listens any more, nobody is to be told.
            let _ = send(out, told, MANAGERS_NEWS, Token(0), news);
        }
    }
}

/// Why who goes by another behaviour is refused.
pub(super) fn other_behaviour(me: u8, who: &str, behaviour: u32) -> String {
    format!(
        "{who} is of another version than manager {} of this space (behaviour {behaviour}, and here it is {MANAGERS_BEHAVIOUR}): use one version for all managers and their programs",
        me + 1
    )
}

impl Manager {
    /// Asks another manager, to which there is a link now, whether it is of the same space, unless that is known.
    pub(super) fn greet(&mut self, manager: u8, out: &mut dyn Outbox) {
        if !self.fellows.missing.contains(&manager) {
            return;
        }
        let token = self.ask(Sent::Join(manager));
        let managers = u8::try_from(self.managers.len()).expect("at most MAX_MANAGERS");
        let body = encode_to_vec(&Route::Join {
            managers,
            seed: self.placement().seed(),
            behaviour: MANAGERS_BEHAVIOUR,
        });
        let frame = OwnedFrame { kind: ROUTE, token, body: body.into(), bulk: Bytes::new() };
        self.tell(manager, frame, out);
    }

    /// Another manager asks whether this one is of the same space.
    pub(super) fn join(
        &mut self,
        from: u8,
        token: Token,
        (asked, behaviour): ((u8, u64), u32),
        out: &mut dyn Outbox,
    ) {
        let own = (u8::try_from(self.managers.len()).expect("at most MAX_MANAGERS"), self.placement().seed());
        let refusal = match self.fellows.lost() {
            Some(lost) => Some(lost.clone()),
            None if behaviour != MANAGERS_BEHAVIOUR => Some(Refusal::new(
                Code::VersionMismatch,
                other_behaviour(self.me, "another manager", behaviour),
            )),
            None if asked == own => None,
            None => {
                let (number, of, theirs) = (self.me + 1, own.0, asked.0);
                let text = format!(
                    "manager {number} is one of {of} of another space, and who asks is one of {theirs}: tell all managers of a space the same addresses and cluster"
                );
                Some(Refusal::new(Code::BadValue, text))
            }
        };
        let (kind, body) = match &refusal {
            Some(refusal) => (ERROR, encode_to_vec(refusal)),
            None => (DONE, Vec::new()),
        };
        self.tell(from, OwnedFrame { kind, token, body: body.into(), bulk: Bytes::new() }, out);
    }

    /// Another manager has said whether it is of the same space.
    pub(super) fn joined(&mut self, now: Time, manager: u8, frame: &Frame<'_>, out: &mut dyn Outbox) {
        if frame.kind == DONE {
            self.fellows.missing.remove(&manager);
            if self.fellows.missing.is_empty() && self.fellows.lost.is_none() {
                self.fellows.tell(&ManagersNews::Complete, out);
                self.answer_fences(out);
            }
            return;
        }
        match Refusal::decode_all(frame.body) {
            // One of a version before reads no behaviour in the question.
            Ok(refusal) if refusal.code == Code::Malformed => self.lose(now, another_version(&refusal), out),
            _ => self.told_lost(now, manager, frame, out),
        }
    }

    /// Another manager says why the space is over.
    pub(super) fn told_lost(&mut self, now: Time, manager: u8, frame: &Frame<'_>, out: &mut dyn Outbox) {
        let refusal = Refusal::decode_all(frame.body).unwrap_or_else(|error| {
            Refusal::new(Code::Malformed, format!("manager {}: {error}", manager + 1))
        });
        self.lose(now, refusal, out);
    }

    /// A client's fence: it is answered when all managers are there, and its requests are done from then on.
    pub(super) fn fence(&mut self, from: Address, token: Token, out: &mut dyn Outbox) {
        self.fellows.fences.push((from, token));
        if self.fellows.missing.is_empty() || self.fellows.lost.is_some() {
            self.answer_fences(out);
        }
    }

    fn answer_fences(&mut self, out: &mut dyn Outbox) {
        for (from, token) in core::mem::take(&mut self.fellows.fences) {
            if self.refuse_lost(from, token, out) {
                continue;
            }
            // What it asks of another manager next is not to be there before what it has put here, and which is on its way there.
            if self.batches.values().any(|batch| batch.answer.0 == from) {
                self.fellows.fences.push((from, token));
                continue;
            }
            self.admitted.insert(from, ());
            self.spaces.unnamed_mut().reply(from, DONE, token, out);
        }
    }

    /// What some client has put has come to where it belongs.
    pub(super) fn retry_fences(&mut self, out: &mut dyn Outbox) {
        if self.fellows.missing.is_empty() {
            self.answer_fences(out);
        }
    }

    /// Answers with the name of the manager that is gone; whether one is.
    pub(super) fn refuse_lost(&mut self, from: Address, token: Token, out: &mut dyn Outbox) -> bool {
        let Some(Refusal { code, text }) = self.fellows.lost.clone() else { return false };
        self.spaces.unnamed_mut().refuse(from, token, code, text, out);
        true
    }

    /// Another manager is gone for good, or has refused this one.
    pub(super) fn fellow_down(&mut self, now: Time, manager: u8, cause: DownCause, out: &mut dyn Outbox) {
        let code = match cause {
            DownCause::Closed | DownCause::Died => Code::PeerDied,
            DownCause::Silent => Code::PeerSilent,
            DownCause::Misbehaved => Code::Malformed,
            DownCause::Refused(number) => Code::from_number(number).unwrap_or(Code::NotAllowed),
        };
        let text = gone(manager, self.managers.len(), &self.addresses[usize::from(manager)]);
        self.lose(now, Refusal::new(code, text), out);
    }

    /// From now on nothing of the space is asked any more, and who waits hears so. The first reason counts. The other managers are told: they may still be
    /// linked with the one that is gone for this one.
    pub(super) fn lose(&mut self, now: Time, why: Refusal, out: &mut dyn Outbox) {
        if self.fellows.lost.is_some() {
            return;
        }
        self.fellows.tell(&ManagersNews::Lost(why.clone()), out);
        for manager in self.others() {
            let body = encode_to_vec(&why).into();
            self.tell(
                manager,
                OwnedFrame { kind: ERROR, token: SPACE_IS_OVER, body, bulk: Bytes::new() },
                out,
            );
        }
        self.admitted = PeerMap::new();
        self.spaces.refuse_unanswered(now, &why, out);
        let collecting = self.commits.end();
        self.fellows.lost = Some(why);
        if let Some((from, token)) = collecting {
            self.refuse_lost(from, token, out);
        }
        self.answer_fences(out);
        self.refuse_asked(out);
        self.refuse_batches(out);
    }

    /// Whoever waits for tuples to come to another manager: whether they did is not known. The other managers were told that the space is over.
    fn refuse_batches(&mut self, out: &mut dyn Outbox) {
        for batch in core::mem::take(&mut self.batches).into_values() {
            let (from, token) = batch.answer;
            if self.fellow(from).is_none() {
                self.refuse_lost(from, token, out);
            }
        }
    }
}
