//! The simulated host: runs the product's own protocols on a modelled network, under faults, from a seed.
//!
//! One seed gives one run, the same on every machine: time is a whole number of picoseconds, ties are broken by the
//! order of scheduling, every link and service draws from a random stream of its own.
//!
//! Two uses, one engine: *try to break* (abstract links with faults, a seed a run) and *predict* (processing elements and
//! transfer devices with the parameters of real ones, placed under the same protocols).
//!
//! One link joins two nodes and carries the frames of all their ports, as on the live host ([`Simulation::attach`]). A node is on one
//! processor, where its instances take turns, or on several, where they run beside each other ([`Simulation::spread`],
//! [`Simulation::add_on`]).
//!
//! A node's disk keeps what is appended to it through crashes and restarts. A crash loses or tears what was not synced, at sectors
//! of [`SECTOR_BYTES`]; a protocol reads the rest back, or whoever looks on does with [`Simulation::disk_bytes`].
//!
//! | file | holds |
//! | --- | --- |
//! | `simulation.rs` | [`Simulation`]: read this first |
//! | `simulation/calls.rs` | calls of the program that drives a run |
//! | `simulation/view.rs` | how a run is at one moment, for who looks on |
//! | `simulation/links.rs` | links between nodes, and the ports that they join |
//! | `simulation/ways.rs` | [`Way`]: further ways between two nodes |
//! | `simulation/disconnect.rs` | links that a protocol has closed, and that are made anew |
//! | `ids.rs` | [`ProcessorId`], [`DeviceId`]: names for the parts of a run |
//! | `picos.rs` | [`Picos`]: simulated time |
//! | `schedule.rs` | [`Schedule`]: the queue of pending events |
//! | `distribution.rs` | [`Distribution`]: random times, sizes and counts |
//! | `statistics.rs` | [`statistics`]: what runs are summed up to |
//! | `choices.rs` | [`Choices`]: the random decisions of an explored run, to be made again or simplified |
//! | `cells.rs` | [`CellModel`]: when a cell's value is written, and how late it may be seen |
//! | `link.rs` | [`LinkModel`]: delay, loss, duplication, reordering |
//! | `hosted.rs` | [`Hosted`]: what a node runs |
//! | `processes.rs` | [`Processes`]: programs that a node's host starts, say something and end |
//! | `processor.rs` | [`ProcessorModel`]: processing elements |
//! | `frame_costs.rs` | [`FrameCosts`]: what frames cost the processors at both ends |
//! | `mark.rs` | [`Mark`]: what a module tells about how far it is |
//! | `module.rs`, `module/spec.rs` | [`Module`]: modelled programs; what each waits for and does |
//! | `formula.rs` | [`Formula`]: what a module computes while it runs |
//! | `module/program.rs`, `module/activation.rs` | how its instructions are executed; activations, under way and waiting for something |
//! | `module/frames.rs` | what modules tell each other |
//! | `module/uses.rs` | [`Usage`]: what an activation takes of a pool |
//! | `module/waiting.rs` | activations of a module that are ready and have not begun |
//! | `program.rs` | [`Program`]: a program of one's own in a module's place |
//! | `route.rs` | the way from one node to another: a link or a device |
//! | `parcel.rs`, `parcels.rs` | a frame under way; those whose way is over, for the next frames |
//! | `outbox.rs` | what protocols send to; refuses what a live host would refuse |
//! | `arrival.rs` | an input of a node, under way or waiting |
//! | `node.rs`, `nodes.rs`, `node_clock.rs` | modelled processes: their instances; all of them; their own clocks |
//! | `thread.rs` | what of a process takes turns on a processor, and what it is at |
//! | `device.rs` | [`device`]: busses, networks and switches, each a state machine |
//! | `disk.rs` | what a disk holds, and what a crash leaves of it: torn writes |
//! | `service.rs` | [`ServiceModel`]: disk and device, and what they cost by size |
//! | `parallel.rs` | [`in_parallel`]: many runs at once |
//! | `replay.rs` | [`replay`](replay()): a live run again, byte for byte |
//! | `recording.rs`, `comparing.rs`, `verdict.rs` | its file, its outbox, its result |
#![forbid(unsafe_code)]

mod arrival;
mod cells;
mod choices;
mod comparing;
pub mod device;
mod digest;
mod disk;
mod distribution;
mod formula;
mod frame_costs;
mod hosted;
mod ids;
mod link;
mod mark;
mod module;
mod node;
mod node_clock;
mod nodes;
mod outbox;
mod parallel;
mod parcel;
mod parcels;
mod picos;
mod processes;
mod processor;
mod program;
mod recording;
mod replay;
mod route;
mod schedule;
mod service;
mod simulation;
pub mod statistics;
mod thread;
mod verdict;

pub use cells::CellModel;
pub use choices::{Choices, Chooser, Sequence};
pub use disk::SECTOR_BYTES;
pub use distribution::{Distribution, DistributionError, Empirical};
pub use formula::{Formula, Function, Operation};
pub use frame_costs::{FrameCosts, Lending, Pieces};
pub use hosted::{Backlog, Came, Hosted};
pub use ids::{DeviceId, ProcessorId};
pub use link::{LinkModel, link_stream};
pub use mark::Mark;
pub use module::{
    Instruction, MOST_EARLY, MessageType, Module, ModuleSpec, OVERFULL, Successor, Timing, Usage,
};
pub use node::NodeStatistics;
pub use outbox::Costs;
pub use parallel::in_parallel;
pub use picos::Picos;
pub use processes::{ProcessModel, Processes};
pub use processor::ProcessorModel;
pub use program::{Command, Program, Received};
pub use replay::{Factory, replay};
pub use schedule::Schedule;
pub use service::{DeviceModel, DiskModel, ServiceModel};
pub use simulation::{
    DeviceLoad, MessageUnderWay, Passed, PortLoad, ProcessorStatistics, Restart, Settled, Simulation, Stall,
    Way,
};
pub use verdict::{Difference, ReplayError, Replayed};
