//! How the other members of an isonet keep up, as one of them sees it: whom it waits for is named.

use super::counted::ANSWER_LIMIT;
use super::host::{Core, Isonet, Observed};
use crate::Error;
use crate::stack::{Stack, sessions_of};
use core::cmp::Reverse;
use core::fmt;
use quintet_contract::{Address, Frame, Input, Meter, Outbox, Protocol, Time};
use quintet_wire::registry::PORT_ISOTACH;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How another member of the view keeps up, as this one sees it. Made by [`Isonet::peers`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PeerCounters {
    /// Which.
    pub member: u16,
    /// How long nothing was heard of it, not even a sign of life, for which it is asked four times in a silence limit; none: its link is cut.
    pub unheard: Option<Duration>,
    /// Isochrons and plain messages of this member that it has not answered. Of an isochron nobody answers before all receivers have their parts.
    pub unanswered: u64,
    /// For how long the first of them has waited.
    pub unanswered_for: Duration,
    /// Isochrons of all members that get no place before it says that it has its part: of the member that keeps the pulse, 0 at the others.
    pub unreceived: u64,
    /// Whether something waits here for room at it, or on the way.
    pub is_full: bool,
    /// How often something had to wait for room, since it was linked.
    pub full: u64,
    /// For how long, all together.
    pub full_for: Duration,
}

impl PeerCounters {
    /// Whether anything waits for it here.
    #[must_use]
    pub fn is_awaited(&self) -> bool {
        self.unanswered > 0 || self.unreceived > 0 || self.is_full
    }
}

/// `member 2: nothing heard for 1.5s; 3 isochrons or messages unanswered for 1.4s; 3 isochrons unreceived; no room`.
impl fmt::Display for PeerCounters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "member {}: ", self.member)?;
        match self.unheard {
            Some(unheard) => write!(f, "nothing heard for {unheard:.1?}")?,
            None => write!(f, "its link is cut")?,
        }
        if self.unanswered > 0 {
            let (count, since) = (self.unanswered, self.unanswered_for);
            write!(f, "; {count} isochrons or messages unanswered for {since:.1?}")?;
        }
        if self.unreceived > 0 {
            write!(f, "; {} isochrons unreceived", self.unreceived)?;
        }
        if self.is_full { write!(f, "; no room") } else { Ok(()) }
    }
}

/// What the thread that executes isochrons has told when somebody asked last.
#[derive(Default)]
pub(super) struct Seen(Mutex<Vec<SeenPeer>>);

/// A peer by the node's clock.
#[derive(Clone, Copy)]
struct SeenPeer {
    /// As its fields are at that moment, but for the times, which are those up to then.
    counters: PeerCounters,
    heard: Option<Time>,
    unanswered_since: Option<Time>,
    full_since: Option<Time>,
}

impl SeenPeer {
    fn at(self, now: Time) -> PeerCounters {
        let for_so_long = |since: Time| Duration::from(now.since(since));
        PeerCounters {
            unheard: self.heard.map(for_so_long),
            unanswered_for: self.unanswered_since.map_or(Duration::ZERO, for_so_long),
            full_for: self.counters.full_for + self.full_since.map_or(Duration::ZERO, for_so_long),
            ..self.counters
        }
    }
}

/// A member with what is below it: sessions, which hear of peers, and messages, which have room for them.
pub(super) struct Hosted {
    pub(super) stack: Stack<Observed>,
    pub(super) core: Arc<Core>,
}

impl Hosted {
    fn see(&self) -> Vec<SeenPeer> {
        let Some(messages) = self.stack.inner().get(PORT_ISOTACH) else { return Vec::new() };
        let stalls: BTreeMap<Address, _> = messages.stalls().collect();
        let see = |(node, wait): (_, quintet_isotach::Wait)| {
            let stall = stalls.get(&Address { node, port: PORT_ISOTACH }).copied().unwrap_or_default();
            let counters = PeerCounters {
                member: node.0,
                unheard: None,
                unanswered: wait.unanswered,
                unanswered_for: Duration::ZERO,
                unreceived: wait.unreceived,
                is_full: stall.since.is_some(),
                full: stall.times,
                full_for: stall.total.into(),
            };
            let heard = self.stack.heard(sessions_of(node));
            SeenPeer { counters, heard, unanswered_since: wait.since, full_since: stall.since }
        };
        messages.inner().waits().into_iter().map(see).collect()
    }
}

impl Protocol for Hosted {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        self.stack.handle(now, input, out);
    }

    fn deadline(&self) -> Option<Time> {
        self.stack.deadline()
    }

    fn is_resumed_by(&self, from: Address, frame: Frame<'_>) -> bool {
        self.stack.is_resumed_by(from, frame)
    }

    fn measure(&self, meter: &mut Meter<'_>) {
        *self.core.seen.0.lock().unwrap_or_else(PoisonError::into_inner) = self.see();
        self.stack.measure(meter);
    }
}

impl Isonet {
    /// How each other member of the view keeps up: whom this member waits for comes first, of several the one of which nothing was heard for longest. So a member that stands still, or whose
    /// program takes nothing, is named before it is lost, or where the silence limit is long. None once this member has ended. It costs as [`counters`](Isonet::counters) does.
    ///
    /// # Errors
    /// As [`counters`](Isonet::counters).
    pub fn peers(&self) -> Result<Vec<PeerCounters>, Error> {
        let core = self.core();
        core.check_asker()?;
        if core.board.end().is_some() {
            return Ok(Vec::new());
        }
        core.node.measure(ANSWER_LIMIT).ok_or_else(super::counted::stands_still)?;
        let now = core.node.now();
        let seen = core.seen.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut peers: Vec<PeerCounters> = seen.iter().map(|peer| peer.at(now)).collect();
        peers.sort_by_key(|peer| (!peer.is_awaited(), Reverse(peer.unheard.unwrap_or(Duration::MAX))));
        Ok(peers)
    }
}
