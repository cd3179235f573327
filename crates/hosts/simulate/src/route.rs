//! The way from one address to another: an abstract link, or a transfer device.

use crate::device::Station;
use crate::frame_costs::FrameCosts;
use crate::ids::{DeviceId, RouteId};
use crate::link::Direction;
use core::num::NonZeroU32;
use core::ops::{Index, IndexMut};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use quintet_contract::limits::FRAGMENT_BYTES;
use quintet_contract::{Address, Disconnect, DownCause, LinkClass, LinkInfo, NodeId, SendError};

/// Frames under way to a device's other stations at once; a sender beyond it is told that there is no room.
const DEVICE_WINDOW: usize = 1024;

/// One direction between two addresses.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) from: Address,
    pub(crate) to: Address,
    pub(crate) carrier: Carrier,
    /// Whether everything sent is lost.
    pub(crate) cut: bool,
    /// Whether the link is closed: nothing more departs.
    pub(crate) closed: bool,
    /// While what departed before that is still to arrive: what the receiver is told then.
    pub(crate) draining: Option<DownCause>,
    /// Frames of a link that was closed and opened again, still under way and not to be shown.
    pub(crate) stale: usize,
    /// Frames sent and neither arrived nor lost.
    pub(crate) in_flight: usize,
    /// Whether the sender was refused and waits to be told that there is room.
    pub(crate) refused: bool,
    /// What its frames cost at both ends, if anything.
    pub(crate) costs: Option<FrameCosts>,
}

/// What carries the frames.
#[derive(Debug)]
pub(crate) enum Carrier {
    Link(Direction),
    Device { device: DeviceId, from: Station, to: Station },
}

impl Route {
    fn new(from: Address, to: Address, carrier: Carrier) -> Route {
        let (cut, closed, draining, refused) = (false, false, None, false);
        Route { from, to, carrier, cut, closed, draining, stale: 0, in_flight: 0, refused, costs: None }
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

    /// Has nothing more depart. What departed before still arrives, and then the receiver learns of the end, unless the way is cut.
    pub(crate) fn close(&mut self, how: Disconnect) {
        let looks_cut = how == Disconnect::UntilNextLink && self.info().may_be_cut;
        let end = if looks_cut { DownCause::Died } else { DownCause::Closed };
        (self.closed, self.draining, self.refused) = (true, (!self.cut).then_some(end), false);
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

    /// Whether it takes one more frame now.
    pub(crate) fn admit(&mut self, bulk: usize) -> Result<(), SendError> {
        if self.closed {
            return Err(SendError::Unreachable);
        }
        let limit = self.max_bulk_bytes();
        if bulk > limit {
            return Err(SendError::TooLong { len: bulk, limit });
        }
        let window = match &self.carrier {
            Carrier::Link(link) => link.model.window_frames,
            Carrier::Device { .. } => DEVICE_WINDOW,
        };
        if self.in_flight >= window {
            self.refused = true;
            return Err(SendError::Full);
        }
        Ok(())
    }
}

/// All routes of a run. They are looked up by their two ends once for each frame, and by their number from then on.
#[derive(Debug)]
pub(crate) struct Routes {
    routes: Vec<Route>,
    /// By both ends as one number, which is hashed in one step.
    ends: HashMap<u64, RouteId, FixedState>,
}

impl Routes {
    pub(crate) fn new() -> Routes {
        Routes { routes: Vec::new(), ends: HashMap::with_hasher(FixedState::with_seed(0)) }
    }

    /// Joins two addresses. If they were joined before, what is under way stays so.
    pub(crate) fn insert(&mut self, from: Address, to: Address, carrier: Carrier) {
        if let Some(route) = self.get_mut(from, to) {
            let (in_flight, stale) = (route.in_flight, route.stale);
            *route = Route { in_flight, stale, ..Route::new(from, to, carrier) };
            return;
        }
        self.routes.push(Route::new(from, to, carrier));
        let number = u32::try_from(self.routes.len()).ok().and_then(NonZeroU32::new);
        let number = number.expect("one was added, and memory ends before 2^32 routes");
        self.ends.insert(ends(from, to), RouteId(number));
    }

    pub(crate) fn find(&self, from: Address, to: Address) -> Option<RouteId> {
        self.ends.get(&ends(from, to)).copied()
    }

    pub(crate) fn get(&self, from: Address, to: Address) -> Option<&Route> {
        self.find(from, to).map(|id| &self[id])
    }

    pub(crate) fn get_mut(&mut self, from: Address, to: Address) -> Option<&mut Route> {
        self.find(from, to).map(|id| &mut self[id])
    }

    /// The routes that begin at a node: its own address and the peer's, in order.
    pub(crate) fn of(&self, id: NodeId) -> Vec<(Address, Address)> {
        let ours = self.routes.iter().filter(|route| route.from.node == id);
        let mut ends: Vec<_> = ours.map(|route| (route.from, route.to)).collect();
        ends.sort_unstable();
        ends
    }

    /// Cuts the ways that `apart` says are cut, and joins all others.
    pub(crate) fn cut_where(&mut self, apart: impl Fn(NodeId, NodeId) -> bool) {
        for route in &mut self.routes {
            route.cut = apart(route.from.node, route.to.node);
        }
    }
}

fn ends(from: Address, to: Address) -> u64 {
    u64::from(from.to_bits()) << 32 | u64::from(to.to_bits())
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
