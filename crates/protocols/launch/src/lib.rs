//! Processes started, watched and ended for peers, as a pure protocol above the processes of the host.
//!
//! A **job** is processes of one owner that share a folder and end together; a **process** has a number that no other of its launcher gets.
//! [`Launcher`] is a [`Protocol`](quintet_contract::Protocol): it has no thread, process, clock or file. It asks the processes of its node's
//! host, which are an address like every other ([`PORT_PROCESS`](quintet_wire::registry::PORT_PROCESS)).
//!
//! A job belongs to the session that began it, and ends with it: whoever asks for processes and dies leaves none. Whether one that ended is
//! started again is the owner's decision, who asks again.
//!
//! | file | holds |
//! | --- | --- |
//! | `codec.rs` | requests and answers: read this first to ask a launcher |
//! | `launcher.rs` | [`Launcher`] |
//! | `launcher/requests.rs`, `launcher/answers.rs` | what peers ask for; what the host answers |
//! | `launcher/job.rs` | jobs and processes: what has happened and was not told |
//! | `launcher/errands.rs` | requests to the host that are not answered yet |
//! | `launcher/rights.rs` | who may ask for what |
//! | `limits.rs` | every limit |
//! | `not_granted.rs` | [`NotGranted`]: what the launcher's own node is told of who was refused |
//! | `config.rs`, `refusal.rs` | [`LauncherConfig`], [`Refusal`] |
//! | `fuzzing.rs` | what the fuzz targets run |
#![forbid(unsafe_code)]

pub mod codec;
mod config;
pub mod fuzzing;
mod launcher;
pub mod limits;
mod not_granted;
mod refusal;

pub use codec::{Answer, Grant, Happening, Info, ProcessInfo, Request, What};
pub use config::LauncherConfig;
pub use launcher::Launcher;
pub use not_granted::NotGranted;
pub use quintet_wire::services::process::{
    BadStart, Directory, End, FileHash, JOB_VARIABLE, JobFile, Program, RunningProcess, Start, Stream,
    check_path,
};
pub use refusal::{Reason, Refusal};
