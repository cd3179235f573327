//! Further ways between two nodes, beside the link that they may have.

use super::Simulation;
use crate::device::Station;
use crate::ids::DeviceId;
use crate::link::{Direction, LinkModel, Luck, link_stream};
use crate::route::{Carrier, FIRST_WAY_PORT};
use quintet_contract::{Address, NodeId, Port, Random};

/// One more way between two addresses. A sender names it by the address to which it sends: [`Way::to`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Way(pub u8);

impl Way {
    /// The address that stands for the receiver's, reached by this way.
    #[must_use]
    pub const fn to(self, receiver: Address) -> Address {
        Address { port: self.port(), ..receiver }
    }

    const fn port(self) -> Port {
        Port(FIRST_WAY_PORT + self.0 as u16)
    }
}

impl Simulation {
    /// Joins two addresses by one more link, which is used by those who send to [`Way::to`] their peer. Nobody is told of it: it is for
    /// modelled programs.
    ///
    /// A way of the same number between the two nodes is replaced for what is sent from now on.
    pub fn connect_beside(&mut self, way: Way, a: Address, b: Address, model: LinkModel) {
        self.add_way(way, (a, b), |run, from, to| {
            let stream = link_stream(from, way.to(to));
            Carrier::Link(Direction::new(model, Luck::Random(Random::new(run.seed, stream))))
        });
    }

    /// Joins two addresses, or one to itself, by one more way, through a device that has `window` frames of it at once at most.
    pub fn connect_through_beside(
        &mut self,
        way: Way,
        device: DeviceId,
        (a, at_a): (Address, Station),
        (b, at_b): (Address, Station),
        window: usize,
    ) {
        self.add_way(way, (a, b), |_, from, _| {
            let (from, to) = if from.node == a.node { (at_a, at_b) } else { (at_b, at_a) };
            Carrier::Device { device, from, to, window }
        });
    }

    fn add_way(
        &mut self,
        way: Way,
        (a, b): (Address, Address),
        carrier: impl Fn(&Simulation, Address, Address) -> Carrier,
    ) {
        let back = (a.node != b.node).then_some((b, a));
        for (from, to) in [Some((a, b)), back].into_iter().flatten() {
            let carrier = carrier(self, from, to);
            let nodes: (NodeId, NodeId) = (from.node, to.node);
            self.routes.insert_further(nodes, way.port(), (from.port, to.port), carrier);
        }
    }
}
