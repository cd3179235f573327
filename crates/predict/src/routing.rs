//! What a space costs more that several managers have.

use crate::costs::{CYCLES, WorkCosts};
use quintet_simulate::FrameCosts;

/// What a router and one of several managers need for a request, beyond what a client and the manager of a space that is not spread need. In seconds, on a
/// processor of speed 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Routing {
    /// The router looks whom to ask, and keeps a copy of the request until it is answered.
    pub asking: f64,
    /// The manager reads the request, and looks whether it has what that is about.
    pub serving: f64,
    /// The router looks whose answer it is.
    pub answering: f64,
}

/// In parts of what a small pair in one process takes: `quintet bench space --case routing-asking`, `-serving` and `-answering` beside `pair-64-inprocess`, see
/// `docs/performance.md`.
const OF_A_PAIR: Routing = Routing { asking: 0.25, serving: 0.20, answering: 0.10 };

impl Routing {
    /// Nobody routes.
    pub const NONE: Routing = Routing { asking: 0.0, serving: 0.0, answering: 0.0 };

    /// On a machine where work costs that.
    #[must_use]
    pub fn of(costs: &WorkCosts) -> Routing {
        let pair = 2.0 * costs.call + costs.matching + costs.storing;
        let Routing { asking, serving, answering } = OF_A_PAIR;
        Routing { asking: asking * pair, serving: serving * pair, answering: answering * pair }
    }

    /// Frames towards a manager, and those from it, with what routing adds.
    pub(crate) fn added_to(self, there: FrameCosts, back: FrameCosts) -> [FrameCosts; 2] {
        let Routing { asking, serving, answering } = self;
        let (send, receive) = (there.send + asking * CYCLES, there.receive + serving * CYCLES);
        [
            FrameCosts { send, receive, ..there },
            FrameCosts { receive: back.receive + answering * CYCLES, ..back },
        ]
    }
}
