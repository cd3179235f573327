//! The commands of a cluster: they start, ask and end this machine's agent.

pub(crate) mod agents;
pub(crate) mod down;
pub(crate) mod join;
pub(crate) mod leave;
pub(crate) mod machines;
pub(crate) mod place;
pub(crate) mod rotate;
mod starting;
pub(crate) mod up;

use quintet::Error;
use quintet_agent::AgentError;

/// The error as every command has it.
pub(crate) fn refused(error: AgentError) -> Error {
    Error::new(error.code(), error.to_string())
}
