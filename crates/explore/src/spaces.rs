//! Spaces that outlive their server, and spaces that several managers have: under random schedules and faults, as [`system`](crate::system) explores
//! protocols.
//!
//! Clients put, take, read, lease, replace, select and collect, with several managers also into a named space and back, form groups, watch, wait, and give up waiting, several requests at a time. In some runs tuples expire, and templates have ranges. Some clients crash, with all
//! that they have under way. Servers are killed, and what they had not synced is torn or lost; links end, and what was on them is gone; replicas are cut off
//! from each other; managers pass signatures on to each other. Then all is left alone, everybody gives up waiting, the space is emptied, and it is looked whether one space that does one thing after the other
//! could have answered all of it: linearizability, whose checker is `quintet-linearizability`. So nothing that was acknowledged is lost, and nothing is
//! given twice.
//!
//! What runs are the layers of `quintet-stack` above the messages: sessions and messages are explored by the volatile space ([`crate::explore`]). Here links
//! keep their order and end as a whole, which is what sessions make of them.
//!
//! ```
//! use quintet_explore::spaces::{Placement, Spaces};
//! use quintet_explore::system::{Options, explore};
//! let report = explore(&Spaces::new(Placement::Logged), &Options::of(0..20));
//! assert!(report.failure.is_none(), "{report}");
//! ```
//!
//! | file | holds |
//! | --- | --- |
//! | `spaces.rs` | [`Spaces`]: read this first |
//! | `spaces/nodes.rs` | what runs on the nodes |
//! | `spaces/asking.rs` | what clients ask |
//! | `spaces/templates.rs` | their tuples and templates, with ranges in some runs |
//! | `spaces/expiring.rs` | which tuples expire, and what is known of when |
//! | `spaces/ledger.rs` | what they asked and were answered |
//! | `spaces/gone.rs` | clients that crash |
//! | `spaces/watching.rs` | what they were told of what happens |
//! | `spaces/ending.rs` | how a run ends, and what must hold then |
//! | `spaces/defect.rs` | the defects that can be switched on |

mod asking;
#[cfg(feature = "seeded-defects")]
mod defect;
mod ending;
mod expiring;
mod gone;
mod ledger;
mod nodes;
mod templates;
mod watching;

#[cfg(feature = "seeded-defects")]
pub use defect::Defect;
pub use ledger::Ledger;
pub use nodes::Node;

use crate::system::{Birth, Broken, Call, Chooser, Faults, Joined, Pace, Request, System, Verdict, View};
use quintet_contract::{Frame, NodeId, OwnedFrame, Port, Span, Time};
use quintet_wire::registry::PORT_SPACE;
use std::ops::RangeInclusive;

/// Servers of a placement, if it has several.
const SEVERAL: u16 = 3;
/// Clients of a run at most.
const MOST_CLIENTS: u16 = 3;
/// In so much time replicas choose a leader, and clients find him.
const BEGINNING: Span = Span::from_millis(600);

/// For so long a client is waited for whose link ended: longer than its links are away.
const REMEMBERED: Span = Span::from_secs(2);

/// Where a space is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placement {
    /// By one server with a log, and by clients that come back to it.
    Logged,
    /// By three replicas, and by clients that come back to whichever leads.
    Replicated,
    /// In the memory of three managers, which pass signatures on to each other.
    Managers,
}

impl Placement {
    /// Every placement.
    pub const ALL: [Placement; 3] = [Placement::Logged, Placement::Replicated, Placement::Managers];

    /// Its name, as a user writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Placement::Logged => "logged",
            Placement::Replicated => "replicated",
            Placement::Managers => "managers",
        }
    }

    /// How many nodes have it: the first ones. All others are clients.
    fn servers(self) -> u16 {
        if self == Placement::Logged { 1 } else { SEVERAL }
    }

    fn serves(self, node: NodeId) -> bool {
        node.0 <= self.servers()
    }

    /// What may befall servers. Nobody stands still whose links end meanwhile: what it would send over a link that it does not know to have ended would
    /// arrive over the next one, which no session lets happen.
    fn faults_of_servers(self) -> Faults {
        let clocks = Faults { clocks: true, ..Faults::none() };
        match self {
            Placement::Logged => Faults { crashes: true, ..clocks },
            Placement::Replicated => Faults { stops: false, pauses: false, ..Faults::all() },
            Placement::Managers => Faults { pauses: true, ..clocks },
        }
    }

    /// What may befall clients: a link that ends is a client that is stopped for a while.
    fn faults_of_clients(self) -> Faults {
        let ends = self != Placement::Managers;
        Faults { crashes: true, stops: ends, pauses: !ends, ..Faults::none() }
    }
}

/// A space and its clients, as a [`System`].
#[derive(Clone, Copy, Debug)]
pub struct Spaces {
    placement: Placement,
    #[cfg(feature = "seeded-defects")]
    defect: Option<Defect>,
}

impl Spaces {
    /// A space that is kept there.
    #[must_use]
    pub fn new(placement: Placement) -> Spaces {
        Spaces {
            placement,
            #[cfg(feature = "seeded-defects")]
            defect: None,
        }
    }

    /// The same with a defect built in, which is one of this placement.
    #[cfg(feature = "seeded-defects")]
    #[must_use]
    pub fn with_defect(defect: Defect) -> Spaces {
        Spaces { placement: defect.placement(), defect: Some(defect) }
    }

    /// Whether clients go on after the end of their link.
    fn comes_back(&self) -> bool {
        self.placement != Placement::Managers
    }
}

impl System for Spaces {
    type Node = Node;
    type Ledger = Ledger;

    fn nodes(&self) -> RangeInclusive<u16> {
        self.placement.servers() + 1..=self.placement.servers() + MOST_CLIENTS
    }

    fn node(&self, birth: &Birth) -> Node {
        self.make(birth)
    }

    fn port(&self) -> Port {
        PORT_SPACE
    }

    fn faults(&self) -> Faults {
        let (servers, clients) = (self.placement.faults_of_servers(), self.placement.faults_of_clients());
        Faults { stops: clients.stops, crashes: clients.crashes, ..servers }
    }

    fn faults_of(&self, node: NodeId) -> Faults {
        if self.placement.serves(node) {
            self.placement.faults_of_servers()
        } else {
            self.placement.faults_of_clients()
        }
    }

    fn link(&self, one: NodeId, other: NodeId) -> Joined {
        match (self.placement.serves(one), self.placement.serves(other), self.placement) {
            (true, true, Placement::Replicated) => Joined::Lossy,
            (true, true, _) => Joined::Reliable,
            (false, false, _) => Joined::Apart,
            (_, _, Placement::Replicated) => Joined::Dialled,
            _ => Joined::Reliable,
        }
    }

    fn dials(&self, node: NodeId, tries: u64, view: &View<'_, Node>) -> Option<NodeId> {
        // Who connects first looks for the leader, and comes to others when that one is gone.
        let leader = view.nodes().find(|(_, node)| node.leads()).map(|(leader, _)| leader);
        if tries == 0 {
            return leader;
        }
        let turn = (u64::from(node.0) + tries) % u64::from(SEVERAL);
        Some(NodeId(1 + u16::try_from(turn).expect("a replica's number")))
    }

    /// A replica's, while all others have theirs: a minority at a time.
    fn may_lose_disk(&self, node: NodeId, view: &View<'_, Node>) -> bool {
        let mut others = (1..=SEVERAL).map(NodeId).filter(|other| *other != node);
        let is_replica = self.placement == Placement::Replicated && self.placement.serves(node);
        is_replica && others.all(|other| view.node(other).is_some_and(Node::votes))
    }

    fn pace(&self) -> Pace {
        let gaps = [Span::from_millis(2), Span::from_micros(500), Span::from_millis(8)];
        Pace { requests: 30, gaps, faults_within: Span::from_millis(40) }
    }

    fn begins_after(&self) -> Span {
        if self.placement == Placement::Replicated { BEGINNING } else { Span::ZERO }
    }

    fn request(&self, call: Call, ledger: &mut Ledger, draw: &mut Chooser) -> Option<Request> {
        if self.placement.serves(call.node) { None } else { self.ask(call, ledger, draw) }
    }

    fn answered(&self, node: NodeId, answer: Frame<'_>, ledger: &mut Ledger) -> Result<(), Broken> {
        ledger.answered(node, answer)
    }

    fn passes(&self, now: Time, ledger: &mut Ledger) {
        ledger.passes(now);
    }

    fn crashed(&self, node: NodeId, ledger: &mut Ledger) {
        if !self.placement.serves(node) {
            ledger.lose(node);
        }
    }

    fn has_settled(&self, ledger: &Ledger) -> bool {
        ledger.has_settled(self.comes_back())
    }

    fn in_the_end(&self, ledger: &mut Ledger) -> Result<Vec<(NodeId, OwnedFrame)>, Broken> {
        self.end(ledger)
    }

    fn verdict(&self, view: &View<'_, Node>, ledger: &Ledger) -> Result<Verdict, Broken> {
        self.judge(view, ledger)
    }

    fn settles_within(&self) -> Span {
        Span::from_secs(20)
    }

    fn show(&self, frame: Frame<'_>) -> String {
        asking::in_words(frame)
    }
}
