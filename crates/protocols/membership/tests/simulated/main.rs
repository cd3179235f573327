//! Members on simulated machines: scenarios, and random schedules of faults.

#![allow(unreachable_pub, reason = "the modules of a test use each other")]

mod cluster;
#[cfg(feature = "seeded-defects")]
mod defects;
mod observer;
mod parts;
mod refusals;
mod scenarios;
mod schedule;
mod traffic;
