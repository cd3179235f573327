//! Why a request fails.

quintet_wire::reasons! {
    /// A member of another identity has the name.
    NameTaken = 1, DuplicateNode;
    /// A member has the identity.
    IdentityTaken = 2, DuplicateNode;
    /// The request names another cluster.
    WrongCluster = 3, WrongCluster;
    /// The name is empty.
    BadName = 4, BadValue;
    /// There are as many members as may be, or no number is left.
    Full = 5, TooLarge;
    /// No member has the number, and none had.
    UnknownNode = 6, BadValue;
    /// No majority of the voters was heard in time. The request may still have its effect.
    NoMajority = 7, PeerSilent;
    /// Who was asked on behalf of another does not lead. Nothing was changed.
    NotLeader = 8, Unreachable;
    /// This machine was removed.
    Removed = 9, NotAllowed;
    /// The log cannot be read, or not be written any more.
    Damaged = 10, BadFile;
    /// As many requests wait as may.
    Busy = 11, Resource;
    /// The request cannot be read.
    Malformed = 12, Malformed;
    /// The change is so long ago that it is not kept: ask for the whole view.
    TooFarBehind = 13, BadValue;
    /// The member is the only voter, and cannot leave.
    LastVoter = 14, BadValue;
    /// The address is too long.
    BadAddress = 15, BadValue;
    /// Who asks has proved to be somebody who may not ask for this.
    NotAllowed = 16, NotAllowed;
    /// A later life of this machine has come: it was started from a copy of its folder, or with an old log.
    Outlived = 17, DuplicateNode;
    /// The cluster has a space of that name.
    SpaceExists = 18, SpaceExists;
    /// These machines cannot keep a space together.
    BadReplicas = 19, BadValue;
    /// The member's disk has a space's tuples: it cannot go.
    KeepsSpace = 20, BadValue;
    /// That is no name of a space.
    BadSpaceName = 21, BadValue;
    /// The cluster has no such space.
    NoSuchSpace = 22, NoSuchSpace;
}

/// Why a request failed, and what is particular to this time.
pub type Refusal = quintet_wire::refusal::Refusal<Reason>;
