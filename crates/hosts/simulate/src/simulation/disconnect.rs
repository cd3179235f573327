//! Links that a protocol has closed, and new ones in the place of those that were cut.

use super::Simulation;
use crate::arrival::{Arrival, News};
use crate::ids::{NodePlace, RouteId};
use crate::link::LinkModel;
use crate::route::Route;
use quintet_contract::{Disconnect, DownCause, NodeId, OwnedFrame, PeerChange};

impl Simulation {
    /// Closes the link between a node and `peer`, at the node's request: what it sent before still arrives, then the peer is
    /// told, unless the way there is cut; what the peer sent does not. Nothing happens if the peer is dead: then all are told of that.
    #[cold]
    pub(super) fn disconnect(&mut self, place: NodePlace, peer: NodeId, how: Disconnect) {
        let here = self.nodes[place].id;
        let lives = self.nodes.get(peer).is_some_and(|node| node.alive);
        let Some(id) = self.routes.find(here, peer).filter(|id| lives && !self.routes[*id].closed) else {
            return;
        };
        self.drop_waiting(place, peer);
        if let Some(back) = self.routes.get_mut(peer, here) {
            back.shut();
        }
        for (from, to) in self.routes[id].ends() {
            self.deliver(from, News::Peer(to, PeerChange::Down(how.cause())).into(), self.now);
        }
        self.routes[id].close(how);
        self.tell_when_drained(id);
    }

    /// Forgets what came from `peer` and was not handled yet.
    fn drop_waiting(&mut self, place: NodePlace, peer: NodeId) {
        let is_from = |arrival: &Arrival| match arrival {
            Arrival::Frame(parcel) => parcel.label.from.node == peer,
            Arrival::News(news) => matches!(**news, News::Writable(to) if to.node == peer),
            _ => false,
        };
        let threads = &self.nodes[place].threads;
        for thread in threads.all() {
            self.threads[thread].inbox.retain(|waiting| !is_from(&waiting.arrival));
        }
        for id in self.threads.processors(threads) {
            let door = &mut self.processors[id.0].door;
            door.retain(|(waiting_for, waiting)| *waiting_for != place || !is_from(&waiting.arrival));
        }
    }

    /// Tells the receivers of a closed link as soon as all that was sent before has arrived or is lost. A dead one is not told.
    pub(super) fn tell_when_drained(&mut self, id: RouteId) {
        let route = &self.routes[id];
        let lives = self.nodes.get(route.to).is_some_and(|node| node.alive);
        if route.in_flight == 0 && lives {
            self.tell_end(id);
        }
    }

    /// Tells the receivers of a closed link of its end, if they are still to be told.
    fn tell_end(&mut self, id: RouteId) {
        let route = &mut self.routes[id];
        let Some(end) = route.draining.take() else { return };
        for (from, to) in route.ends() {
            self.deliver(to, News::Peer(from, PeerChange::Down(end)).into(), self.now);
        }
    }

    /// Whether a protocol has closed the link from one node to another; [`attach`](Simulation::attach) makes a new one.
    #[must_use]
    pub fn is_closed(&self, from: NodeId, to: NodeId) -> bool {
        self.routes.get(from, to).is_some_and(|route| route.closed)
    }

    /// Tells a node that its link with `peer` was cut, as a host that has noticed it: every instance that the link joins. See
    /// [`set_cut`](Simulation::set_cut).
    pub fn tell_cut(&mut self, at: NodeId, peer: NodeId) {
        let ends = self.routes.get(at, peer).map(Route::ends);
        for (here, there) in ends.into_iter().flatten() {
            self.deliver(here, News::Peer(there, PeerChange::Down(DownCause::Died)).into(), self.now);
        }
    }

    /// Links two nodes again, as hosts that make a new link in the place of one that was cut, for the same ports: what is under way on
    /// that one is lost. Who was not told of the cut learns of the new link only. Nothing happens if they had none.
    pub fn connect_again(&mut self, a: NodeId, b: NodeId, model: LinkModel) {
        self.lose_in_flight(a, b);
        if let Some(joined) = self.routes.get(a, b).map(|route| route.joined.clone()) {
            self.attach(a, b, &joined, model);
        }
    }

    /// Tells a node, whose link with `peer` was cut, of a new one that its host has made, as long as the peer's host has not looked at
    /// that: what it sends is lost but for the first frame ([`first_word`](Simulation::first_word)), and nothing comes. Until the next link
    /// between the two, which has taken the place of this one. Nothing happens if they had none, or the peer is dead.
    pub fn dial(&mut self, at: NodeId, peer: NodeId) {
        self.lose_in_flight(at, peer);
        for (from, to) in [(at, peer), (peer, at)] {
            self.set_cut(from, to, true);
        }
        let Some(route) = self.routes.get_mut(at, peer) else { return };
        (route.is_dialled, route.first_word) = (true, None);
        for (here, there) in route.ends() {
            self.announce(here, there);
        }
    }

    /// The first frame over the link that a node's host has [made](Simulation::dial), by which the peer's decides what becomes of it.
    #[must_use]
    pub fn first_word(&self, from: NodeId, to: NodeId) -> Option<&OwnedFrame> {
        self.routes.get(from, to)?.first_word.as_ref()
    }

    /// What is under way between two nodes is not shown.
    fn lose_in_flight(&mut self, a: NodeId, b: NodeId) {
        for (from, to) in [(a, b), (b, a)] {
            if let Some(route) = self.routes.get_mut(from, to) {
                route.stale = route.in_flight;
            }
        }
    }

    /// Whether node `at` was not told of an end of its link with `peer`, and is to be told by the caller.
    pub(super) fn expects_end(&mut self, at: NodeId, peer: NodeId) -> bool {
        let told = self.routes.get_mut(peer, at).and_then(|route| route.draining.take());
        told.is_some() || !self.is_closed(at, peer)
    }

    /// Opens a link that was closed again. Who has not been told of its end is told now; what is under way is lost.
    pub(super) fn reopen(&mut self, a: NodeId, b: NodeId) {
        for (from, to) in [(a, b), (b, a)] {
            let Some(id) = self.routes.find(from, to) else { continue };
            let route = &mut self.routes[id];
            if std::mem::take(&mut route.closed) {
                route.stale = route.in_flight;
            }
            self.tell_end(id);
        }
    }
}
