//! Why a request fails.

quintet_wire::reasons! {
    /// Who asks may not ask for it.
    NotGranted = 1, NotAllowed;
    /// The request cannot be read.
    Malformed = 2, Malformed;
    /// What is to be started cannot be right.
    BadStart = 3, BadValue;
    /// As much waits or runs here as may.
    Busy = 4, Resource;
    /// There is no such job or process of the session that asks.
    Unknown = 5, BadValue;
    /// The job belongs to another session.
    Taken = 6, DuplicateNode;
    /// The job is being ended, or was while this waited.
    Ending = 7, Closed;
    /// A file of a start is not kept: store it, and ask again.
    MissingFile = 8, BadValue;
    /// The machine could not do it.
    Failed = 9, Resource;
    /// The node starts no processes.
    NoProcesses = 10, Unreachable;
    /// Another request asks for what happens next in this job.
    AlreadyAsked = 11, BadValue;
    /// A file is above the limit.
    TooLarge = 12, TooLarge;
}

/// Why a request failed, and what is particular to this time.
pub type Refusal = quintet_wire::refusal::Refusal<Reason>;
