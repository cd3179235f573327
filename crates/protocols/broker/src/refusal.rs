//! Why a broker refuses what it is asked.

quintet_wire::reasons! {
    /// Nobody handles calls of that name, or at that rank.
    NoHandler = 1, NoHandler;
    /// As many calls wait as may, or as many handlers are there.
    Busy = 2, Busy;
    /// A request or a reply above a limit.
    TooLarge = 3, TooLarge;
    /// The handler ended with an error of its own; the text is its.
    Failed = 4, TaskFailed;
    /// The process that handled the call is gone.
    Died = 5, PeerDied;
    /// The deadline passed.
    TimedOut = 6, TimedOut;
    /// It was cancelled, or the handler for which it waited has left.
    Cancelled = 7, Cancelled;
    /// What is asked for cannot be: a handler or a call that this peer does not have, or other limits than those of the name.
    BadRequest = 8, BadValue;
    /// It cannot be read.
    Malformed = 9, Malformed;
}

/// Why a request failed, and what is particular to this time.
pub type Refusal = quintet_wire::refusal::Refusal<Reason>;
