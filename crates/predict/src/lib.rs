//! The product's own tuple space on modelled machines: what would another network, a faster machine, more workers give?
//!
//! A [`Job`] is a master that puts tasks and takes results, and workers that take tasks, compute, and put results. A
//! [`Cluster`] is machines and what joins them. A run places the space and every process on cores, with the protocols that a
//! live process has (`quintet_stack`), and plays the programs on top.
//!
//! ```
//! use quintet_predict::{Cluster, Job, study};
//!
//! let cluster = Cluster::from_str(include_str!("../../../models/lab-10g.toml"), "lab-10g.toml")?;
//! let job = Job::from_str(include_str!("../../../examples/farm.toml"), "farm.toml")?;
//! let job = Job { tasks: 40, kill: None, ..job };
//! let rows = study(&cluster, &job, &[1, 2], 2)?;
//! let makespan = |row: usize| rows[row].interval(|run| run.makespan).expect("the job ended").mean;
//! assert!(makespan(1) < makespan(0), "two workers are faster than one");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is modelled, and what is not
//!
//! Costs: see [`WorkCosts`]; `quintet bench predict` measures them, and how far predictions are off. A process stays on the
//! core where it was put, which processes share by time slices: a system moves processes, and lets those that woke go
//! first. A frame costs both ends a copy, a long one in pieces at the same time; but what shared memory lends, data of 4 KiB to 64 MiB, costs one copy
//! to who puts it, and none to others. (A link lends eight such copies at a time, which is not modelled.) What a byte costs follows from
//! the largest data that a job has ([`Copying`]), as what is moved decides what stays in the caches; who else uses caches and
//! memory is not modelled. Between machines the layers run as over shared memory, on a network that loses nothing.
//!
//! | file | holds |
//! | --- | --- |
//! | `farm.rs` | one run of a job: read this first |
//! | `job.rs`, `cluster.rs`, `link.rs`, `costs.rs`, `copying.rs` | [`Job`], [`Cluster`], [`Link`], [`WorkCosts`], [`Copying`] |
//! | `floor.rs` | where processes are, and how they are joined |
//! | `program.rs` | master, worker and pairs as protocols |
//! | `study.rs` | runs over seeds and numbers of workers |
//! | `managers.rs`, `routing.rs` | pairs of clients whose space has several managers, and what routing costs |
//! | `routed.rs` | a router and managers step by step, for the benchmark that measures that |
//! | `calibrate.rs` | from measured pairs to costs |
//! | `membership.rs` | what being a cluster costs its machines |
//! | `file.rs`, `keys.rs`, `markdown.rs` | the two files, every key they have, and its documentation |
#![forbid(unsafe_code)]

pub mod calibrate;
mod cluster;
mod copying;
mod costs;
mod farm;
mod file;
mod floor;
mod job;
pub mod keys;
mod link;
pub mod managers;
mod markdown;
pub mod membership;
mod program;
pub mod routed;
mod routing;
mod study;

pub use cluster::{Cluster, Machine, Network};
pub use copying::Copying;
pub use costs::WorkCosts;
pub use farm::{FarmError, FarmRun, run};
pub use job::{Job, Kill, Places};
pub use link::Link;
pub use markdown::markdown;
pub use program::{Keys, PairPlan, Redone};
pub use routing::Routing;
pub use study::{CONFIDENCE, Row, study, study_watched};
