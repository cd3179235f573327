//! One space, spread over several managers.
//!
//! # What it promises
//! - **One manager a take or read.** Where a tuple is follows from its signature, and for a signature with a key from the value of that field: so
//!   each take and read is asked of one manager, and `no match` is as exact as that one's.
//! - **Classes.** A signature begins as a *queue*, all of it at one manager. Where every template has given a value for one of its fields it
//!   becomes a *hash* on that field, spread over all; where a template then does not, it becomes a *search*: it is gathered at one manager,
//!   for good. Meanwhile requests for it wait, and none fails.
//! - **Hot keys move.** A key of a hash that much of what its manager is asked is about moves to the one that has least to do; requests for
//!   that key wait meanwhile, as for a signature that moves.
//! - **A directory**, at the first manager, decides that, one change at a time. Clients keep what it says; a manager answers what it does not
//!   have with `MOVED`, and the client's router asks the directory, and then the right manager.
//! - **A put is not overtaken.** What a client asks of one manager goes after its puts at others have been handled, although nobody waits for their answers.
//! - **Atomic** is what one manager does at one instant, and what several do while all of them stand still: tuples that are put at once, the
//!   results of a lease, a group's takes, reads and puts, a select among templates of several, a replacement with tuples of several, and what is collected into
//!   a named space or out of one.
//! - **All or nothing.** Nothing is asked before all managers are there and of one space; one that is gone takes the space with it, and is named by all.
//! - **Watches go along.** A watch is asked of the manager that has what its template matches; what has happened to tuples moves with them, with its numbers.
//! - **First in, first out** among tuples that one manager had. Those who wait when their signature moves ask again, in the order in which they
//!   hear of it: among different clients the oldest may lose its place.
//!
//! | file | does |
//! | --- | --- |
//! | `placement.rs` | which manager a tuple is at |
//! | `manager.rs` | [`Manager`]: a [`Spaces`](crate::Spaces) as one of several |
//! | `manager/moving.rs`, `manager/directory.rs` | how a signature moves, and who decides it |
//! | `manager/fellows.rs` | whether all managers are there, and what is answered once one is gone |
//! | `manager/commit.rs`, `router/parts.rs`, `router/seek.rs` | what several managers do at one instant: the managers' side, and a client's |
//! | `manager/collecting.rs` | what goes into a named space or comes from one at one instant |
//! | `manager/loads.rs`, `manager/heat.rs` | what each is asked, and when a key moves for it |
//! | `manager/usage.rs` | what templates have shown so far |
//! | `router.rs` | [`Router`]: a client's side |
//! | `router/control.rs` | its fences, and its questions to the directory |
//! | `router/target.rs`, `router/merge.rs`, `router/again.rs` | whom to ask; the answers of all as one; what is asked again |

mod manager;
mod placement;
mod router;
#[cfg(test)]
mod tests;

pub use manager::{HotKeysConfig, Manager, ManagersConfig};
pub(crate) use placement::{Home, Placement};
pub use router::{Router, RouterConfig};

use crate::codec::Refusal;
use quintet_errors::Code;

/// What is said of a manager that is gone, by clients and by the others alike. `address`: where it listened; empty if that is not known.
#[must_use]
pub fn gone(manager: u8, managers: usize, address: &str) -> String {
    let at = if address.is_empty() { String::new() } else { format!(", at {address},") };
    format!("manager {} of the {managers} of this space{at} is gone, and its tuples with it", manager + 1)
}

/// What is said of it by who asks it through the kernel of a machine, whose end looks the same.
#[must_use]
pub fn gone_or_its_kernel(manager: u8, managers: usize, address: &str) -> String {
    format!("{}, or the kernel through which it was asked", gone(manager, managers, address))
}

/// What is said where the managers of a space did not understand who asks.
fn another_version(refusal: &Refusal) -> Refusal {
    let text = format!(
        "the managers of this space are of another version than who asks, whom they did not understand ({}): use one version for all of them and their programs",
        refusal.text
    );
    Refusal::new(Code::VersionMismatch, text)
}
