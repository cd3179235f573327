//! The rules of a space, one test each, and a model that random runs are compared with.

mod answers;
mod bench;
mod books;
mod code;
mod collect;
mod collisions;
mod expiry;
mod further;
mod groups;
mod indexes;
mod leases;
mod listing;
mod model;
mod order;
mod random_runs;
mod ranges;
mod room;
mod scans;
mod sizes;
mod usage;
mod watches;
mod work;
