//! What a launcher is made with.

use crate::limits::{MAX_JOBS, MAX_PROCESSES, MAX_VERSION_BYTES};
use quintet_contract::NodeId;

/// What a launcher is made with: all that decides what it does, besides its inputs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LauncherConfig {
    /// Its node: whose callers say who may what, and whose host starts the processes.
    pub node: NodeId,
    /// The version of the program that runs there, for who asks.
    pub version: String,
    /// Processes that may be at one time; [`MAX_PROCESSES`] at most.
    pub max_processes: u32,
    /// Jobs that may be at one time; [`MAX_JOBS`] at most.
    pub max_jobs: u32,
}

impl LauncherConfig {
    /// A launcher with the largest limits. A long version is cut.
    #[must_use]
    pub fn new(node: NodeId, version: impl Into<String>) -> LauncherConfig {
        let mut version = version.into();
        version.truncate(version.floor_char_boundary(MAX_VERSION_BYTES));
        let limit = |limit| u32::try_from(limit).unwrap_or(u32::MAX);
        LauncherConfig { node, version, max_processes: limit(MAX_PROCESSES), max_jobs: limit(MAX_JOBS) }
    }
}
