//! Who is connected, and what each has done with its leases.

use super::Space;
use super::lease::Lease;
use quintet_contract::{Address, LinkInfo, PeerMap, Span, Time};

/// The clients of a space whose links are up.
pub(super) type Clients = PeerMap<Client>;

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Client {
    pub(super) since: Time,
    pub(super) link: LinkInfo,
    /// Leases that it has acknowledged.
    pub(super) acknowledged: u64,
    /// Leases of it that ended otherwise.
    pub(super) given_up: u64,
    /// How long it held those that it has acknowledged, one after the other.
    pub(super) held: Span,
}

impl Space {
    /// A client is connected.
    pub(super) fn connect(&mut self, now: Time, client: Address, link: LinkInfo) {
        let (acknowledged, given_up, held) = (0, 0, Span::ZERO);
        self.clients.insert(client, Client { since: now, link, acknowledged, given_up, held });
    }

    /// A lease was acknowledged.
    pub(super) fn note_acknowledged(&mut self, now: Time, lease: &Lease) {
        // Callers of the space's own node have no link.
        if let Some(client) = self.clients.get_mut(lease.holder) {
            client.acknowledged += 1;
            client.held = Span(client.held.0.saturating_add(now.since(lease.since).0));
        }
    }

    /// A lease has ended otherwise.
    pub(super) fn note_given_up(&mut self, lease: &Lease) {
        if let Some(client) = self.clients.get_mut(lease.holder) {
            client.given_up += 1;
        }
    }
}
