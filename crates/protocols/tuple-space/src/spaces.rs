//! Any number of named spaces beside the unnamed one, behind one port.
//!
//! # What it promises
//! - **Apart.** A space is a [`Space`] of its own: tuples, waiters, leases, quota, order. Nothing that is done in one is seen in another.
//! - **One connection.** Requests to the unnamed space are what they were before there were others; those to a named one say its number in
//!   front. Answers are known by their tokens. What names a request by its token (`CANCEL`, `RETURN`), or means all leases of its sender
//!   (`RENEW`), goes to every space that this sender has used.
//! - **Numbers** are given once: who holds one of a space that was removed is refused, also when another of that name is there.
//! - **Bounds.** The quotas of all named spaces together stay below [`SpacesConfig::max_bytes`]: what a space was promised is there, however full
//!   others are. No more spaces than [`SpacesConfig::max_spaces`].
//! - **Rights.** A space may be used and removed by those that its creation named; the node's own callers may do all. Who is refused is told to
//!   who watches over the node, as the refusals of `code` are.
//!
//! | file | does |
//! | --- | --- |
//! | `named.rs` | one named space, and the table of all |
//! | `collect_into.rs` | what goes from one into another at one instant |
//! | `snapshot.rs` | all of them as bytes, and back |
//! | `users.rs` | who may use any of them, where these are for some only |
//! | `manage.rs` | what is asked of them as a whole: creating, opening, removing, listing |

mod collect_into;
mod manage;
mod named;
mod snapshot;
#[cfg(test)]
mod tests;
mod users;

use crate::codec::{
    CANCEL, FURTHER, FurtherOperation, GRANT, NAMED, NamedFront, Policy, RENEW, RETURN, SPACES, SpaceNumber,
    Withheld,
};
use crate::space::seeded;
use crate::{Books, Refusal, Space, SpaceConfig};
pub(crate) use collect_into::Moved;
use named::Table;
use quintet_contract::{
    Address, Frame, Incarnation, Input, LinkInfo, Meter, Outbox, PeerChange, PeerMap, Protocol, Time,
};
use quintet_errors::Code;
pub use snapshot::KeptSpaces;
use std::collections::BTreeSet;
use users::Users;

/// The limits of the named spaces of a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpacesConfig {
    /// Named spaces at one time; 0: none can be made. Default 256.
    pub max_spaces: u32,
    /// The quotas of all of them together, bytes. Default 4 GiB.
    pub max_bytes: u64,
}

impl SpacesConfig {
    /// Bytes that a space may hold whose creation says nothing of it.
    pub const DEFAULT_BYTES: u64 = 64 << 20;
    /// Tuples that a space may hold whose creation says nothing of it.
    pub const DEFAULT_TUPLES: u64 = 1 << 20;
}

impl Default for SpacesConfig {
    fn default() -> Self {
        SpacesConfig { max_spaces: 256, max_bytes: 4 << 30 }
    }
}

/// A client whose link is up.
#[derive(Debug)]
struct Client {
    incarnation: Incarnation,
    link: LinkInfo,
    /// The named spaces that it has used, and may use.
    spaces: BTreeSet<SpaceNumber>,
}

/// The unnamed space, and named ones. How they behave stands at the head of this module's file.
#[derive(Debug)]
pub struct Spaces {
    unnamed: Space,
    table: Table,
    /// Those who come over links. The node's own callers are not among them, and may use everything.
    clients: PeerMap<Client>,
    /// Who may use any of them.
    users: Users,
}

impl Spaces {
    /// The unnamed space with these limits, and no other.
    #[must_use]
    pub fn new(space: SpaceConfig, spaces: SpacesConfig) -> Spaces {
        Spaces::kept(&KeptSpaces { space, spaces, policy: Policy::Volatile, is_restricted: false })
    }

    /// The same in a server that keeps them as the policy says. It keeps all of them so: who asks for a volatile space gets one that is kept.
    #[must_use]
    pub fn kept(config: &KeptSpaces) -> Spaces {
        let KeptSpaces { space, spaces, policy, is_restricted } = *config;
        Spaces {
            unnamed: Space::new(space),
            table: Table::new(space, spaces, policy),
            clients: PeerMap::new(),
            users: Users::new(is_restricted),
        }
    }

    /// The unnamed space.
    #[must_use]
    pub fn unnamed(&self) -> &Space {
        &self.unnamed
    }

    /// The unnamed space, to be changed by who knows it as one manager's of several.
    pub(crate) fn unnamed_mut(&mut self) -> &mut Space {
        &mut self.unnamed
    }

    /// What all spaces have lent, summed up. O(senders).
    #[must_use]
    pub fn books(&self) -> Books {
        self.table.spaces().map(Space::books).fold(self.unnamed.books(), Books::and)
    }

    /// Whether a frame is the unnamed space's alone.
    #[inline]
    fn is_for_unnamed(&self, frame: &Frame<'_>) -> bool {
        match frame.kind {
            NAMED | SPACES => false,
            CANCEL | RETURN | RENEW | GRANT => self.table.is_empty(),
            FURTHER => !FurtherOperation::is_into(frame.kind, frame.body),
            _ => true,
        }
    }

    /// What [`is_for_unnamed`](Spaces::is_for_unnamed) is not, and all where not everybody may use the spaces.
    fn frame(&mut self, now: Time, from: Address, frame: Frame<'_>, out: &mut dyn Outbox) {
        if self.users.is_restricted && self.refuse_other(from, &frame, out) {
            return;
        }
        match frame.kind {
            _ if self.is_for_unnamed(&frame) => self.unnamed.handle(now, Input::Frame(from, frame), out),
            NAMED => self.frame_of_named(now, from, frame, out),
            SPACES => self.manage(now, from, &frame, out),
            FURTHER => self.collect_into(now, from, SpaceNumber::UNNAMED, &frame, out),
            GRANT => {
                self.unnamed.handle(now, Input::Frame(from, frame), out);
                self.table.each(|space| space.grant_as(now, &self.unnamed, out));
            }
            _ => {
                self.unnamed.handle(now, Input::Frame(from, frame), out);
                self.tell_used(now, from, Input::Frame(from, frame), out);
            }
        }
    }

    /// A request to a named space is handed to it as what it would be without a number.
    fn frame_of_named(&mut self, now: Time, from: Address, frame: Frame<'_>, out: &mut dyn Outbox) {
        let (front, body) = match NamedFront::split(frame.body) {
            Ok(parts) => parts,
            Err(error) => {
                return self.unnamed.refuse(from, frame.token, Code::Malformed, error.to_string(), out);
            }
        };
        let request = Frame { kind: front.kind, body, ..frame };
        if let Err((code, text)) = self.admit(now, from, front.space, out) {
            return self.unnamed.refuse(from, frame.token, code, text, out);
        }
        if seeded!(self.table.space, NumberOfSpaceIgnored) {
            return self.unnamed.handle(now, Input::Frame(from, request), out);
        }
        if FurtherOperation::is_into(request.kind, request.body) {
            return self.collect_into(now, from, front.space, &request, out);
        }
        self.table.handle(now, front.space, Input::Frame(from, request), out);
    }

    /// Whether this sender may use a space; the first time, the space learns of it.
    fn admit(
        &mut self,
        now: Time,
        from: Address,
        number: SpaceNumber,
        out: &mut dyn Outbox,
    ) -> Result<(), (Code, String)> {
        let Some(client) = self.clients.get_mut(from) else { return self.table.find(number).map(drop) };
        if client.spaces.contains(&number) {
            return Ok(());
        }
        let named = self.table.find(number)?;
        if !named.admits(&client.link) {
            let (identity, text) = (client.link.identity, named.not_admitted(client.link.identity));
            self.unnamed.tell_refused(Withheld::Space, identity, &text, out);
            return Err((Code::NotAllowed, text));
        }
        client.spaces.insert(number);
        self.table.handle(now, number, Input::Peer(from, &client.up()), out);
        Ok(())
    }

    /// Tells something to each named space that an address has used: to all of them, where it is one of the node's own callers.
    fn tell_used(&mut self, now: Time, address: Address, input: Input<'_>, out: &mut dyn Outbox) {
        match self.clients.get(address) {
            Some(client) => {
                client.spaces.iter().for_each(|number| self.table.handle(now, *number, input, out));
            }
            None => self.table.handle_all(now, input, out),
        }
    }

    fn peer_change(&mut self, now: Time, peer: Address, change: &PeerChange, out: &mut dyn Outbox) {
        match change {
            PeerChange::Up { incarnation, link } => {
                let spaces = BTreeSet::new();
                self.clients.insert(peer, Client { incarnation: *incarnation, link: *link, spaces });
            }
            PeerChange::Down(_) => {
                self.tell_used(now, peer, Input::Peer(peer, change), out);
                self.clients.remove(peer);
            }
        }
        self.unnamed.handle(now, Input::Peer(peer, change), out);
    }

    /// Whatever is not the unnamed space's alone.
    #[inline(never)]
    fn attend(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Frame(from, frame) => self.frame(now, from, frame, out),
            Input::Peer(peer, change) => self.peer_change(now, peer, change, out),
            Input::Started => self.unnamed.handle(now, input, out),
            Input::Wake => {
                self.unnamed.handle(now, input, out);
                self.table.wake(now, out);
            }
            Input::Writable(to) => {
                self.unnamed.handle(now, input, out);
                self.tell_used(now, to, input, out);
            }
        }
    }

    /// Answers each request that waits, in any space, with this refusal.
    pub(crate) fn refuse_unanswered(&mut self, now: Time, refusal: &Refusal, out: &mut dyn Outbox) {
        self.unnamed.refuse_unanswered(now, refusal, out);
        self.table.refuse_unanswered(now, refusal, out);
    }

    /// Checks that the parts agree: for tests and fuzzing.
    ///
    /// # Panics
    /// If they do not.
    pub(crate) fn verify(&self) {
        self.unnamed.verify();
        self.table.verify();
        let knows = |client: &Client| client.spaces.iter().all(|number| self.table.find(*number).is_ok());
        assert!(self.clients.values().all(knows), "a client has used a space that is not there");
    }
}

impl Protocol for Spaces {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match &input {
            // Most inputs: the space's own `handle` becomes a part of this one.
            Input::Frame(_, frame) if !self.users.is_restricted && self.is_for_unnamed(frame) => {
                self.unnamed.handle(now, input, out);
            }
            _ => self.attend(now, input, out),
        }
    }

    #[inline]
    fn deadline(&self) -> Option<Time> {
        match self.table.deadline() {
            None => self.unnamed.deadline(),
            Some(named) => Some(self.unnamed.deadline().map_or(named, |own| own.min(named))),
        }
    }

    fn measure(&self, meter: &mut Meter<'_>) {
        self.unnamed.measure(meter);
        self.table.tell_metrics(meter);
    }
}
