//! Several machines on this one, and processes, folders and wires, for tests and demos.
//!
//! A [`Testbed`] is several machines: network namespaces whose network is cut, slowed and made lossy at will. Begin at `testbed.rs`.
//!
//! A test of several processes starts them with [`Program`], reads their output line by line, freezes, thaws and kills
//! them, and leaves nothing behind: a [`Child`] is killed when it is dropped, a [`TempDir`] is removed. A [`Wire`] between two
//! nodes can be cut.
//!
//! A test may use its own executable as the other process: see [`Program::this_test`].
#![forbid(unsafe_code)]

mod child;
mod output;
mod role;
mod stalled_disk;
mod temp_dir;
mod testbed;
mod wire;

pub use child::{Child, Program};
pub use output::Output;
pub use quintet_line::Impairment;
pub use role::{argument, die_with_parent};
pub use stalled_disk::StalledDisk;
pub use temp_dir::TempDir;
pub use testbed::{
    Change, Counts, LineReport, Lines, Machine, MachineReport, Mode, Plan, Report, Testbed, TestbedError,
    namespaces_refused, run_switch,
};
pub use wire::{Told, Wire};
