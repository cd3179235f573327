//! The C-Linda compiler: C in which `out`, `in`, `rd`, `inp`, `rdp` and `eval` are operations on a tuple space, made into plain C.
//!
//! A source comes in with what a preprocessor has made of it; C goes out, with `#line` directives, that calls a small run-time
//! ([`runtime`]) on top of `libquintet`. No file is read here and no process started: `quintet clc` does.
//!
//! | file | holds |
//! | --- | --- |
//! | `source.rs`, `expanded.rs` | a file as it was written, and behind the preprocessor |
//! | `tokens.rs`, `operation.rs` | the words of C; operations among them, without types |
//! | `masked.rs` | the same text as the grammar of C can read it |
//! | `resolve.rs` | the walk through the syntax tree: read this first |
//! | `types.rs`, `scope.rs`, `declaration.rs`, `expression.rs`, `constant.rs` | the types of C, as far as fields need them |
//! | `check.rs`, `live.rs`, `field.rs` | what C-Linda allows as a field, in an eval; what it is in the space |
//! | `alignment.rs`, `pairing.rs`, `unit.rs` | back to the source as it was written; one file, checked |
//! | `keys.rs` | the fields by which several managers can spread tuples |
//! | `program.rs` | several files |
//! | `note.rs`, `object.rs` | what a file leaves in its object for the link; where it lies there |
//! | `whole.rs`, `analysis.rs` | all files of a program; which tuples they have in common |
//! | `standing.rs` | how operations stand in their functions |
//! | `plan.rs`, `hoist.rs`, `fuse.rs` | what may be begun earlier than it is written, and what may go in one request |
//! | `emit.rs`, `emit/` | the C |
//! | `runtime.rs`, `../runtime/` | what that calls |
//! | `diagnostic.rs` | what is wrong, and where |
//!
//! ```
//! use quintet_clinda::{Expanded, Program, Source, Unit};
//!
//! let text = "int real_main(void) { int n; out(\"n\", 3); in(\"n\", ?n); return n; }";
//! let source = Source::new("three.cl", text.into()).expect("short, and UTF-8");
//! let expanded = Expanded::unexpanded(&source);
//! let unit = Unit::read(source, &expanded).expect("nothing is wrong");
//! let c = &Program::new(vec![unit]).emit()[0];
//! assert!(c.contains("{ int n; clinda_out_1(); clinda_in_2(&n); return n; }"));
//! ```
#![forbid(unsafe_code)]

mod alignment;
mod analysis;
mod check;
mod constant;
mod declaration;
mod diagnostic;
mod emit;
mod expanded;
mod expression;
mod field;
mod fuse;
mod hoist;
mod keys;
mod live;
mod masked;
mod note;
mod object;
mod operation;
mod pairing;
mod plan;
mod program;
mod resolve;
pub mod runtime;
mod scope;
mod source;
mod standing;
mod tokens;
mod types;
mod unit;
mod whole;

pub use analysis::{Analysis, Class, Partition, Used};
pub use diagnostic::{Diagnostic, Place, Severity};
pub use expanded::Expanded;
pub use hoist::Hoist;
pub use note::{Note, NoteError};
pub use object::{Object, ObjectError};
pub use operation::Verb;
pub use plan::Optimisations;
pub use program::Program;
pub use source::{MAX_SOURCE_BYTES, Source};
pub use unit::Unit;
pub use whole::Whole;
