//! What isochrons are refused for, as errors.

use crate::{Cause, Code, Error, Limit, PeerGone, Size};
use quintet_isotach::{Halt, HaltCause, Misuse, Refusal};

/// What a program did wrong.
pub(super) fn of_misuse(misuse: &Misuse) -> Error {
    match misuse {
        Misuse::TooLarge { .. } => Error::new(Cause::Limit(Limit::Size(Size::Told)), misuse.to_string()),
        _ => Error::new(Code::BadValue, misuse.to_string()),
    }
}

/// Why an isochron is not executed.
pub(super) fn of_refusal(refusal: &Refusal) -> Error {
    match refusal {
        Refusal::Misuse(text) => Error::new(Code::BadValue, text.clone()),
        Refusal::Busy => Error::new(Code::Busy, refusal.to_string()),
        Refusal::Halted(halt) => of_halt(*halt),
        Refusal::Minority { .. } => Error::new(Code::Unreachable, refusal.to_string()),
        Refusal::ViewChanged(_) => Error::new(Code::PeerDied, refusal.to_string()),
        Refusal::LeftBehind(_) | Refusal::LacksPart { .. } => {
            Error::new(Code::PeerSilent, refusal.to_string())
        }
    }
}

/// Why nothing is executed any more. Until there are views without who is gone, the isonet is over.
pub(super) fn of_halt(halt: Halt) -> Error {
    let (gone, what) = match halt.cause {
        HaltCause::Gone => (PeerGone::Died, "has ended or cannot be reached"),
        HaltCause::Misbehaved => (PeerGone::Misbehaved, "broke the protocol"),
    };
    let who = who(halt.node.0);
    let text = format!(
        "{who} {what}: this isonet executes nothing more, and whether what was under way was executed is not known; close it, and join another one without that member"
    );
    Error::new(Cause::PeerGone(gone), text)
}

/// A node as its program knows it.
pub(super) fn who(node: u16) -> String {
    match node.checked_sub(crate::stack::token_manager_node(0).0) {
        Some(_) => "the token manager at member 0".to_owned(),
        None => format!("member {node}"),
    }
}

/// A thread that executes isochrons asks for what it alone could do.
pub(super) fn would_wait_for_itself() -> Error {
    let text = "a handler runs on the thread that executes isochrons, which would wait for itself: begin it there, and wait for it on another thread";
    Error::new(Code::BadValue, text)
}
