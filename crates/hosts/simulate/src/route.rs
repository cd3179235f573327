//! The way from one node to another, for all ports that it joins: an abstract link, or a transfer device.

use crate::device::Station;
use crate::frame_costs::FrameCosts;
use crate::ids::{DeviceId, RouteId};
use crate::link::Direction;
use core::num::NonZeroU32;
use core::ops::{Index, IndexMut};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use quintet_contract::limits::FRAGMENT_BYTES;
use quintet_contract::{
    Address, Disconnect, DownCause, LinkClass, LinkInfo, NodeId, OwnedFrame, Port, SendError,
};

/// Frames of one way under way through a device at once, unless it is set; a sender beyond it is told that there is no room.
pub(crate) const DEVICE_WINDOW: usize = 1024;
/// Frames for this port and those above it go by a further way; no instance is there.
pub(crate) const FIRST_WAY_PORT: u16 = 0xff00;

/// One direction of the link between two nodes.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    pub(crate) carrier: Carrier,
    /// Pairs of ports, the sender's and the receiver's: who is told of the link.
    pub(crate) joined: Box<[(Port, Port)]>,
    /// Whether everything sent is lost.
    pub(crate) cut: bool,
    /// Whether what arrives is kept back.
    pub(crate) held: bool,
    /// Whether the link is closed: nothing more departs.
    pub(crate) closed: bool,
    /// While what departed before that is still to arrive: what the receiver is told then.
    pub(crate) draining: Option<DownCause>,
    /// Frames of a link that was closed and opened again, still under way and not to be shown.
    pub(crate) stale: usize,
    /// Frames sent and neither arrived nor lost.
    pub(crate) in_flight: usize,
    /// Whether the sender's host has made the link, and the receiver's has not looked at it: its first frame is kept.
    pub(crate) is_dialled: bool,
    pub(crate) first_word: Option<OwnedFrame>,
    /// Instances that found no room and wait to be told, and whom they wanted to send to, each once.
    pub(crate) refused: Vec<(Port, Port)>,
    /// How often one began to wait for room, since counting began.
    pub(crate) blocked: u64,
    /// What its frames cost at both ends, if anything. Boxed: few links have it.
    pub(crate) costs: Option<Box<FrameCosts>>,
}

/// What carries the frames.
#[derive(Debug)]
pub(crate) enum Carrier {
    Link(Direction),
    Device { device: DeviceId, from: Station, to: Station, window: usize },
}

impl Route {
    fn new(from: NodeId, to: NodeId, joined: Box<[(Port, Port)]>, carrier: Carrier) -> Route {
        let (cut, closed, draining, refused) = (false, false, None, Vec::new());
        Route {
            from,
            to,
            carrier,
            joined,
            cut,
            held: false,
            closed,
            draining,
            stale: 0,
            in_flight: 0,
            is_dialled: false,
            first_word: None,
            refused,
            blocked: 0,
            costs: None,
        }
    }

    /// Whether it joins these ports, the sender's and the receiver's.
    pub(crate) fn joins(&self, pair: (Port, Port)) -> bool {
        self.joined.contains(&pair)
    }

    /// The pairs of addresses that it joins, the sender's and the receiver's.
    pub(crate) fn ends(&self) -> Vec<(Address, Address)> {
        self.joined.iter().map(|pair| self.addresses(*pair)).collect()
    }

    /// The addresses of a port of the sender and of one of the receiver.
    pub(crate) fn addresses(&self, (here, there): (Port, Port)) -> (Address, Address) {
        (Address { node: self.from, port: here }, Address { node: self.to, port: there })
    }

    pub(crate) fn is_device(&self) -> bool {
        matches!(self.carrier, Carrier::Device { .. })
    }

    /// What the sender's end is told about it.
    pub(crate) fn info(&self) -> LinkInfo {
        match &self.carrier {
            Carrier::Link(link) => link.model.info(),
            Carrier::Device { .. } => LinkInfo::new(LinkClass::Network, FRAGMENT_BYTES),
        }
    }

    /// Whether what arrives now is not to be shown: it came after the end.
    pub(crate) fn is_over(&self) -> bool {
        self.closed && self.draining.is_none() || self.stale > 0
    }

    /// Has nothing more depart. What departed before still arrives, and then the receiver learns of the end, unless the way is cut.
    pub(crate) fn close(&mut self, how: Disconnect) {
        let looks_cut = how == Disconnect::UntilNextLink && self.info().may_be_cut;
        let end = if looks_cut { DownCause::Died } else { DownCause::Closed };
        self.shut();
        self.draining = (!self.cut).then_some(end);
    }

    /// Has nothing more depart.
    pub(crate) fn shut(&mut self) {
        self.closed = true;
        self.refused.clear();
    }

    /// The largest bulk of one frame.
    pub(crate) fn max_bulk_bytes(&self) -> usize {
        match &self.carrier {
            Carrier::Link(link) => link.model.max_bulk_bytes,
            Carrier::Device { .. } => FRAGMENT_BYTES,
        }
    }

    /// A frame has arrived, is lost, or was not sent after all.
    pub(crate) fn left(&mut self) {
        self.in_flight -= 1;
        self.stale = self.stale.saturating_sub(1);
    }

    /// Whether it takes one more frame now, from one port to another.
    pub(crate) fn admit(&mut self, pair: (Port, Port), bulk: usize) -> Result<(), SendError> {
        if self.closed {
            return Err(SendError::Unreachable);
        }
        let limit = self.max_bulk_bytes();
        if bulk > limit {
            return Err(SendError::TooLong { len: bulk, limit });
        }
        let window = match &self.carrier {
            Carrier::Link(link) => link.model.window_frames,
            Carrier::Device { window, .. } => *window,
        };
        if self.in_flight >= window {
            if !self.refused.contains(&pair) {
                self.refused.push(pair);
                self.blocked += 1;
            }
            return Err(SendError::Full);
        }
        Ok(())
    }
}

/// All routes of a run: one at most from each node to each other, and further ones, which have ports of their own. They are looked up by
/// their two ends once for each frame, and by their number from then on.
#[derive(Debug)]
pub(crate) struct Routes {
    routes: Vec<Route>,
    /// By both ends as one number, which is hashed in one step.
    ends: HashMap<u32, RouteId, FixedState>,
    /// Further ways, by both ends and the port to which their frames are addressed.
    further: HashMap<(u32, Port), RouteId, FixedState>,
}

impl Routes {
    pub(crate) fn new() -> Routes {
        let (hasher, another) = (FixedState::with_seed(0), FixedState::with_seed(0));
        Routes {
            routes: Vec::new(),
            ends: HashMap::with_hasher(hasher),
            further: HashMap::with_hasher(another),
        }
    }

    /// Adds the way from one node to another. If there was one, what is under way stays so.
    pub(crate) fn insert(&mut self, from: NodeId, to: NodeId, joined: Box<[(Port, Port)]>, carrier: Carrier) {
        let route = Route::new(from, to, joined, carrier);
        if let Some(earlier) = self.get_mut(from, to) {
            let (in_flight, stale) = (earlier.in_flight, earlier.stale);
            *earlier = Route { in_flight, stale, ..route };
            return;
        }
        let id = self.push(route);
        self.ends.insert(ends(from, to), id);
    }

    /// Adds one more way from one node to another, for the frames that are addressed to this port.
    pub(crate) fn insert_further(
        &mut self,
        (from, to): (NodeId, NodeId),
        port: Port,
        joined: (Port, Port),
        carrier: Carrier,
    ) {
        let id = self.push(Route::new(from, to, [joined].into(), carrier));
        self.further.insert((ends(from, to), port), id);
    }

    fn push(&mut self, route: Route) -> RouteId {
        self.routes.push(route);
        let number = u32::try_from(self.routes.len()).ok().and_then(NonZeroU32::new);
        RouteId(number.expect("one was added, and memory ends before 2^32 routes"))
    }

    /// The further way from a node to an address, and the address at which what it carries arrives.
    #[cold]
    pub(crate) fn find_further(&self, from: NodeId, to: Address) -> Option<(RouteId, Address)> {
        let id = *self.further.get(&(ends(from, to.node), to.port))?;
        let (_, port) = *self[id].joined.first()?;
        Some((id, Address { port, ..to }))
    }

    pub(crate) fn find(&self, from: NodeId, to: NodeId) -> Option<RouteId> {
        self.ends.get(&ends(from, to)).copied()
    }

    pub(crate) fn get(&self, from: NodeId, to: NodeId) -> Option<&Route> {
        self.find(from, to).map(|id| &self[id])
    }

    pub(crate) fn get_mut(&mut self, from: NodeId, to: NodeId) -> Option<&mut Route> {
        self.find(from, to).map(|id| &mut self[id])
    }

    /// What the links of a node join: its own addresses and the peers', in order.
    pub(crate) fn ends_of(&self, id: NodeId) -> Vec<(Address, Address)> {
        let ours = self.routes.iter().filter(|route| route.from == id);
        let mut ends: Vec<_> = ours.flat_map(Route::ends).collect();
        ends.sort_unstable();
        // Further ways join the same.
        ends.dedup();
        ends
    }

    /// How often senders began to wait for room on the ways through a device.
    pub(crate) fn blocked_at(&self, device: DeviceId) -> u64 {
        let through = |route: &&Route| matches!(route.carrier, Carrier::Device { device: found, .. } if found == device);
        self.routes.iter().filter(through).map(|route| route.blocked).sum()
    }

    /// Begins to count anew.
    pub(crate) fn reset_statistics(&mut self) {
        self.routes.iter_mut().for_each(|route| route.blocked = 0);
    }

    /// Cuts the ways that `apart` says are cut, and joins all others.
    pub(crate) fn cut_where(&mut self, apart: impl Fn(NodeId, NodeId) -> bool) {
        for route in &mut self.routes {
            route.cut = apart(route.from, route.to);
        }
    }
}

fn ends(from: NodeId, to: NodeId) -> u32 {
    u32::from(from.0) << 16 | u32::from(to.0)
}

impl Index<RouteId> for Routes {
    type Output = Route;
    fn index(&self, id: RouteId) -> &Route {
        &self.routes[id.0.get() as usize - 1]
    }
}

impl IndexMut<RouteId> for Routes {
    fn index_mut(&mut self, id: RouteId) -> &mut Route {
        &mut self.routes[id.0.get() as usize - 1]
    }
}
