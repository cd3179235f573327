//! Processes in jobs on a live host: started, watched, read and ended with all that descends from them; and files, kept by their hashes.
//!
//! [`Processes`] does what [`services::process`](quintet_wire::services::process) says: the live host gives it requests and passes its answers on. It is
//! one thread for all processes, which sleeps until one of them says something or ends.
//!
//! # Nothing is left
//!
//! A process is a group of its own, which is killed when it ends. What left that group is found by a variable of the environment that all
//! descendants inherit ([`JOBS`]): only who starts a process without it takes it away from here. When this program is killed, the kernel ends its
//! children, where they were started through a program that asks for that, and a companion ends what is left ([`Supervisor`]).
//!
//! | file | holds |
//! | --- | --- |
//! | `processes.rs` | [`Processes`]: read this first |
//! | `config.rs` | [`Config`] |
//! | `child.rs` | one process: its streams, its end |
//! | `starting.rs` | what is started, with which words and variables; why it cannot be |
//! | `running.rs` | which processes of jobs run, with what they use |
//! | `ending.rs` | a job on its way out |
//! | `folder.rs` | a job's folder, and the files in it |
//! | `removal.rs` | folders with all that lies in them, removed |
//! | `store.rs` | files by their hashes |
//! | `descendants.rs` | who descends from a job, and the end of all of them |
//! | `supervisor.rs` | [`Supervisor`], [`attend`]: who sees to the end of a job whose process was killed |
#![forbid(unsafe_code)]

mod child;
mod config;
mod descendants;
mod ending;
mod folder;
mod processes;
mod removal;
mod running;
mod starting;
mod store;
mod supervisor;

pub use config::Config;
pub use descendants::{JOBS, end_all};
pub use processes::Processes;
pub use running::running;
pub use starting::until_written;
pub use supervisor::{Supervisor, attend};
