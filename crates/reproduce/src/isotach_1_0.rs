//! Isochrons of this project on the machines of Isotach 1.0, and far beyond them.
//!
//! The study (Bartholet 1999) measured a prototype: Pentiums on Myrinet, with Fast Messages (FM) below. Here [`quintet_isotach::Node`] and
//! [`quintet_isotach::TokenManager`], which are another protocol for the same promise, run on a model of those machines, beside messages of FM's
//! kind and the nodes' own plain messages. The model is fitted to what is printed of FM alone; nothing of it is fitted to isochrons.
//!
//! | file | holds |
//! | --- | --- |
//! | `parameters.rs` | [`PARAMETERS`]: each with where it is from |
//! | `program.rs` | what hosts do; [`Way`]: how a message goes |
//! | `bed.rs` | hosts, switches, token managers and links of a run |
//! | `bed/layers.rs` | what is between these and their links |
//! | `measure.rs` | single experiments of the study |
//! | `bed/traffic.rs` | what a node sends and gets, counted |
//! | `send.rs` | what a send is made of: markers, copies, frames |
//! | `published.rs` | what is printed |
//! | `cells.rs` | each printed value, and what the simulation has for it; findings |
//! | `study.rs` | [`Simulated`]: every figure and cell; read this first |
//! | `beyond.rs` | more switches, a slow node, links that vary |
//! | `beyond/sizes.rs` | 16 to 10,000 hosts: latency and tokens against distance and receivers |
//! | `beyond/losing.rs` | wires that lose frames |
//! | `beyond/streams.rs` | streams across a row of switches |
//! | `network.rs` | [`network::Network`]: isochrons on a topology of anybody's |
//! | `figure.rs` | [`Figure`]: lines, and how a terminal shows them |
//! | `report.rs` | all as text, page and objects |
//! | `live.rs` | [`live::Live`]: the experiments on a machine of today |

mod bed;
mod beyond;
mod cells;
mod figure;
pub mod live;
mod measure;
pub mod network;
mod parameters;
mod program;
mod published;
mod report;
mod send;
mod study;

pub use figure::{Figure, Line};
pub use parameters::PARAMETERS;
pub use program::Way;
pub use study::Simulated;
