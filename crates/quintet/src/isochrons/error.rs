//! What isochrons are refused for, as errors.

use super::views::Views;
use crate::{Cause, Code, Error, IsonetCause, Limit, NoValue, PeerGone, Size};
use quintet_contract::NodeId;
use quintet_isotach::{Halt, HaltCause, Misuse, Refusal, Variable};

/// What a program did wrong.
pub(super) fn of_misuse(misuse: &Misuse) -> Error {
    match misuse {
        Misuse::TooLarge { .. } => Error::new(Cause::Limit(Limit::Size(Size::Told)), misuse.to_string()),
        _ => Error::new(Code::BadValue, misuse.to_string()),
    }
}

/// A member of the isonet is not in the view in which it is sent something.
pub(super) fn not_in_view(node: NodeId) -> Error {
    let text = format!("member {} has ended and is not in this view: nothing was sent to it", node.0);
    Error::new(Cause::PeerGone(PeerGone::Died), text)
}

/// A variable of the isonet has no copy in the view in which it is asked for.
pub(super) fn without_copy(variable: Variable) -> Error {
    let text = format!(
        "no copy of variable {} is left in this view, as all members that had one have ended: write it once one of them has come back",
        variable.0
    );
    Error::new(Cause::Isonet(IsonetCause::NoValue(NoValue::Lost)), text)
}

/// Why an isochron is not executed. `views` says what another view is.
pub(super) fn of_refusal(refusal: &Refusal, views: &Views) -> Error {
    match refusal {
        Refusal::Misuse(text) => Error::new(Code::BadValue, text.clone()),
        Refusal::Busy => one_too_many(),
        Refusal::Halted(halt) => of_halt(*halt),
        Refusal::Minority { left, of, .. } => {
            let text = format!(
                "{left} of the {of} members of the view can be reached from here: more than half of them go on, or half with the one that has been there for longest; this member has stopped, and what was under way may have been executed"
            );
            Error::new(Cause::Isonet(IsonetCause::Minority), text)
        }
        Refusal::ViewChanged(view) => {
            let text = format!(
                "{} began before the isochron was executed, which nobody in it has done: begin it again",
                views.look_at(*view)
            );
            Error::new(Cause::Isonet(IsonetCause::ViewChanged), text)
        }
        Refusal::LeftBehind(view) => {
            let text = format!(
                "the others went on to view {} without this member, which they could not reach, or which broke the protocol: it has stopped; start it anew",
                view.0
            );
            Error::new(Cause::Isonet(IsonetCause::LeftBehind), text)
        }
        Refusal::LacksPart { .. } => Error::new(Cause::Isonet(IsonetCause::LacksPart), refusal.to_string()),
    }
}

/// Why a view has stopped.
pub(super) fn of_halt(halt: Halt) -> Error {
    let (gone, what) = match halt.cause {
        HaltCause::Gone => (PeerGone::Died, "has ended or cannot be reached"),
        HaltCause::Misbehaved => (PeerGone::Misbehaved, "broke the protocol"),
    };
    let text = format!("member {} {what}, and the view has stopped", halt.node.0);
    Error::new(Cause::PeerGone(gone), text)
}

/// So many isochrons are put together as their isonet is closed.
pub(super) fn unended(count: usize) -> Error {
    let text = format!(
        "isochrons that were put together and never ended: {count}; nothing of them has happened: execute, begin or abandon each before the end"
    );
    Error::new(Code::BadValue, text)
}

/// As many of this member are under way as may be.
pub(super) fn one_too_many() -> Error {
    Error::new(Code::Busy, Refusal::Busy.to_string())
}

/// A thread that executes isochrons asks for what it alone could do.
pub(super) fn would_wait_for_itself() -> Error {
    let text = "a handler runs on the thread that executes isochrons, which would wait for itself: begin it there, and wait for it on another thread";
    Error::new(Code::BadValue, text)
}

/// An invariant of this member does not hold.
pub(super) fn broken_invariant(broken: &str) -> Error {
    let text = format!("this member has left its isonet, as an invariant of it does not hold: {broken}");
    Error::new(Code::Mismatch, text)
}
