//! Every error code once: what happened, whose fault it is, whether a retry is safe.
//!
//! The codes travel in error answers, name the exceptions in Python, the constants in C, and the exit status of the
//! command line. Text that belongs to one occurrence (values, names, what to do) stands beside the code where it is raised.
#![forbid(unsafe_code)]

use core::fmt;

/// Whose fault it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The caller's: the request cannot be right.
    Misuse,
    /// The peer's: it broke the protocol, or is another version or cluster.
    Peer,
    /// A limit set here was reached.
    Limit,
    /// The system's: a process, a link, a disk.
    System,
}

/// Whether the same request may be made again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Retry {
    /// It had no effect.
    Safe,
    /// It may have had its effect.
    Indeterminate,
    /// It would fail again.
    Useless,
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $number:literal, $text:literal, $fault:ident, $retry:ident, exit $exit:literal;)*) => {
        /// What went wrong.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u16)]
        pub enum Code {
            $($(#[doc = $doc])+ $name = $number,)*
        }

        impl Code {
            /// Every code, in order.
            pub const ALL: &[Code] = &[$(Code::$name),*];

            /// The code of this number, if there is one.
            #[must_use]
            pub const fn from_number(number: u16) -> Option<Code> {
                match number {
                    $($number => Some(Code::$name),)*
                    _ => None,
                }
            }

            /// Its name, as in the source: `TimedOut`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Code::$name => stringify!($name),)* }
            }

            /// What happened, in a few words.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { $(Code::$name => $text,)* }
            }

            /// Whose fault it is.
            #[must_use]
            pub const fn fault(self) -> Fault {
                match self { $(Code::$name => Fault::$fault,)* }
            }

            /// Whether the same request may be made again.
            #[must_use]
            pub const fn retry(self) -> Retry {
                match self { $(Code::$name => Retry::$retry,)* }
            }

            /// The exit status of a command that ends with it.
            #[must_use]
            pub const fn exit_status(self) -> u8 {
                match self { $(Code::$name => $exit,)* }
            }
        }
    };
}

codes! {
    /// The deadline passed before the request could be answered.
    TimedOut = 1, "the deadline passed", Limit, Safe, exit 75;
    /// The request was cancelled before it was answered.
    Cancelled = 2, "cancelled", Misuse, Safe, exit 130;
    /// The space holds as many bytes or tuples as it may.
    SpaceFull = 3, "the space is full", Limit, Safe, exit 75;
    /// A value, tuple or message above a stated limit.
    TooLarge = 4, "above a size limit", Misuse, Useless, exit 65;
    /// A value that cannot be a field, or a template that cannot match.
    BadValue = 5, "not a valid value", Misuse, Useless, exit 65;
    /// The lease was returned to the space, acknowledged or lost before.
    LeaseLost = 6, "the lease is no longer held", System, Useless, exit 75;
    /// The process or machine on the other side ended; an unanswered request may have had its effect.
    PeerDied = 7, "the other side died", System, Indeterminate, exit 69;
    /// Nothing was heard of the other side for too long.
    PeerSilent = 8, "the other side is silent", System, Indeterminate, exit 69;
    /// Nobody listens there.
    Unreachable = 9, "nobody answers at that address", System, Safe, exit 69;
    /// The other side speaks another version of the protocol.
    VersionMismatch = 10, "another protocol version", Peer, Useless, exit 76;
    /// The other side belongs to another cluster.
    WrongCluster = 11, "another cluster", Peer, Useless, exit 77;
    /// The other side runs as another user, or its key was refused.
    NotAllowed = 12, "not allowed", Misuse, Useless, exit 77;
    /// Another live node has the same id.
    DuplicateNode = 13, "a node with this id exists already", Misuse, Useless, exit 76;
    /// The other side broke the protocol.
    Malformed = 14, "a malformed message", Peer, Useless, exit 76;
    /// The operating system refused a resource.
    Resource = 15, "the system refused a resource", System, Safe, exit 71;
    /// The service is closing, or was closed by this program.
    Closed = 16, "closed", System, Safe, exit 69;
    /// A task, a live tuple or a handler ended with an error of its own.
    TaskFailed = 17, "the task failed", Misuse, Useless, exit 1;
    /// A recording or a file is damaged or of another version.
    BadFile = 18, "not a usable file", System, Useless, exit 65;
    /// A replay or a check found a difference.
    Mismatch = 19, "a difference was found", System, Useless, exit 3;
    /// A simulated run stopped at its limit of events, before its end.
    LimitReached = 20, "a run stopped at its limit before its end", Limit, Useless, exit 4;
    /// Another process listens at the address that was to be listened at.
    AddressInUse = 21, "the address is in use", System, Safe, exit 71;
    /// No process handles calls of that name, or the one that did left before it began.
    NoHandler = 22, "nobody handles calls of that name", System, Safe, exit 69;
    /// As many calls wait for the handlers of the name as they allow.
    Busy = 23, "too many calls wait already", Limit, Safe, exit 75;
    /// What a group had read was taken by somebody else before its end. Nothing of the group has happened.
    Conflict = 24, "a tuple that was read is gone", System, Safe, exit 75;
    /// No space of that name is there, or it was removed; what waited in it had no effect.
    NoSuchSpace = 25, "there is no such space", Misuse, Safe, exit 69;
    /// A space of that name is there, and was made with other settings.
    SpaceExists = 26, "a space of that name is there already", Misuse, Useless, exit 73;
    /// Events behind that number are kept no more, or are those of another life of the space. What happened since has to be looked up.
    TooOld = 27, "the events are kept no more", Limit, Useless, exit 75;
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_found_by_its_number() {
        for code in Code::ALL {
            assert_eq!(Code::from_number(*code as u16), Some(*code));
        }
        assert_eq!(Code::from_number(0), None, "zero means success");
    }
}
