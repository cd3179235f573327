//! Links: how frames cross from one node to another.
//!
//! A link has a [`Sender`] and a [`Receiver`] at each end. What was committed arrives once, in order, or the link fails;
//! repairing a failed link is the business of `session`, not of this crate.
#![warn(missing_docs)]

mod contract;

pub use contract::{LinkError, Receiver, Route, Sender};
