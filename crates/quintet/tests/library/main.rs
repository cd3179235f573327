//! What a program sees of the library. What starts processes of itself, or changes what holds for its process, is a program of its own beside this one.

mod begun;
mod callbacks;
mod closing;
mod collect;
mod event_loop;
mod expiry;
mod further;
mod groups;
mod idle;
mod indexes;
mod kernels;
mod links;
mod liveness;
mod logged;
mod managers;
mod managers_usage;
mod named_spaces;
mod packing;
mod placements;
mod ranges;
mod replicated;
mod resume;
mod space;
mod waiting;
mod watching;
