//! The commands from outside: what they say, how they exit, and that they leave nothing behind.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod account;
mod bench;
mod bench_space;
mod clinda;
mod cluster;
mod cluster_space;
mod dials;
mod doctor;
mod explore_model;
mod frozen;
mod hosts;
mod identity;
mod isotach;
mod job;
mod kept_spaces;
mod kernel;
mod kill_one;
mod known_holes;
mod linearizable;
mod log;
mod logged;
mod metrics;
mod named_spaces;
mod output;
mod own_workers;
mod partitioned;
mod protobuf;
mod replicated;
mod reproduce;
mod restarts;
mod scope;
mod security;
mod served;
mod simulate;
mod simulate_run;
mod slurm;
mod small_shm;
mod supervised;
mod testbed;
mod token;
mod tool;
mod trace;
mod watched;
mod watching;
