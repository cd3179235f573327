//! The native half of the Python package `quintet`: what Python calls is translated to the crate [`quintet`] and back.
//!
//! | file | holds |
//! | --- | --- |
//! | `lab.rs` | `Lab`: a connection; read this first |
//! | `settings.rs` | `Settings`: where the space is, and how to connect to it |
//! | `connection.rs` | what `Lab`, `Space` and everything under way share, and how it is waited for |
//! | `space.rs`, `status.rs` | `Space`: the operations; its numbers |
//! | `collecting.rs` | all tuples that match |
//! | `listing.rs`, `watching.rs` | pages of what lies in a space, and of what happens in it |
//! | `evaluating.rs` | what evaluations have to know of a space |
//! | `inspecting.rs` | who waits in a space, who is connected, how its partitions are used |
//! | `rights.rs` | who may use a named space |
//! | `outcome.rs` | what outcomes are in Python |
//! | `begin.rs`, `pending.rs`, `lease.rs` | begins an operation; one under way; a tuple taken until it is acknowledged |
//! | `messaging.rs` | calls of handlers, and handlers |
//! | `isonet.rs`, `isochron.rs`, `isonet_events.rs`, `isonet_counters.rs` | members of isonets, isochrons, what they have changed and what is counted |
//! | `value.rs`, `formal.rs`, `array.rs` | Python objects to fields and back; formals; NumPy arrays |
//! | `server.rs` | `Server`: a space for other processes |
//! | `simulate.rs` | models and their runs; needs no lab |
//! | `processes.rs` | processes of models that are generators |
//! | `error.rs`, `words.rs` | errors as Python exceptions, in Python's words |
//! | `fork.rs` | what a forked child must leave alone |
//! | `parent.rs` | what a worker does when its program dies |
//!
//! Nothing here waits while it holds the interpreter: a callback that needs the interpreter may run on the thread that is
//! waited for.
#![deny(unsafe_code)]

mod array;
mod begin;
mod collecting;
mod connection;
mod error;
mod evaluating;
mod fork;
mod formal;
mod group;
mod inspecting;
mod isochron;
mod isonet;
mod isonet_counters;
mod isonet_events;
mod lab;
mod lease;
mod listing;
mod messaging;
mod outcome;
mod parent;
mod pending;
mod plain;
mod processes;
mod range;
mod reserving;
mod rights;
mod server;
mod settings;
mod simulate;
mod space;
mod spaces;
mod status;
mod under_way;
mod value;
mod watching;
mod witness;
mod words;

use pyo3::prelude::*;

/// The module `quintet._native`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<lab::Lab>()?;
    module.add_class::<space::Space>()?;
    module.add_class::<begin::Begin>()?;
    module.add_class::<lease::Lease>()?;
    module.add_class::<group::Group>()?;
    module.add_class::<listing::Cursor>()?;
    module.add_class::<pending::Pending>()?;
    module.add_class::<messaging::Messaging>()?;
    module.add_class::<messaging::Recipient>()?;
    module.add_class::<messaging::Handler>()?;
    module.add_class::<messaging::Call>()?;
    module.add_class::<messaging::PendingMessage>()?;
    module.add_class::<isonet::Isonet>()?;
    module.add_class::<isochron::Isochrons>()?;
    module.add_class::<isochron::Isochron>()?;
    module.add_class::<isochron::PendingIsochron>()?;
    module.add_class::<reserving::Reserving>()?;
    module.add_class::<reserving::PendingUpdate>()?;
    module.add_class::<plain::PendingPlain>()?;
    module.add_class::<witness::Witness>()?;
    module.add_class::<formal::ArrayFormal>()?;
    module.add_class::<range::RangeField>()?;
    module.add_class::<server::Server>()?;
    module.add_class::<settings::Settings>()?;
    module.add_class::<simulate::SimulatedModel>()?;
    processes::add_classes(module)?;
    module.add_function(wrap_pyfunction!(processes::run_driven, module)?)?;
    module.add_function(wrap_pyfunction!(array::empty, module)?)?;
    module.add_function(wrap_pyfunction!(array::bulk_bytes_copied, module)?)?;
    module.add_function(wrap_pyfunction!(formal::array, module)?)?;
    module.add_function(wrap_pyfunction!(range::between, module)?)?;
    module.add_function(wrap_pyfunction!(range::prefix, module)?)?;
    module.add_function(wrap_pyfunction!(error::codes, module)?)?;
    module.add_function(wrap_pyfunction!(fork::before_fork, module)?)?;
    module.add_function(wrap_pyfunction!(fork::forked, module)?)?;
    module.add_function(wrap_pyfunction!(lab::running_cluster, module)?)?;
    module.add_function(wrap_pyfunction!(witness::check_order, module)?)?;
    module.add_function(wrap_pyfunction!(parent::end_with_parent, module)?)?;
    module.add_function(wrap_pyfunction!(evaluating::is_embedded, module)?)?;
    module.add_function(wrap_pyfunction!(evaluating::space_key, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::read_model, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::run_all, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::shortest_end, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::student_t_quantile, module)?)?;
    module.add("DEAD_LETTER", quintet::DEAD_LETTER)?;
    module.add("MAX_BYTES", quintet_contract::limits::MAX_BULK_BYTES)?;
    module.add("PERCENTS", simulate::PERCENTS)?;
    module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
    module.add("MAX_FIELDS", quintet::MAX_TUPLE_FIELDS)?;
    Ok(())
}
