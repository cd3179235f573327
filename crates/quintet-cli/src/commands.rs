//! The commands.

pub(crate) mod cluster;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod exit_status;
pub(crate) mod explore;
pub(crate) mod identity;
pub(crate) mod init;
pub(crate) mod replay;
pub(crate) mod reproduce;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod simulate;
pub(crate) mod status;
pub(crate) mod supervise_child;
pub(crate) mod supervise_job;
pub(crate) mod token;
