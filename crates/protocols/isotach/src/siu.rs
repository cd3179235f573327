//! The switch interface unit of a node: numbers that are stamped on what the node sends.
//!
//! A node's unit has two halves, one at each end of the link between the node and its switch. The half at the node
//! ([`Node`](crate::Node)) splits isochrons into parts and gives them ranks. This one is at the switch, beside the token manager, and knows the pulse.

use crate::logical_time::{Pulse, Rank};

/// The half at the switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Siu {
    /// The isochron that was stamped last.
    last: Option<(Rank, Pulse)>,
}

impl Siu {
    /// Stamps an isochron whose farthest receiver is `distance` switches away: all its parts are executed in one pulse, the first that
    /// each of them can reach, and never before an earlier one of the node. None if the rank does not follow the last one.
    pub(crate) fn stamp(&mut self, clock: Pulse, distance: u32, rank: Rank) -> Option<Pulse> {
        let reached = Pulse(clock.0 + u64::from(distance));
        let pulse = match self.last {
            Some((last, _)) if rank <= last => return None,
            Some((_, last)) => last.max(reached),
            None => reached,
        };
        self.last = Some((rank, pulse));
        Some(pulse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_reach_the_farthest_and_never_go_back() {
        let mut siu = Siu::default();
        assert_eq!(siu.stamp(Pulse(5), 3, Rank(1)), Some(Pulse(8)));
        assert_eq!(siu.stamp(Pulse(5), 1, Rank(4)), Some(Pulse(8)), "behind the one before");
        assert_eq!(siu.stamp(Pulse(5), 1, Rank(4)), None, "twice");
        assert_eq!(siu.stamp(Pulse(9), 1, Rank(5)), Some(Pulse(10)));
    }
}
