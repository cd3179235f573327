//! Links that a protocol has closed, and new ones in the place of those that were cut.

use super::Simulation;
use crate::arrival::{Arrival, News};
use crate::ids::{NodePlace, RouteId};
use crate::link::LinkModel;
use quintet_contract::{Address, Disconnect, DownCause, NodeId, PeerChange};

impl Simulation {
    /// Closes every link between a node and `peer`, at the node's request: what it sent before still arrives, then the peer is
    /// told, unless the way there is cut; what the peer sent does not. Nothing happens if the peer is dead: then all are told of that.
    pub(super) fn disconnect(&mut self, place: NodePlace, peer: NodeId, how: Disconnect) {
        let here = self.nodes[place].id;
        if self.nodes.get(peer).is_none_or(|node| !node.alive) {
            return;
        }
        let ways = self.routes.of(here).into_iter().filter(|(_, to)| to.node == peer);
        let open: Vec<_> = ways.filter(|(from, to)| !self.is_closed(*from, *to)).collect();
        if open.is_empty() {
            return;
        }
        self.drop_waiting(place, peer);
        for (from, to) in open {
            if let Some(back) = self.routes.get_mut(to, from) {
                (back.closed, back.refused) = (true, false);
            }
            self.deliver(from, News::Peer(to, PeerChange::Down(how.cause())).into(), self.now);
            if let Some(id) = self.routes.find(from, to) {
                self.routes[id].close(how);
                self.tell_when_drained(id);
            }
        }
    }

    /// Forgets what came from `peer` and was not handled yet.
    fn drop_waiting(&mut self, place: NodePlace, peer: NodeId) {
        let is_from = |arrival: &Arrival| match arrival {
            Arrival::Frame(parcel) => parcel.label.from.node == peer,
            Arrival::News(news) => matches!(**news, News::Writable(to) if to.node == peer),
            _ => false,
        };
        let node = &mut self.nodes[place];
        node.inbox.retain(|waiting| !is_from(&waiting.arrival));
        let door = &mut self.processors[node.processor.0].door;
        door.retain(|(waiting_for, waiting)| *waiting_for != place || !is_from(&waiting.arrival));
    }

    /// Tells the receiver of a closed link as soon as all that was sent before has arrived or is lost. A dead one is not told.
    pub(super) fn tell_when_drained(&mut self, id: RouteId) {
        let route = &mut self.routes[id];
        let (from, to) = (route.from, route.to);
        let lives = self.nodes.get(to.node).is_some_and(|node| node.alive);
        if route.in_flight == 0
            && lives
            && let Some(end) = route.draining.take()
        {
            self.deliver(to, News::Peer(from, PeerChange::Down(end)).into(), self.now);
        }
    }

    /// Whether an input came over a link after its end.
    pub(super) fn is_late(&self, arrival: &Arrival) -> bool {
        let Arrival::Frame(parcel) = arrival else { return false };
        let Some(route) = parcel.label.route.map(|id| &self.routes[id]) else { return false };
        route.closed && route.draining.is_none() || route.stale > 0
    }

    /// Whether a protocol has closed the link from one address to another; [`connect`](Simulation::connect) makes a new one.
    #[must_use]
    pub fn is_closed(&self, from: Address, to: Address) -> bool {
        self.routes.get(from, to).is_some_and(|route| route.closed)
    }

    /// Tells `at` that its link with `peer` was cut, as a host that has noticed it. See [`set_cut`](Simulation::set_cut).
    pub fn tell_cut(&mut self, at: Address, peer: Address) {
        self.deliver(at, News::Peer(peer, PeerChange::Down(DownCause::Died)).into(), self.now);
    }

    /// Joins two addresses again, as a host that makes a new link in the place of one that was cut: what is under way on that one is
    /// lost. Who was not told of the cut learns of the new link only.
    pub fn connect_again(&mut self, a: Address, b: Address, model: LinkModel) {
        for (from, to) in [(a, b), (b, a)] {
            if let Some(route) = self.routes.get_mut(from, to) {
                route.stale = route.in_flight;
            }
        }
        self.connect(a, b, model);
    }

    /// Whether `at` was not told of an end of its link with `peer`, and is to be told by the caller.
    pub(super) fn expects_end(&mut self, at: Address, peer: Address) -> bool {
        let told = self.routes.get_mut(peer, at).and_then(|route| route.draining.take());
        told.is_some() || !self.is_closed(at, peer)
    }

    /// Opens a link that was closed again. Who has not been told of its end is told now; what is under way is lost.
    pub(super) fn reopen(&mut self, a: Address, b: Address) {
        for (from, to) in [(a, b), (b, a)] {
            let Some(route) = self.routes.get_mut(from, to) else { continue };
            if std::mem::take(&mut route.closed) {
                route.stale = route.in_flight;
            }
            if let Some(end) = route.draining.take() {
                self.deliver(to, News::Peer(from, PeerChange::Down(end)).into(), self.now);
            }
        }
    }
}
