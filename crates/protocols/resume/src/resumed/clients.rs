//! All clients that are known by their identities.

use super::client::Client;
use crate::codec::ClientId;
use quintet_contract::{Address, NodeId, PeerMap, Time};
use quintet_wire::registry::PORT_RESUMED;
use std::collections::{BTreeMap, BTreeSet};

/// By identity, by address towards the service, and by when they are given up.
#[derive(Debug, Default)]
pub(super) struct Clients {
    clients: BTreeMap<ClientId, Client>,
    places: PeerMap<ClientId>,
    /// Those who are away.
    due: BTreeSet<(Time, ClientId)>,
    /// The place given last: those that were are not given again before all others.
    pub(super) last: u16,
}

impl Clients {
    pub(super) fn len(&self) -> usize {
        self.clients.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (ClientId, &Client)> {
        self.clients.iter().map(|(id, client)| (*id, client))
    }

    pub(super) fn get(&self, id: ClientId) -> Option<&Client> {
        self.clients.get(&id)
    }

    /// A client, whose requests are to be changed.
    pub(super) fn get_mut(&mut self, id: ClientId) -> Option<&mut Client> {
        self.clients.get_mut(&id)
    }

    /// A client, of which all may be changed. Looked at for when it is given up once that is done.
    pub(super) fn change<T>(&mut self, id: ClientId, change: impl FnOnce(&mut Client) -> T) -> Option<T> {
        let client = self.clients.get_mut(&id)?;
        let before = client.until;
        let result = change(client);
        let after = client.until;
        if before != after {
            self.forget_due(id, before);
            self.due.extend(after.map(|at| (at, id)));
        }
        Some(result)
    }

    /// The client that has this address towards the service.
    pub(super) fn at_place(&mut self, place: Address) -> Option<&mut Client> {
        if place.port != PORT_RESUMED {
            return None;
        }
        let id = self.places.get(place)?;
        self.clients.get_mut(id)
    }

    /// Adds a client with an address of its own. There are fewer of them than addresses.
    pub(super) fn insert(&mut self, id: ClientId, make: impl FnOnce(Address) -> Client) -> Address {
        let place = loop {
            self.last = self.last.wrapping_add(1).max(1);
            let place = Address { node: NodeId(self.last), port: PORT_RESUMED };
            if !self.places.contains(place) {
                break place;
            }
        };
        self.put_back(id, make(place));
        place
    }

    /// Adds a client that has its address. False if another one has it.
    pub(super) fn put_back(&mut self, id: ClientId, client: Client) -> bool {
        if self.places.contains(client.place) || self.clients.contains_key(&id) {
            return false;
        }
        self.places.insert(client.place, id);
        self.due.extend(client.until.map(|at| (at, id)));
        self.clients.insert(id, client);
        true
    }

    pub(super) fn remove(&mut self, id: ClientId) -> Option<Client> {
        let client = self.clients.remove(&id)?;
        self.places.remove(client.place);
        self.forget_due(id, client.until);
        Some(client)
    }

    fn forget_due(&mut self, id: ClientId, until: Option<Time>) {
        if let Some(until) = until {
            self.due.remove(&(until, id));
        }
    }

    /// Who is given up first, if that is due.
    pub(super) fn first_due(&self, now: Time) -> Option<ClientId> {
        self.due.first().filter(|(at, _)| *at <= now).map(|(_, id)| *id)
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        self.due.first().map(|(at, _)| *at)
    }
}
