//! What a router asks for itself: fences, and where everything is. Nothing else goes until that is answered.

use super::{Control, Open, Router};
use crate::codec::{Answer, DONE, FENCE, ROUTE, ROUTES, Refusal, RequestView, Route};
use crate::managers::{Placement, another_version};
use crate::space::seeded;
use quintet_contract::{Frame, Kind, Outbox, OwnedFrame, Time, Token};
use quintet_errors::Code;
use quintet_wire::encode_to_vec;

/// Tokens of the router's own have this bit, which callers' have not.
const OWN: u64 = 1 << 63;

/// Whether a token is of the router's own.
pub(super) fn is_own(token: Token) -> bool {
    token.0 & OWN != 0
}

/// Whether a request of this kind waits behind no other, and has no answer.
pub(super) fn is_urgent(kind: Kind) -> bool {
    RequestView::is_request(kind) && !RequestView::is_answered(kind)
}

impl Router {
    /// Fences the managers with puts that are not known to have been handled; whether there is one. This one handles what it is asked next behind its own, and
    /// is fenced for results only that may be on their way elsewhere.
    pub(super) fn fence_all_but(&mut self, but: Option<u8>, out: &mut dyn Outbox) -> bool {
        if seeded!(self, PutNotFenced) {
            return false;
        }
        for manager in self.numbers() {
            let at = &self.managers[usize::from(manager)];
            let puts = if Some(manager) == but { &at.acks } else { &at.puts };
            if puts.last().is_some_and(|put| *put > at.handled) {
                self.counts.fences += 1;
                self.fence(manager, out);
            }
        }
        !self.controls.is_empty()
    }

    pub(super) fn fence(&mut self, manager: u8, out: &mut dyn Outbox) {
        let at = self.at(manager);
        at.sent += 1;
        let number = at.sent;
        self.control(manager, FENCE, Vec::new(), Control::Fence(manager, number), out);
    }

    pub(super) fn ask_routes(&mut self, route: &Route, out: &mut dyn Outbox) {
        self.counts.routes += 1;
        self.control(0, ROUTE, encode_to_vec(route), Control::Route, out);
    }

    pub(super) fn control(
        &mut self,
        manager: u8,
        kind: Kind,
        body: Vec<u8>,
        control: Control,
        out: &mut dyn Outbox,
    ) {
        self.last_token += 1;
        let token = Token(OWN | self.last_token);
        self.controls.insert(token, control);
        self.tell(manager, OwnedFrame { kind, token, body: body.into(), bulk: bytes::Bytes::new() }, out);
    }

    /// Takes a request back that is to be asked again; until the directory has said where everything is, nothing goes.
    pub(super) fn comes_back(
        &mut self,
        open: Open,
        managers: impl IntoIterator<Item = u8>,
        out: &mut dyn Outbox,
    ) {
        self.counts.moved += 1;
        if open.is_cancelled {
            self.refuse(open.item.frame.token, Code::Cancelled, "at the sender's request", out);
        } else {
            self.moved.insert(open.item.number, open.item);
        }
        // Behind the fence nothing comes back that was sent before it.
        for manager in managers {
            self.fence(manager, out);
        }
        if !self.controls.values().any(|control| *control == Control::Route) {
            self.ask_routes(&Route::ASK, out);
        }
    }

    pub(super) fn answer_to_control(&mut self, now: Time, from: u8, frame: Frame<'_>, out: &mut dyn Outbox) {
        let answer = Answer::decode(frame.kind, frame.body, frame.bulk);
        match (self.controls.remove(&frame.token), frame.kind, answer) {
            (Some(Control::Fence(manager, number)), DONE, _) if manager == from => {
                let at = self.at(manager);
                at.handled = at.handled.max(number);
            }
            (Some(Control::Route), ROUTES, Ok(Answer::Routes(routes)))
                if routes.addresses.len() == self.managers.len() =>
            {
                self.placement = Some(Placement::of_routes(&routes));
                self.addresses = routes.addresses;
            }
            (Some(Control::GiveUp(manager)), DONE, _) if manager == from => {}
            (None, ..) => {}
            // Managers of a version before read no behaviour in the question.
            (Some(Control::Route), _, Ok(Answer::Error(refusal))) if refusal.code == Code::Malformed => {
                self.lose(another_version(&refusal), out);
            }
            // It says why: another manager is gone, say.
            (Some(_), _, Ok(Answer::Error(refusal))) => self.lose(refusal, out),
            // It is no manager of this space, or of another version.
            (Some(_), ..) => {
                let why = Refusal::new(Code::Malformed, self.gone(from));
                self.lose(why, out);
            }
        }
        self.pump(now, out);
    }

    /// A manager is there: it hears that this is one who can be told to ask another.
    pub(super) fn comes_up(&mut self, now: Time, manager: u8, out: &mut dyn Outbox) {
        self.at(manager).is_up = true;
        self.fence(manager, out);
        if manager == 0 {
            self.ask_routes(&Route::ASK, out);
        }
        self.flush(manager, out);
        self.pump(now, out);
    }

    /// A manager is gone for good, and with it a part of the space.
    pub(super) fn lose(&mut self, why: Refusal, out: &mut dyn Outbox) {
        if self.lost.is_some() {
            return;
        }
        self.controls.clear();
        self.managers.iter_mut().for_each(|manager| manager.outgoing.clear());
        let waiting = self.queue.drain(..).chain(core::mem::take(&mut self.moved).into_values());
        let mut unanswered: Vec<Token> = waiting.map(|item| item.frame.token).collect();
        unanswered.extend(core::mem::take(&mut self.open).into_keys());
        unanswered.sort_unstable();
        unanswered.into_iter().for_each(|token| self.refuse(token, why.code, &why.text, out));
        self.lost = Some(why);
    }
}
