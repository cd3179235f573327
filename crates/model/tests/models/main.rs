//! Models as their users write them: what is computed of them, and what is said of them.

mod checks;
mod combined;
mod coverage;
mod damaged;
mod distributions;
mod driven;
mod examples;
mod groups;
mod lan;
mod measuring;
mod networks;
mod pools;
mod priorities;
mod problems;
mod programs;
mod reference;
mod requests;
mod said;
mod service_times;
mod switches;
mod tandem_chain;
mod watching;
mod ways;
