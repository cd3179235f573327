//! Who may put what others run.
//!
//! A space keeps bytes and cannot tell a pickle from others. What programs put for those who unpickle it has a first field with a
//! reserved prefix in front, and they take nothing else for it: so to watch over that prefix is to watch over what they run.

mod saved;

use super::Space;
use super::room::ParkedKey;
use super::waiter::Waiter;
use crate::codec::{
    CodeGrants, DONE, Further, NOT_GRANTED, NotGranted, PutTuples, Query, RESERVED_PREFIX, RequestView, View,
    Withheld, is_reserved,
};
use quintet_contract::{Address, Identity, LinkClass, Outbox, Time, Token};
use quintet_errors::Code;
use quintet_wire::send;

/// Who may, and who has said so.
#[derive(Clone, Debug)]
pub(super) struct Granted {
    grants: CodeGrants,
    /// A caller of the space's own node: it is told of who was refused.
    by: Address,
}

impl Space {
    /// Whether this is not for its sender to ask: it puts reserved tuples, or takes one under a lease to answer with such, and was not
    /// granted `code`. Where nobody has said who was, everybody is.
    pub(super) fn needs_grant(&self, from: Address, request: &RequestView<'_>) -> bool {
        self.granted.is_some() && asks_for_code(request) && !self.may_put_code(from)
    }

    /// Refuses what [`needs_grant`](Space::needs_grant), and tells who watches over that.
    pub(super) fn refuse_code(&mut self, to: Address, token: Token, out: &mut dyn Outbox) {
        let identity = self.identity(to);
        let text = not_granted(identity);
        self.tell_refused(Withheld::Code, identity, &text, out);
        self.refuse(to, token, Code::NotAllowed, text, out);
    }

    /// Whether this sender may put what others run.
    ///
    /// # Errors
    /// It was not granted that, and who watches over that is told.
    pub(crate) fn check_grant(&self, from: Address, out: &mut dyn Outbox) -> Result<(), (Code, String)> {
        if self.may_put_code(from) {
            return Ok(());
        }
        let identity = self.identity(from);
        let text = not_granted(identity);
        self.tell_refused(Withheld::Code, identity, &text, out);
        Err((Code::NotAllowed, text))
    }

    /// Tells who watches over this node that somebody was refused.
    pub(crate) fn tell_refused(
        &self,
        what: Withheld,
        identity: Option<Identity>,
        text: &str,
        out: &mut dyn Outbox,
    ) {
        if let Some(Granted { by, .. }) = self.granted {
            // Where it listens no more, nobody is to be told.
            let _ =
                send(out, by, NOT_GRANTED, Token(0), &NotGranted { what, identity, text: text.to_owned() });
        }
    }

    /// From now on those may put what others run here who may in `other`.
    pub(crate) fn grant_as(&mut self, now: Time, other: &Space, out: &mut dyn Outbox) {
        self.granted.clone_from(&other.granted);
        self.refuse_without_grant(now, out);
    }

    /// From now on these may, and nobody else: those who wait with what they may not put any more are refused. Only callers of the
    /// space's own node have a say in it: whoever comes over a link is known by that.
    pub(super) fn grant(
        &mut self,
        now: Time,
        from: Address,
        token: Token,
        grants: &CodeGrants,
        out: &mut dyn Outbox,
    ) {
        if self.clients.contains(from) {
            let text = "who may put functions is said by the process that serves the space alone";
            return self.refuse(from, token, Code::NotAllowed, text, out);
        }
        self.granted = Some(Granted { grants: grants.clone(), by: from });
        self.refuse_without_grant(now, out);
        self.reply(from, DONE, token, out);
    }

    fn refuse_without_grant(&mut self, now: Time, out: &mut dyn Outbox) {
        for key in self.parked_without_grant() {
            if let Some(parked) = self.drop_parked(now, key) {
                self.refuse_code(parked.address, parked.token, out);
            }
        }
        for place in self.replacements_without_grant() {
            let waiter = self.drop_waiter(place);
            self.refuse_code(waiter.requester.address, waiter.requester.token, out);
        }
    }

    /// Those who wait to put in the place of something what they may not put.
    fn replacements_without_grant(&self) -> Vec<u32> {
        let is_refused = |waiter: &Waiter| {
            let puts = waiter.replacement().is_some_and(|tuples| puts_code(&tuples.borrow()));
            puts && !self.may_put_code(waiter.requester.address)
        };
        let refused = self.waiters.iter().filter(|(_, waiter)| is_refused(waiter));
        refused.map(|(place, _)| place).collect()
    }

    fn parked_without_grant(&self) -> Vec<ParkedKey> {
        let parked = self.room.parked_from(ParkedKey { is_out: false, order: 0 });
        let refused =
            parked.filter(|(_, parked)| puts_code(&parked.tuples()) && !self.may_put_code(parked.address));
        refused.map(|(key, _)| key).collect()
    }

    fn may_put_code(&self, who: Address) -> bool {
        let Some(Granted { grants, .. }) = &self.granted else { return true };
        // Callers of the space's own node have no link.
        let Some(client) = self.clients.get(who) else { return true };
        match (client.link.identity, client.link.class) {
            (Some(identity), _) => grants.identities.contains(&identity),
            (None, LinkClass::Process | LinkClass::Machine) => grants.own_machine,
            (None, LinkClass::Network) => false,
        }
    }

    fn identity(&self, who: Address) -> Option<Identity> {
        self.clients.get(who)?.link.identity
    }

    /// Whether somebody waits with what he may not put.
    pub(super) fn waits_without_grant(&self) -> bool {
        self.granted.is_some()
            && !(self.parked_without_grant().is_empty() && self.replacements_without_grant().is_empty())
    }
}

fn asks_for_code(request: &RequestView<'_>) -> bool {
    match request {
        RequestView::Out(put) | RequestView::Ack(_, put) | RequestView::Commit(_, put) => {
            puts_code(&put.tuples)
        }
        RequestView::Further(Further::Replace(replace)) => puts_code(&replace.tuples),
        RequestView::Further(Further::Select(select)) => {
            select.lease.is_some() && select.templates.iter().any(|(template, _)| is_code(template))
        }
        // Whoever does a task hands in its result. Who may not is told so before the task is done.
        RequestView::Take(Query { lease: Some(_), template, .. }) => is_code(template),
        _ => false,
    }
}

fn puts_code(tuples: &PutTuples<'_>) -> bool {
    tuples.views().any(|tuple| is_code(&tuple))
}

pub(super) fn is_code(view: &View<'_>) -> bool {
    view.fields().next().and_then(|first| first.text()).is_some_and(is_reserved)
}

fn not_granted(identity: Option<Identity>) -> String {
    let who = match identity {
        Some(Identity([a, b, c, d, ..])) => format!("the identity {a:02x}{b:02x}{c:02x}{d:02x}... was"),
        None => "this machine was".to_owned(),
    };
    format!(
        "{who} not granted `code` in this cluster, which tuples need whose first field begins with {RESERVED_PREFIX:?}: those of executors and workers, \
         who run what is in them. Join with a token that allows it (where the cluster was made: quintet token create --allow join,code); \
         tuples of your own need no grant"
    )
}
