//! Model files: reads them, says what is wrong with them, simulates what they describe, and sums up what runs say.
//!
//! ```
//! use quintet_model::Model;
//!
//! let model = Model::from_str(include_str!("../../../models/mm1.toml"), "mm1.toml")?;
//! let study = model.with_parameters(&[("load", 0.5)])?.replicate(&[1, 2, 3])?;
//! let utilisation = study.mean("processor.server.utilisation").expect("the model has a server");
//! assert!((utilisation - 0.5).abs() < 0.05);
//! # Ok::<(), quintet_model::ModelError>(())
//! ```
//!
//! The simulator itself is `quintet-simulate`: a module becomes a protocol there, like the product's own.
//!
//! | file | holds |
//! | --- | --- |
//! | `model.rs` | [`Model`] and its parts, as written: read this first |
//! | `action.rs` | [`Action`]: what a module does |
//! | `network.rs` | [`Network`]: switches and links, as written |
//! | `pool.rs` | [`Pool`]: servers that are no processors, as written, and what they did |
//! | `quantity.rs` | [`Quantity`], [`Draw`]: values as written |
//! | `keys.rs` | every key of a file, its default and range: a table |
//! | `read.rs` | from TOML to a model |
//! | `dimension.rs`, `expression.rs` | units, and computing with them |
//! | `resolve.rs` | from a model to a plan, with every check |
//! | `group.rs` | groups: their elements' names, and what belongs to one |
//! | `plan.rs` | a checked model in numbers |
//! | `problem.rs`, `nearest.rs` | [`Problem`]: what is wrong, where, and what may have been meant |
//! | `build.rs` | from a plan to a simulation |
//! | `run.rs`, `recorder.rs`, `result.rs` | one run and its result |
//! | `port.rs` | [`PortResult`]: what a port of a network did |
//! | `together.rs` | what a group did together |
//! | `driven.rs` | [`Driver`]: runs among whose events are those of a program |
//! | `study.rs` | [`Study`]: runs over seeds and parameters |
//! | `check.rs` | statements about runs, and the search for a seed that breaks one |
//! | `subject.rs` | [`Subject`]: what a quantity stands for, and its unit |
//! | `trace.rs` | a run, told to the viewer Perfetto; `trace/device.rs`, `trace/port.rs`, `trace/counter.rs` have lines of it, `trace/flow.rs` what joins them |
//! | `markdown.rs` | the reference of the format |
#![forbid(unsafe_code)]

mod action;
mod build;
mod check;
mod dimension;
mod driven;
mod expression;
mod group;
pub mod keys;
mod markdown;
mod model;
mod nearest;
mod network;
mod plan;
mod pool;
mod port;
mod problem;
mod quantity;
mod read;
mod recorder;
mod resolve;
mod result;
mod run;
mod study;
mod subject;
mod together;
mod trace;

pub use action::Action;
pub use build::Names;
pub use check::{Finding, Search, Violation, shortest_end};
pub use dimension::{Dimension, UNITS, Unit};
pub use driven::{Driver, Place, Sending};
pub use expression::{ExpressionError, Fault, Measured, evaluate};
pub use markdown::markdown;
pub use model::{Device, Edge, Measure, Model, Module, Processor, Value};
pub use nearest::nearest;
pub use network::{Network, NetworkLink, NetworkSwitch};
pub use pool::{Pool, PoolResult};
pub use port::PortResult;
pub use problem::{ModelError, Problem, ProblemKind};
pub use quantity::{Draw, Quantity, Sample};
pub use quintet_simulate::device::Class;
pub use result::{Ended, MeasureResult, ModuleResult, ProcessorResult, RunResult};
pub use study::{Axis, Cell, Study, Watch};
pub use subject::{ElementKind, Subject};
pub use trace::TraceError;
