//! Links over TLS: who is let in, who is not and why, and how they end.

#![cfg(not(loom))]

mod admission;
mod bare;
mod cluster;
mod ending;
mod hostile;
mod meeting;
mod renewal;
mod tokens;
