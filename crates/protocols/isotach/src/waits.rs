//! Whom a member waits for, for whoever looks at it.

use quintet_contract::Time;

/// What waits for one other node, as a [`Member`](crate::Member) sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Wait {
    /// Isochrons and plain messages of this node that it has not answered.
    pub unanswered: u64,
    /// When the first of them began.
    pub since: Option<Time>,
    /// Isochrons of any node that get no place before it says that it has its part: of the node whose process keeps the pulse.
    pub unreceived: u64,
}

impl Wait {
    /// Something of this node that began then.
    pub(crate) fn add(&mut self, began: Time) {
        self.unanswered += 1;
        self.since = Some(self.since.map_or(began, |since| since.min(began)));
    }
}
