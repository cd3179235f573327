//! Isochrons between processes, beside plain messages on the same links and calls over links of that kind.
//!
//! | file | holds |
//! | --- | --- |
//! | `isotach/net.rs` | an isonet of this process and others |
//! | `isotach/member.rs` | what each member does when it is asked to |
//! | `isotach/task.rs`, `isotach/flow.rs` | what it is asked, as text; much of the same, some of it under way at a time |
//! | `isotach/sequencer.rs` | the order of messages without isochrons |
//! | `isotach/messaging.rs` | calls of handlers in another process, by a broker |
//! | `isotach/latency.rs` | a message to a member and one back |
//! | `isotach/machines.rs` | both between two machines of a testbed |
//! | `isotach/bulk.rs` | the same while another service of the process moves bulk |
//! | `isotach/load.rs`, `isotach/loaded.rs` | what two members get done while others send; as cases |
//! | `isotach/stream.rs` | many messages to one member, of one sender or several |
//! | `isotach/arrivals.rs`, `isotach/contention.rs` | what arrives at a member, and when; of four senders, as cases |
//! | `isotach/multicast.rs` | messages to all members, in one order |
//! | `isotach/exclusion.rs` | what others do with locks: philosophers, and transfers between accounts |
//! | `isotach/ring.rs` | a message that goes round all members |
//! | `isotach/stall.rs` | how long a member waits when another one, or two, are killed or stand still |
//! | `isotach/study.rs` | what the study of Isotach 1.0 measured, by the same means, for `quintet reproduce` |
//! | `isotach/cost.rs`, `isotach/send_cost.rs` | what a send takes of its sender's processor; as cases |
//! | `isotach/idle.rs` | the processor time of a member that has nothing to do |

mod arrivals;
mod bulk;
mod contention;
mod cost;
mod exclusion;
mod flow;
mod idle;
mod latency;
mod load;
mod loaded;
mod machines;
mod member;
mod messaging;
mod multicast;
mod net;
mod ring;
mod send_cost;
mod sequencer;
mod stall;
mod stream;
mod study;
mod task;

use super::case::{Beside, Better, Case, Group, Prepare, Unit};

pub(crate) use machines::FirstArguments;
pub(crate) use member::MemberArguments;
pub(crate) use messaging::HandlerArguments;
pub(crate) use study::{Length, Nets};

/// How they wait, and where they are: several of them share a processor.
const WAITING: &str = "adaptive";
const PLACEMENT: &str = "members on any core";

/// What plain messages are called beside isochrons.
const PLAIN: &str = "plain messages";
/// What calls of handlers are called beside them.
const MESSAGING: &str = "messaging";

/// Something of ours beside something else of ours, which has a name.
fn case(
    name: &'static str,
    (unit, better): (Unit, Better),
    prepare: Prepare,
    (beside, of_beside): (&'static str, Prepare),
) -> Case {
    Case::new(Group::Isotach, name, unit, better, prepare)
        .beside(Beside::Itself { name: beside, prepare: of_beside })
        .under(WAITING, PLACEMENT)
        .on_all_processors()
}

pub(super) fn cases() -> Vec<Case> {
    let groups = [
        latency::cases(),
        machines::cases(),
        bulk::cases(),
        stream::cases(),
        contention::cases(),
        loaded::cases(),
        send_cost::cases(),
        multicast::cases(),
        exclusion::cases(),
        ring::cases(),
        stall::cases(),
        idle::cases(),
    ];
    groups.into_iter().flatten().collect()
}
