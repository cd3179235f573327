//! Processes started, watched and ended for peers, as a pure protocol above the processes of the host.
#![forbid(unsafe_code)]

pub mod codec;
pub mod limits;
mod refusal;

pub use codec::{Answer, Grant, Happening, Info, Request, What};
pub use quintet_wire::services::process::{
    BadStart, Directory, End, FileHash, JobFile, Program, Start, Stream, check_path,
};
pub use refusal::{Reason, Refusal};
