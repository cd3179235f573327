//! The way from one address to another: an abstract link, or a transfer device.

use crate::device::Station;
use crate::link::Direction;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use quintet_contract::limits::FRAGMENT_BYTES;
use quintet_contract::{Address, NodeId, SendError};

/// Names a transfer device of a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DeviceId(pub(crate) usize);

/// Frames under way to a device's other stations at once; a sender beyond it is told that there is no room.
const DEVICE_WINDOW: usize = 1024;

/// One direction between two addresses.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) carrier: Carrier,
    /// Whether everything sent is lost.
    pub(crate) cut: bool,
    /// Frames sent and neither arrived nor lost.
    pub(crate) in_flight: usize,
    /// Whether the sender was refused and waits to be told that there is room.
    pub(crate) refused: bool,
}

/// What carries the frames.
#[derive(Debug)]
pub(crate) enum Carrier {
    Link(Direction),
    Device { device: DeviceId, from: Station, to: Station },
}

impl Route {
    pub(crate) fn new(carrier: Carrier) -> Route {
        Route { carrier, cut: false, in_flight: 0, refused: false }
    }

    pub(crate) fn is_device(&self) -> bool {
        matches!(self.carrier, Carrier::Device { .. })
    }

    /// The largest bulk of one frame.
    pub(crate) fn max_bulk_bytes(&self) -> usize {
        match &self.carrier {
            Carrier::Link(link) => link.model.max_bulk_bytes,
            Carrier::Device { .. } => FRAGMENT_BYTES,
        }
    }

    /// Whether it takes one more frame now.
    pub(crate) fn admit(&mut self, bulk: usize) -> Result<(), SendError> {
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

/// All routes of a run, by their two ends. They are looked up by key only, or put in order.
#[derive(Debug)]
pub(crate) struct Routes(HashMap<(Address, Address), Route, FixedState>);

impl Routes {
    pub(crate) fn new() -> Routes {
        Routes(HashMap::with_hasher(FixedState::with_seed(0)))
    }

    pub(crate) fn insert(&mut self, from: Address, to: Address, carrier: Carrier) {
        self.0.insert((from, to), Route::new(carrier));
    }

    pub(crate) fn get(&self, from: Address, to: Address) -> Option<&Route> {
        self.0.get(&(from, to))
    }

    pub(crate) fn get_mut(&mut self, from: Address, to: Address) -> Option<&mut Route> {
        self.0.get_mut(&(from, to))
    }

    /// The routes that begin at a node: its own address and the peer's, in order.
    pub(crate) fn of(&self, id: NodeId) -> Vec<(Address, Address)> {
        let mut ends: Vec<_> = self.0.keys().filter(|(from, _)| from.node == id).copied().collect();
        ends.sort_unstable();
        ends
    }

    /// Cuts the ways that `apart` says are cut, and joins all others.
    pub(crate) fn cut_where(&mut self, apart: impl Fn(NodeId, NodeId) -> bool) {
        for ((from, to), route) in &mut self.0 {
            route.cut = apart(from.node, to.node);
        }
    }
}
