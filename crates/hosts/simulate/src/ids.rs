//! The names by which the parts of a run know each other, so that none of them needs the other's file.

use core::num::NonZeroU32;

/// Names a processor of a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ProcessorId(pub(crate) usize);

/// Names a transfer device of a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DeviceId(pub(crate) usize);

/// Names a route of a run: one more than its place among all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RouteId(pub(crate) NonZeroU32);

/// Names a node of a run: where it is among all, for as long as the run lasts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NodePlace(pub(crate) u32);

/// Names a thread of a run: where it is among all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ThreadPlace(pub(crate) u32);
