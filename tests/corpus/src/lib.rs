//! What reads bytes that a stranger may have written, as entry points: bytes in, no panic out.
//!
//! The fuzz targets (`fuzz/`) and the test of the stored corpus (`tests/corpus.rs`) run the same [`TARGETS`]. The first inputs of
//! each, the *seeds*, are made by [`seeds()`] and stored in `fuzz/corpus/` by `cargo xtask corpus`; what a fuzzer finds is added
//! there by hand, under a name that says what it showed.
//!
//! | file | holds |
//! | --- | --- |
//! | `targets.rs` | [`Target`], [`TARGETS`] |
//! | `seeds.rs`, `seeds/` | inputs that reach far, one file a target |
//! | `mutation.rs` | [`Mutator`]: damaged inputs, from a seed |
#![forbid(unsafe_code)]

mod mutation;
mod seeds;
mod targets;

pub use mutation::Mutator;
pub use seeds::{Seed, seeds};
pub use targets::{
    TARGETS, Target, clinda, clinda_object, enrolment, header, identity, journal_entry, model, replicated,
    resumed_clients, space_log, stack_config, tls, trace_part,
};
