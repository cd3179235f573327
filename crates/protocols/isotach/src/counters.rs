//! What a member of an isonet counts, for whoever looks at it.

use crate::intervals::Intervals;
use crate::manager::ManagerCounters;
use crate::node::NodeCounters;

/// What a [`Member`](crate::Member) has counted since it began: its node, and the token manager of its process.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Counters {
    /// Isochrons that its program has begun, and that were taken.
    pub begun: u64,
    /// Of these, those that all their receivers have executed.
    pub executed: u64,
    /// Of these, those that were not executed as far as it is known here, as a view or this member has ended.
    pub lost: u64,
    /// Of these, purely local ones that no token manager heard of.
    pub local: u64,
    /// Operations of those that were begun.
    pub operations: u64,
    /// Isochrons of its program that were not taken: with what cannot be, or one too many.
    pub refused: u64,
    /// Parts of isochrons, its own as well, that this member has executed.
    pub parts: u64,
    /// Parts of others whose pulse was over when they came: they waited for nothing but what is before them.
    pub parts_at_once: u64,
    /// Parts of others that waited for the end of their pulse.
    pub parts_waited: u64,
    /// Frames of another view that were not taken.
    pub fenced: u64,
    /// Isochrons that the token manager here has stamped: of the member that keeps the pulse, all that are not purely local. So are those that follow.
    pub stamped: u64,
    /// Pulses that have ended here.
    pub pulses: u64,
    /// Tokens to other switches: none where there is one.
    pub tokens: u64,
    /// Markers: isochrons that members were told to execute, once for each member.
    pub markers: u64,
    /// Frames in which they went.
    pub marker_frames: u64,
    /// How long after the one before it in its view each pulse has ended, rest included: a pulse ends only where there is an isochron to order.
    pub pulse_intervals: Intervals,
}

impl Counters {
    /// What the two of one member have counted.
    pub(crate) fn of(
        (node, fenced): (NodeCounters, u64),
        (manager, fenced_there): (&ManagerCounters, u64),
    ) -> Counters {
        Counters {
            begun: node.submitted,
            executed: node.completed,
            lost: node.lost,
            local: node.ran_ahead,
            operations: node.operations,
            refused: node.refused,
            parts: node.executed,
            parts_at_once: node.parts_at_once,
            parts_waited: node.parts_waited,
            fenced: fenced + fenced_there,
            stamped: manager.isochrons,
            pulses: manager.pulses,
            tokens: manager.tokens,
            markers: manager.markers,
            marker_frames: manager.marker_frames,
            pulse_intervals: manager.intervals.clone(),
        }
    }
}
