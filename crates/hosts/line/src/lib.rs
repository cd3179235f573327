//! A line, one way from one place to another, that is worse than perfect: it delays, loses, doubles and reorders what it carries, and
//! limits its rate.
//!
//! It has no clock, no threads and no descriptors: the time comes in as an argument. What becomes of the `n`th thing that is sent follows from
//! the seed, `n` and the impairment alone; when it comes out follows from the times as well. Links made worse for tests
//! (`quintet_link::impaired`) carry frames on it, and machines of a testbed packets.
//!
//! | file | holds |
//! | --- | --- |
//! | `impairment.rs` | [`Impairment`]: what is wrong |
//! | `line.rs` | [`Line`]: what becomes of each thing, and when |
#![forbid(unsafe_code)]

mod impairment;
mod line;

pub use impairment::Impairment;
pub use line::{Fate, Line};
