//! Links between nodes, and the ports that they join.

use super::Simulation;
use crate::arrival::News;
use crate::device::Station;
use crate::frame_costs::FrameCosts;
use crate::ids::DeviceId;
use crate::link::{Direction, LinkModel, Luck, link_stream};
use crate::route::{Carrier, DEVICE_WINDOW, Route};
use quintet_contract::{Address, LinkClass, LinkInfo, NodeId, PeerChange, Port, Random};

impl Simulation {
    /// Joins two addresses by a link between their nodes: [`attach`](Simulation::attach) for one pair of ports.
    ///
    /// # Panics
    /// As that.
    pub fn connect(&mut self, a: Address, b: Address, model: LinkModel) {
        self.attach(a.node, b.node, &[(a.port, b.port)], model);
    }

    /// Joins pairs of ports, of the first node and of the second, by one link between the two, the same in both directions, and tells the
    /// instances at both ports of each that their peer is up. All frames between the nodes share its room and its order, also those between
    /// ports that it does not join; one for a port where nothing is goes unheard.
    ///
    /// A link that was there is replaced: what is under way on it still arrives, unless a protocol had closed it. A node may have one to
    /// itself, which carries what goes between the ports that it joins and nothing else.
    ///
    /// # Panics
    /// If `joined` is empty, or the nodes have an open link that joins ports which `joined` does not name: one link carries all pairs
    /// of two nodes, as on the live host.
    pub fn attach(&mut self, a: NodeId, b: NodeId, joined: &[(Port, Port)], model: LinkModel) {
        self.replace((a, b), joined, |run, (from, to)| {
            let stream = link_stream(from, to);
            let luck = match &run.choices {
                Some(choices) => Luck::Chosen(choices.stream(stream)),
                None => Luck::Random(Random::new(run.seed, stream)),
            };
            let mut direction = Direction::new(model, luck);
            if let Some(Carrier::Link(earlier)) =
                run.routes.get(from.node, to.node).map(|route| &route.carrier)
            {
                direction.follow(earlier);
            }
            Carrier::Link(direction)
        });
    }

    /// Joins two addresses by a transfer device: [`attach_through`](Simulation::attach_through) for one pair of ports.
    ///
    /// # Panics
    /// As that.
    pub fn connect_through(
        &mut self,
        device: DeviceId,
        (a, at_a): (Address, Station),
        (b, at_b): (Address, Station),
    ) {
        self.attach_through(device, (a.node, at_a), (b.node, at_b), &[(a.port, b.port)]);
    }

    /// Joins pairs of ports as [`attach`](Simulation::attach) does, by a transfer device: the first node at station `at_a` of it, the
    /// second at `at_b`.
    ///
    /// # Panics
    /// As that.
    pub fn attach_through(
        &mut self,
        device: DeviceId,
        (a, at_a): (NodeId, Station),
        (b, at_b): (NodeId, Station),
        joined: &[(Port, Port)],
    ) {
        self.replace((a, b), joined, |_, (from, _)| {
            let (from, to) = if from.node == a { (at_a, at_b) } else { (at_b, at_a) };
            Carrier::Device { device, from, to, window: DEVICE_WINDOW }
        });
    }

    /// How many frames from one node to another, and back, a device may have at once, 1024 unless it is set: who sends one more is
    /// told that there is no room, and when there is. Nothing happens if no device joins the two.
    pub fn set_window(&mut self, a: NodeId, b: NodeId, frames: usize) {
        for (from, to) in [(a, b), (b, a)] {
            if let Some(Carrier::Device { window, .. }) =
                self.routes.get_mut(from, to).map(|route| &mut route.carrier)
            {
                *window = frames;
            }
        }
    }

    /// Says what frames between two nodes cost the processors at both ends, in both directions. Nothing happens if they have no link; a
    /// new link in its place costs nothing.
    pub fn set_frame_costs(&mut self, a: NodeId, b: NodeId, costs: FrameCosts) {
        self.set_frame_costs_towards(a, b, costs);
        self.set_frame_costs_towards(b, a, costs);
    }

    /// The same of frames from one node to another only.
    pub fn set_frame_costs_towards(&mut self, from: NodeId, to: NodeId, costs: FrameCosts) {
        if let Some(route) = self.routes.get_mut(from, to) {
            route.costs = Some(Box::new(costs));
        }
    }

    /// Puts a link between two nodes in the place of the one that there may be. `carrier` makes one direction of it, which the first
    /// pair of addresses names.
    fn replace(
        &mut self,
        (a, b): (NodeId, NodeId),
        joined: &[(Port, Port)],
        carrier: impl Fn(&Simulation, (Address, Address)) -> Carrier,
    ) {
        assert!(!joined.is_empty(), "a link joins one pair of ports at least");
        if let Some(earlier) = self.routes.get(a, b) {
            let others =
                a != b && !earlier.closed && earlier.joined.iter().any(|pair| !joined.contains(pair));
            assert!(
                !others,
                "nodes {} and {} have a link that joins other ports: name all pairs in one call",
                a.0, b.0
            );
            self.reopen(a, b);
        }
        let mut turned: Vec<_> = joined.iter().map(|(here, there)| (*there, *here)).collect();
        if a == b {
            // One direction for both.
            turned.extend(joined);
        }
        for (from, to, joined) in [(a, b, joined.into()), (b, a, turned.into_boxed_slice())] {
            let (here, there): (Port, Port) = joined[0];
            let first = (Address { node: from, port: here }, Address { node: to, port: there });
            let carrier = carrier(self, first);
            self.routes.insert(from, to, joined, carrier);
        }
        for (here, there) in joined {
            let (here, there) = (Address { node: a, port: *here }, Address { node: b, port: *there });
            self.announce(here, there);
            self.announce(there, here);
        }
    }

    /// Tells an instance that a peer is up, if that is so.
    pub(super) fn announce(&mut self, to: Address, peer: Address) {
        let Some(node) = self.nodes.get(peer.node).filter(|node| node.alive) else { return };
        let incarnation = node.incarnation;
        let link = self.routes.get(to.node, peer.node).map(Route::info);
        let link = link.unwrap_or(LinkInfo::new(LinkClass::Network, 0));
        self.deliver(to, News::Peer(peer, PeerChange::Up { incarnation, link }).into(), self.now);
    }
}
