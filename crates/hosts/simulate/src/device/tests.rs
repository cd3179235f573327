//! Every device under random requests, and each against the theory and the figures of its source.

mod bench;
mod csma;
mod network;
mod pool;
mod properties;
mod queueing;
mod ring;
mod saturation;
mod switch;
mod token_walk;
