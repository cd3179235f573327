//! Isochrons: sets of operations, on several nodes, that are executed at one instant of logical time, in one order for all. Pure protocols.
//!
//! A node's program puts an **isochron** together ([`Composer`]): messages for handlers, reads and writes of shared variables. Everything in it is
//! executed in one *pulse*, by each of its receivers in the order of *stamps*: pulse, sender, rank. So isochrons are atomic multicasts in one total
//! order, first in first out and causal, and variables are sequentially consistent, without a lock anywhere. (Williams, Reynolds, de
//! Supinski, "Delta coherence protocols", 2000, and the isonet algorithm of Reynolds, Williams, Wagner, "Isotach networks", 1997.)
//!
//! # Who does what
//!
//! ```text
//!   program ── SUBMIT ──> Node ── PART ─────────────────> Node ── DELIVERED ──> program
//!                          │ ANNOUNCE           RECEIVED │ ↑ MARKERS
//!                          └───> TokenManager ── TOKEN ──> TokenManager
//! ```
//!
//! Parts go from node to node, at once. That they are on their way, and to whom, goes through the token managers of the switches between
//! them, which keep the pulse; an isochron is stamped by its sender's switch, and executed in the pulse that is its farthest receiver's
//! distance away. A pulse that has ended is told to the nodes that have something to do in it, with what that is, in order.
//!
//! # Tokens, and none when nothing happens
//!
//! A token is the end of a pulse on one link. Between a node and its switch it need not be sent: what the node has not announced when the switch ends a pulse
//! is in a later one. Between switches it is: token `i + 1` goes to all neighbours once `i` has come from all, while some known
//! stamp or some token that came is above the pulse ([`TokenManager`], decision 56).
//!
//! # Where to read first
//!
//! | file | holds |
//! | --- | --- |
//! | `logical_time.rs` | [`Stamp`], [`Place`], [`Pulse`], [`Rank`], [`View`] |
//! | `isochron.rs` | [`Operation`], [`Composer`], [`Misuse`] |
//! | `topology.rs`, `isonet.rs` | [`Topology`]: switches and nodes; [`Isonet`]: that, and the shared variables |
//! | `codec.rs` | every frame |
//! | `manager.rs`, `siu.rs` | [`TokenManager`]; the stamps of its nodes |
//! | `node.rs` | [`Node`]; `node/submit.rs` its own isochrons, `node/execute.rs` everybody's, `node/change.rs`, `node/begin.rs` and `node/view.rs` a new view |
//! | `node/join.rs`, `node/transfer.rs` | a later process of a node: its way into a view, and the state that this begins with |
//! | `member.rs` | [`Member`]: a node and the token manager in its process, as one peer |
//! | `counters.rs`, `intervals.rs` | [`Counters`]: what a member counts; [`Intervals`]: how far apart pulses are |
//! | `waits.rs` | [`Wait`]: what waits for another member |
//! | `members.rs` | [`Members`]: who is in a view, and as which process |
//! | `agreement.rs` | who belongs to the next view, where nodes agree on it by themselves; `agreement/applicants.rs` who asks to be let in |
//! | `cut.rs` | what a view that ends executes, of all that those who are left know |
//! | `memory.rs` | copies of variables, reserved places |
//! | `snapshot.rs` | what a view began with, kept for who joins with it |
//! | `window.rs`, `node/parts.rs` | own isochrons under way, by their ranks; parts of others' |
//! | `lane.rs`, `frames.rs`, `fence.rs`, `tally.rs` | what waits for room; frames in one buffer; which frames are of the view; who floods |
//! | `witness.rs` | [`check`]: whether what nodes did is what isochrons promise; [`Testimony`]: how that is told |
//! | `config.rs`, `limits.rs` | [`NodeConfig`], [`ManagerConfig`]; every limit |
//! | `fuzzing.rs` | what the fuzz targets run |
#![forbid(unsafe_code)]

mod agreement;
pub mod codec;
mod config;
mod counters;
mod cut;
mod defect;
mod fence;
mod frames;
pub mod fuzzing;
mod intervals;
mod isochron;
mod isonet;
mod lane;
pub mod limits;
mod logical_time;
mod manager;
mod member;
mod members;
mod memory;
mod node;
mod siu;
mod snapshot;
mod tally;
mod topology;
mod waits;
mod window;
mod witness;

pub use codec::{Halt, HaltCause, ReadValue, Refusal};
pub use config::{ManagerConfig, NodeConfig};
pub use counters::Counters;
#[cfg(feature = "seeded-defects")]
pub use defect::Defect;
pub use intervals::{IntervalClass, Intervals};
pub use isochron::{Composer, Isochron, Misuse, Operation, Operations};
pub use isonet::{Delivery, Isonet, Shape, ShapeError, Variable};
pub use logical_time::{Place, Pulse, Rank, Stamp, View};
pub use manager::TokenManager;
pub use member::Member;
pub use members::{Joined, Members, Newcomers};
pub use node::Node;
pub use topology::{Switch, Topology, TopologyError};
pub use waits::Wait;
pub use witness::{Performed, Reads, Run, Testimony, Violation, Witnessed, check, check_where};
