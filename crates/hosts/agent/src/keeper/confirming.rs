//! Which view is the latest: a log brings back what was agreed when it was written, and members may have been removed since.
//!
//! A machine that has just been started goes by the view that it remembers to come together with the others, for else no majority ever would. Whatever else
//! follows from being a member (to be let into the cluster's space, to be granted anything, to have a certificate made anew, to let a machine
//! in) waits until a majority has said which view is the latest.

use super::{Keeper, Purpose};
use crate::enrolling::granted;
use quintet_contract::{Identity, Token};
use quintet_launch::Grant;
use quintet_membership::Request;
use quintet_wire::registry::{PORT_CALLERS, PORT_SESSION};
use std::collections::BTreeMap;

impl Keeper {
    /// Whether the view is none so far, or older than what this machine remembers.
    pub(super) fn is_behind(&self) -> bool {
        self.view.number == 0 || self.view.number < self.record.view
    }

    /// Whether the view is the latest, as far as a majority has said. What a log brings back may be older: who was removed since is still in it,
    /// and is neither let in anew nor granted anything.
    pub(crate) fn is_current(&self) -> bool {
        self.is_confirmed && !self.is_behind()
    }

    /// Has a majority say what the latest view is, unless it has.
    pub(crate) fn confirm(&mut self) {
        let is_asked = self.open.values().any(|purpose| matches!(purpose, Purpose::Confirm));
        if !self.is_confirmed && !is_asked {
            self.ask(Purpose::Confirm, &Request::View { agreed: true });
        }
    }

    /// Does what follows from a view that is known to be the latest, once it is.
    pub(super) fn follow_confirmed(&mut self) {
        if !self.is_current() {
            return;
        }
        self.admission.set_doubtful(false);
        self.grant();
        for frame in self.early.take() {
            self.take_request(&frame);
        }
    }

    /// No majority is heard, or one is again.
    pub(super) fn take_staleness(&mut self, is_stale: bool) {
        if is_stale && !self.was_confirmed {
            // Since it was started this machine has heard from nobody who is in.
            self.admission.set_doubtful(true);
            self.keep_spaces();
            self.serve_space().iter().for_each(|notice| (self.told)(notice));
        }
        self.is_confirmed &= !is_stale;
        if !is_stale {
            self.confirm();
        }
    }

    /// Tells the launcher who may ask it for what, and has the cluster's space told who may put what others run, when that is looked at next.
    fn grant(&self) {
        let frame = quintet_launch::Request::Grants { grants: self.granted_now() }.frame(Token(0));
        self.handle.send(PORT_CALLERS, PORT_SESSION, frame);
        let granted = self.granted_now().into_iter().filter(|(_, grant)| grant.code);
        self.admission.set_code(granted.map(|(identity, _)| identity).collect());
    }

    /// Has this user's processes on this machine put what others run into the cluster's space if this machine was granted that. Of itself it need not ask
    /// a majority: what it serves, nobody else does.
    pub(super) fn grant_own_code(&self) {
        let own = self.view.members.get(&self.record.node);
        self.admission.set_own_code(own.is_some_and(|own| granted(own.grants).code));
    }

    /// Who may ask the launcher for what: nobody, before that is known.
    pub(super) fn granted_now(&self) -> BTreeMap<Identity, Grant> {
        let members = self.view.members.values().filter(|_| self.is_current());
        members.map(|member| (member.identity, granted(member.grants))).collect()
    }
}
