//! Isochrons under random schedules and faults: nodes and token managers on random trees of switches, as [`system`](crate::system) explores protocols.
//!
//! Programs send messages, read and write variables, reserve places and give them values, in isochrons of one to sixteen operations. Links delay, stand
//! still and go on; nodes and token managers are slow, are stopped, or crash; the membership takes out whom it takes to be gone, also one that lives
//! and goes on in the old view. Who is in the next view is told to one after the other, while programs go on and others end: the coordinator, too, and more
//! than half. Then all is left alone, places that are still reserved get their values, and it is looked whether what must hold does:
//!
//! - what all nodes say that they did is replayed once in the order of the stamps: one order for all, all receivers or none at one time, first in first
//!   out, causal, each read the last write before it (`quintet_isotach::check`);
//! - what programs were told, and nothing else, is searched for an order in which one memory, which does one isochron after the other and those of a program
//!   in their order, comes to the same: sequential consistency. That is not looked at for each variable alone, as it does not follow from that;
//! - what a program was told to be completed was executed at that place by all receivers that are left, what was refused by none;
//! - a minority begins no view, nobody breaks the protocol, and everything that was asked is answered.
//!
//! Links keep the order of frames and lose none, which is what sessions make of them.
//!
//! ```
//! use quintet_explore::isochrons::Isochrons;
//! use quintet_explore::system::{Options, explore};
//! let report = explore(&Isochrons::default(), &Options::of(0..20));
//! assert!(report.failure.is_none(), "{report}");
//! ```
//!
//! | file | holds |
//! | --- | --- |
//! | `isochrons.rs` | [`Isochrons`]: read this first |
//! | `isochrons/world.rs` | topologies and variables, of the first view and of those that follow |
//! | `isochrons/nodes.rs` | what runs on the nodes |
//! | `isochrons/programs.rs` | what programs submit, and what becomes of it |
//! | `isochrons/members.rs` | who is in which view, and who was told |
//! | `isochrons/ledger.rs` | all that is known from outside |
//! | `isochrons/live.rs` | [`Isonets`]: members as live isonets have them, who agree on views by themselves |
//! | `isochrons/ending.rs` | how a run ends, and what must hold then |
//! | `isochrons/memory.rs` | the memory that does one isochron after the other |
//! | `isochrons/showing.rs` | frames in words |
//! | `isochrons/defect.rs` | the defects that can be switched on |

#[cfg(feature = "seeded-defects")]
mod defect;
mod ending;
mod ledger;
mod live;
mod members;
mod memory;
mod nodes;
mod programs;
mod showing;
mod world;

#[cfg(feature = "seeded-defects")]
pub use defect::Defect;
pub use ledger::Ledger;
pub use live::{Isonets, LiveLedger};
pub use nodes::Node;
pub use quintet_isotach::Delivery;

use crate::system::{Birth, Broken, Call, Chooser, Faults, Joined, Pace, Request, System, Verdict, View};
use quintet_contract::{Frame, NodeId, OwnedFrame, Port, Span};
use quintet_wire::registry::{PORT_ISOTACH, PORT_TOKEN_MANAGER};
use std::ops::RangeInclusive;
use world::MANAGERS;

/// Nodes of a run at most.
const MOST_NODES: u16 = 8;

/// Nodes with their programs, and token managers, as a [`System`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Isochrons {
    delivery: Delivery,
    #[cfg(feature = "seeded-defects")]
    defect: Option<Defect>,
}

impl Isochrons {
    /// Isochrons that get their stamps so. With [`Delivery::Agreed`] nobody ends: a crash tears some then, which is no promise broken.
    #[must_use]
    pub fn new(delivery: Delivery) -> Isochrons {
        Isochrons {
            delivery,
            #[cfg(feature = "seeded-defects")]
            defect: None,
        }
    }

    /// The same with a defect built in.
    #[cfg(feature = "seeded-defects")]
    #[must_use]
    pub fn with_defect(self, defect: Defect) -> Isochrons {
        Isochrons { defect: Some(defect), ..self }
    }

    fn may_end(&self) -> bool {
        self.delivery == Delivery::Safe
    }
}

impl System for Isochrons {
    type Node = Node;
    type Ledger = Ledger;

    fn nodes(&self) -> RangeInclusive<u16> {
        MANAGERS + 2..=MANAGERS + MOST_NODES
    }

    fn node(&self, birth: &Birth) -> Node {
        self.make(birth)
    }

    fn port(&self) -> Port {
        PORT_ISOTACH
    }

    fn port_of(&self, node: NodeId) -> Port {
        if world::is_manager(node) { PORT_TOKEN_MANAGER } else { PORT_ISOTACH }
    }

    fn faults(&self) -> Faults {
        let ends = self.may_end();
        Faults { crashes: ends, stops: ends, pauses: true, cuts: true, ..Faults::none() }
    }

    fn link(&self, _one: NodeId, _other: NodeId) -> Joined {
        Joined::Reliable
    }

    fn pace(&self) -> Pace {
        let gaps = [Span::from_millis(2), Span::from_micros(300), Span::from_millis(8)];
        Pace { requests: 20, gaps, faults_within: Span::from_millis(40) }
    }

    fn request(&self, call: Call, ledger: &mut Ledger, draw: &mut Chooser) -> Option<Request> {
        self.ask(call, ledger, draw)
    }

    fn answered(&self, node: NodeId, answer: Frame<'_>, ledger: &mut Ledger) -> Result<(), Broken> {
        ledger.answered(node, answer)
    }

    fn goes_down(&self, node: NodeId, view: &View<'_, Node>, ledger: &mut Ledger) {
        ledger.goes_down(node, view.node(node).map(Node::witness));
    }

    fn crashed(&self, node: NodeId, ledger: &mut Ledger) {
        ledger.crashed(node);
    }

    fn in_the_end(&self, ledger: &mut Ledger) -> Result<Vec<(NodeId, OwnedFrame)>, Broken> {
        Ok(ledger.end())
    }

    fn verdict(&self, view: &View<'_, Node>, ledger: &Ledger) -> Result<Verdict, Broken> {
        ending::judge(view, ledger)
    }

    fn settles_within(&self) -> Span {
        Span::from_secs(5)
    }

    fn show(&self, frame: Frame<'_>) -> String {
        showing::in_words(frame)
    }
}
