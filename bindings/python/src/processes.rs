//! Processes of a simulated model that are generators: a generator waits by yielding an event, or a number of seconds, and goes on when
//! that has happened. What a program sees of it stands in `quintet/simulate/processes.py`.
//!
//! One simulator: every event has its place in the schedule of the simulated host, among those of the model's modules and devices. A
//! generator runs on the thread that runs the model, between two steps of the simulation. What it asks for is noted in its [`World`] and
//! handed to the simulation when it waits again, so that nothing is borrowed while it runs.
//!
//! | file | holds |
//! | --- | --- |
//! | `run.rs` | `Run`: what a generator is given; read this first |
//! | `event.rs`, `condition.rs` | `Event`: what is waited for; several of them |
//! | `process.rs` | `Process`: a generator at work, its end and its interruption |
//! | `resource.rs`, `store.rs` | `Resource`, `Store`: what processes share |
//! | `program.rs` | `Program`: what processes do in a module's place |
//! | `random.rs`, `measure.rs` | `Stream`, `Measure`: random values; recorded ones |
//! | `world.rs`, `slots.rs` | the state of a run; numbered places of things that come and go |
//! | `driver.rs`, `resuming.rs` | what the simulation calls for; how a generator goes on |
//! | `source.rs` | what begins processes by itself |
//! | `row.rs` | what a run says of all that |

mod condition;
mod driver;
mod event;
mod measure;
mod process;
mod program;
mod random;
mod resource;
mod resuming;
mod row;
mod run;
mod slots;
mod source;
mod store;
mod world;

pub(crate) use driver::run_driven;

use pyo3::prelude::*;

/// Adds the classes.
pub(crate) fn add_classes(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<run::Run>()?;
    module.add_class::<event::Event>()?;
    module.add_class::<process::Process>()?;
    module.add_class::<resource::Request>()?;
    module.add_class::<resource::Resource>()?;
    module.add_class::<store::Store>()?;
    module.add_class::<program::Program>()?;
    module.add_class::<program::Message>()?;
    module.add_class::<measure::Measure>()?;
    module.add_class::<random::Stream>()
}
