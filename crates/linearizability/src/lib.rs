//! Whether what several clients saw is what one object could have done.
//!
//! A history is **linearizable** (Herlihy and Wing, "Linearizability: A Correctness Condition for Concurrent Objects", ACM Transactions on Programming
//! Languages and Systems 12(3), 1990) if every operation can be given one instant between its invocation and its answer, so that the operations, done one
//! after the other in the order of these instants, come to what they came to. [`check`] looks for such an order; [`Space`] is the tuple space that it
//! compares with. [`Memory`] is variables, of which it is asked less: what is **sequentially consistent** keeps the order of each program alone
//! ([`in_program_order`]). Histories come from simulated runs and from live ones: this crate knows of neither.
//!
//! ```
//! use quintet_linearizability::{Act, Event, Order, Pattern, Purpose, Space, check};
//!
//! let space = Space { order: Order::OfAll };
//! let out = Event { client: 1, act: Act::out((0, 7), 1), asked: 1, answered: Some(2) };
//! let take = |found, asked| {
//!     let act = Act::Query { of: vec![Pattern::of(0)], purpose: Purpose::Take, found };
//!     Event { client: 2, act, asked, answered: Some(asked + 1) }
//! };
//! assert!(check(&space, &[out.clone(), take(Some(1), 3)]).is_ok());
//! assert!(check(&space, &[out, take(Some(1), 3), take(Some(1), 5)]).is_err(), "taken twice");
//! ```
//!
//! | file | holds |
//! | --- | --- |
//! | `search.rs` | [`check`]: read this first |
//! | `space.rs` | [`Space`]: a tuple space as simple as it can be |
//! | `memory.rs` | [`Memory`]: variables, and histories of which the order of each program counts |
#![forbid(unsafe_code)]

mod memory;
mod search;
mod space;

pub use memory::{Memory, Step, Told, in_program_order};
pub use search::{Event, Fault, MAX_STATES, Object, check, check_within};
pub use space::{Act, Order, Partition, Pattern, Purpose, Space, Stored};
