//! Why an operation failed, as values.

use core::fmt;
use quintet_errors::Code;
use quintet_tuple_space::{TooLarge, ValueError};
use std::io;

/// Why an operation failed, by whose doing. [`Error::code`](crate::Error::code) is the same for programs that only report it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Cause {
    /// The other side is gone, or was never there.
    PeerGone(PeerGone),
    /// The other side refused this connection, or the system refused it for another user's sake.
    Refused(Refused),
    /// A stated limit was reached.
    Limit(Limit),
    /// The request cannot be right: what is wrong with a value of it, where that is known here.
    Misuse(Option<ValueError>),
    /// The request was cancelled before it was answered.
    Cancelled,
    /// The program closed its lab, or the service is closing.
    Closed,
    /// The lease had ended before.
    LeaseLost,
    /// What a group had read was taken by somebody else before its end.
    Conflict,
    /// A task, a live tuple or a handler ended with an error of its own.
    Task,
    /// No process handles calls of that name, or the one that did left before it began.
    NoHandler,
    /// No space of that name is there, or it was removed.
    NoSuchSpace,
    /// A space of that name is there, with other settings.
    SpaceExists,
    /// Events behind the number that was asked for are kept no more: behind which they are, where that is known.
    TooOld(Option<u64>),
    /// The operating system refused a resource: what kind of error, where that is known.
    System(Option<io::ErrorKind>),
    /// Another process listens at the address that was to be listened at.
    AddressInUse,
    /// A file is damaged, or of another version.
    BadFile,
    /// A replay or a check found a difference.
    Mismatch,
    /// Members of an isonet have ended.
    Isonet(IsonetCause),
}

/// What the end of members of an isonet means for an isochron.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum IsonetCause {
    /// The members that are left went on to a view without who has ended before the isochron was executed. Nothing of it happened at any of them: begin it again.
    ViewChanged,
    /// So few members are left that as many could go on elsewhere: this one executes nothing more. What was under way may have been executed.
    Minority,
    /// The others went on without this member, which they could not reach: it executes nothing more. What was under way may have been executed.
    LeftBehind,
    /// This member lacks a part of what the others have executed, as isochrons do not wait for all parts with [`Delivery::Agreed`](crate::Delivery::Agreed): it executes nothing more.
    LacksPart,
    /// A read of an isochron that was executed has no value.
    NoValue(NoValue),
}

/// Why a read of a shared variable has no value, though its isochron was executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NoValue {
    /// The member that had reserved the place that was read has gone without giving a value. The variable has one again once it is written.
    WriterDied,
    /// A member ended before the one whose copy was read had answered: read again.
    Unanswered,
    /// All members that had a copy of the variable have ended, and nobody has written it since.
    Lost,
}

/// How the other side is gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PeerGone {
    /// Nobody listens there. The request had no effect.
    Unreachable,
    /// It ended, or closed the connection. A request without an answer may have had its effect.
    Died,
    /// Nothing was heard of it for too long. A request without an answer may have had its effect.
    Silent,
    /// It broke the protocol, and was cut off.
    Misbehaved,
}

/// Why a connection was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// The other side speaks another version of the protocol.
    OtherVersion,
    /// It belongs to another cluster.
    OtherCluster,
    /// It runs as another user, or this program may not go there.
    NotAllowed,
    /// Another live node has the same id.
    DuplicateNode,
}

/// Which limit was reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Limit {
    /// The time that the request might take. The error's text says what nearly matched.
    Time,
    /// The room in the space.
    Room,
    /// The size of what was sent.
    Size(Size),
    /// The calls that may wait for the handlers of a name.
    Calls,
    /// The events that a simulated run may have.
    Events,
}

/// What is too large.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Size {
    /// A request, found before it was sent.
    Request(TooLarge),
    /// A single frame of it.
    Frame {
        /// Bytes it has.
        bytes: usize,
        /// Bytes it may have.
        limit: usize,
    },
    /// What the other side, or its link, has no room for. The error's text has the numbers.
    Told,
}

impl Cause {
    /// The code under which it is reported.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Cause::PeerGone(PeerGone::Unreachable) => Code::Unreachable,
            Cause::PeerGone(PeerGone::Died) => Code::PeerDied,
            Cause::PeerGone(PeerGone::Silent) => Code::PeerSilent,
            Cause::PeerGone(PeerGone::Misbehaved) => Code::Malformed,
            Cause::Refused(Refused::OtherVersion) => Code::VersionMismatch,
            Cause::Refused(Refused::OtherCluster) => Code::WrongCluster,
            Cause::Refused(Refused::NotAllowed) => Code::NotAllowed,
            Cause::Refused(Refused::DuplicateNode) => Code::DuplicateNode,
            Cause::Limit(Limit::Time) => Code::TimedOut,
            Cause::Limit(Limit::Room) => Code::SpaceFull,
            Cause::Limit(Limit::Size(_)) => Code::TooLarge,
            Cause::Limit(Limit::Calls) => Code::Busy,
            Cause::Limit(Limit::Events) => Code::LimitReached,
            Cause::Misuse(_) => Code::BadValue,
            Cause::Cancelled => Code::Cancelled,
            Cause::Closed => Code::Closed,
            Cause::LeaseLost => Code::LeaseLost,
            Cause::Conflict => Code::Conflict,
            Cause::Task => Code::TaskFailed,
            Cause::NoHandler => Code::NoHandler,
            Cause::NoSuchSpace => Code::NoSuchSpace,
            Cause::SpaceExists => Code::SpaceExists,
            Cause::TooOld(_) => Code::TooOld,
            Cause::System(_) => Code::Resource,
            Cause::AddressInUse => Code::AddressInUse,
            Cause::BadFile => Code::BadFile,
            Cause::Mismatch => Code::Mismatch,
            Cause::Isonet(IsonetCause::ViewChanged | IsonetCause::NoValue(_)) => Code::PeerDied,
            Cause::Isonet(IsonetCause::Minority | IsonetCause::LeftBehind | IsonetCause::LacksPart) => {
                Code::PeerSilent
            }
        }
    }
}

/// What a code alone says of the cause.
impl From<Code> for Cause {
    fn from(code: Code) -> Cause {
        match code {
            Code::TimedOut => Cause::Limit(Limit::Time),
            Code::Cancelled => Cause::Cancelled,
            Code::SpaceFull => Cause::Limit(Limit::Room),
            Code::TooLarge => Cause::Limit(Limit::Size(Size::Told)),
            Code::BadValue => Cause::Misuse(None),
            Code::LeaseLost => Cause::LeaseLost,
            Code::Conflict => Cause::Conflict,
            Code::PeerDied => Cause::PeerGone(PeerGone::Died),
            Code::PeerSilent => Cause::PeerGone(PeerGone::Silent),
            Code::Unreachable => Cause::PeerGone(PeerGone::Unreachable),
            Code::VersionMismatch => Cause::Refused(Refused::OtherVersion),
            Code::WrongCluster => Cause::Refused(Refused::OtherCluster),
            Code::NotAllowed => Cause::Refused(Refused::NotAllowed),
            Code::DuplicateNode => Cause::Refused(Refused::DuplicateNode),
            Code::Malformed => Cause::PeerGone(PeerGone::Misbehaved),
            Code::Resource => Cause::System(None),
            Code::Closed => Cause::Closed,
            Code::TaskFailed => Cause::Task,
            Code::NoHandler => Cause::NoHandler,
            Code::NoSuchSpace => Cause::NoSuchSpace,
            Code::SpaceExists => Cause::SpaceExists,
            Code::TooOld => Cause::TooOld(None),
            Code::Busy => Cause::Limit(Limit::Calls),
            Code::AddressInUse => Cause::AddressInUse,
            Code::BadFile => Cause::BadFile,
            Code::Mismatch => Cause::Mismatch,
            Code::LimitReached => Cause::Limit(Limit::Events),
        }
    }
}

/// In a few words, those of its code.
impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.code().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_cause() {
        for code in Code::ALL {
            assert_eq!(Cause::from(*code).code(), *code);
        }
    }
}
