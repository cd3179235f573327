//! What strangers can do to the ports of agents, spaces and jobs, and what processes with keys leave behind.

mod core_dumps;
mod crowd;
pub(crate) mod ports;
mod secrets;
mod strangers;
