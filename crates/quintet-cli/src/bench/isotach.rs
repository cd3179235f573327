//! Isochrons between processes, beside plain messages on the same links.
//!
//! | file | holds |
//! | --- | --- |
//! | `isotach/net.rs` | an isonet of this process and others |
//! | `isotach/member.rs` | what each member does when it is asked to |
//! | `isotach/task.rs` | what it is asked, as text |
//! | `isotach/sequencer.rs` | the order of messages without isochrons |
//! | `isotach/latency.rs` | a message to a member and one back |
//! | `isotach/bulk.rs` | the same while another service of the process moves bulk |
//! | `isotach/stream.rs` | many messages to one member, of one sender or several |
//! | `isotach/multicast.rs` | messages to all members, in one order |
//! | `isotach/exclusion.rs` | what others do with locks: philosophers, and transfers between accounts |
//! | `isotach/ring.rs` | a message that goes round all members |
//! | `isotach/stall.rs` | how long a member waits when another one is killed, or stands still |
//! | `isotach/study.rs` | what the study of Isotach 1.0 measured, by the same means, for `quintet reproduce` |
//! | `isotach/cost.rs` | what a send takes of its sender's processor, for the study |
//! | `isotach/idle.rs` | the processor time of a member that has nothing to do |

mod bulk;
mod cost;
mod exclusion;
mod idle;
mod latency;
mod member;
mod multicast;
mod net;
mod ring;
mod sequencer;
mod stall;
mod stream;
mod study;
mod task;

use super::case::Case;

pub(crate) use member::MemberArguments;
pub(crate) use study::{Length, Nets};

/// How they wait, and where they are: several of them share a processor.
const WAITING: &str = "adaptive";
const PLACEMENT: &str = "members on any core";

/// What plain messages are called beside isochrons.
const PLAIN: &str = "plain messages";

pub(super) fn cases() -> Vec<Case> {
    let groups = [
        latency::cases(),
        bulk::cases(),
        stream::cases(),
        multicast::cases(),
        exclusion::cases(),
        ring::cases(),
        stall::cases(),
        idle::cases(),
    ];
    groups.into_iter().flatten().collect()
}
