//! Who belongs to the cluster, as a pure protocol: views that are agreed by Raft among up to five of the machines, and kept on their disks.
//!
//! A **member** is a machine that has joined: it has a number that nobody else ever gets, a name, and an identity. Up to five of the
//! members are **voters**, who agree on every change; the others are **learners**, who follow. A **view** is who is in after so many
//! changes: all members learn the same views in the same order. [`Membership`] is a [`Protocol`](quintet_contract::Protocol): it has no
//! thread, socket, clock or file; its log lies on the host's disk, which is an address like every other.
//!
//! A member that does not seem to be there is *suspected*, at once and by each member for itself. It is *removed* by the leader once that has
//! lasted for a time that is set, so that a short cut removes nobody. Members that hear no majority decide nothing, and say so.
//!
//! Whoever wants to join has no number so far: it asks as a client of any member, and starts a member of its own with the answer.
//!
//! | file | holds |
//! | --- | --- |
//! | `codec.rs` | requests and answers: read this first to ask a member |
//! | `membership.rs` | [`Membership`]: one machine's part |
//! | `membership/desk.rs`, `membership/watchers.rs` | requests that wait; those who wait for the next view |
//! | `membership/upkeep.rs` | what a leader changes by itself: removals, who votes |
//! | `membership/sight.rs`, `membership/proofs.rs` | who does not seem to be there; who peers have proved to be, and what they may ask |
//! | `membership/opening.rs`, `membership/pump.rs` | reads the log back; carries out what follows from an input |
//! | `view.rs`, `change.rs` | [`View`] and [`Change`]: what is agreed |
//! | `kept_space.rs`, `replacement.rs` | [`KeptSpace`]: a space that members keep on their disks, as a part of the view; another member in the place of one of them |
//! | `agreement.rs` | what Raft has to know of views; the agreement itself is `quintet-raft` |
//! | `disk.rs` | the log on the disk: its layout, its batches, what is torn and what is damaged |
//! | `config.rs`, `refusal.rs`, `not_allowed.rs` | [`MembershipConfig`], [`Refusal`], [`NotAllowed`] |
//! | `fuzzing.rs` | what the fuzz targets run |
#![forbid(unsafe_code)]

mod agreement;
mod change;
pub mod codec;
mod config;
mod defect;
mod disk;
pub mod fuzzing;
mod kept_space;
mod membership;
mod not_allowed;
mod refusal;
mod replacement;
mod rights;
mod view;

pub use change::{Change, Entry, Joiner, MAX_ADDRESS_BYTES, MAX_NAME_BYTES};
pub use codec::{Answer, News, Request, Suspect, Suspicion};
pub use config::{MembershipConfig, Start, Timing};
#[cfg(feature = "seeded-defects")]
pub use defect::Defect;
pub use kept_space::{KeptSpace, MAX_KEPT_SPACES, MAX_REPLICAS, MAX_SPACE_NAME_BYTES, NewSpace};
pub use membership::Membership;
pub use not_allowed::NotAllowed;
pub use refusal::{Reason, Refusal};
pub use replacement::{Replaced, Replacement};
pub use rights::{MAX_ALLOWED, NewRights};
pub use view::{FIRST_CLIENT, KEPT_CHANGES, MAX_MEMBERS, Member, View};
