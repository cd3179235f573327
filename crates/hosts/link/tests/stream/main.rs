//! Stream links beside peers that do not keep to the rules, and sockets that take little at a time.
#![cfg(not(loom))]

mod flow;
mod hostile;
mod meeting;
mod namespace;
mod processes;
mod raw;
