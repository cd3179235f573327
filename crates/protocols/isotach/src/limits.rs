//! Every limit, with the relations between them proved at compile time.

use quintet_contract::limits::{FRAGMENT_BYTES, MAX_PAYLOAD_BYTES};

/// Bytes of a variable's value.
pub const MAX_VALUE_BYTES: usize = 4 * 1024;
/// Operations of an isochron.
pub const MAX_OPERATIONS: usize = 1024;
/// Bytes of a message.
pub const MAX_MESSAGE_BYTES: usize = 64 * 1024;
/// Bytes of a message above which it is long, and goes beside the frame that names it: shared within a process, copied once between two.
pub const SHORT_MESSAGE_BYTES: usize = 16 * 1024;
/// Bytes of an isochron's operations, encoded, beside those of its longest message, if that is long.
pub const MAX_ISOCHRON_BYTES: usize = 60 * 1024;
/// Bytes of the values that the reads of one isochron give, encoded: they come back in one frame.
pub const MAX_READ_BYTES: usize = 60 * 1024;
/// Isochrons of one node that are not executed everywhere. One more is refused as busy; a peer that has more broke the protocol.
pub const MAX_UNEXECUTED: usize = 256;
/// Of those, and of the ranks, so many are kept for isochrons that give more places values than they reserve: whatever waits for a value, it can be given.
pub const KEPT_FOR_VALUES: usize = 16;
/// How far the ranks of a node's isochrons that have not completed are apart. One that is farther is refused as busy: so the markers of the last so many isochrons
/// of each sender are all that may be missing elsewhere.
pub const MAX_RANKS_APART: u64 = 1024;
/// Nodes of a topology.
pub const MAX_NODES: usize = 16 * 1024;
/// Switches of a topology.
pub const MAX_SWITCHES: usize = 1024;
/// Bytes of a topology's text.
pub const MAX_TOPOLOGY_BYTES: usize = 56 * 1024;
/// Nodes of a view that are later processes than the first, and of those that ask to be: they are told in one frame, beside the topology.
pub const MAX_NEWCOMERS: usize = 512;
/// Bytes at which a frame of announcements, tokens, markers or copies is full: what comes next goes in another one.
pub const FULL_BATCH_BYTES: usize = 16 * 1024;
/// Bytes of the entries that such a frame has at most: one that is longer than a full frame, as it is for very many nodes, goes alone.
pub const MAX_BATCH_BYTES: usize = 40 * 1024;

/// Bytes of a program's state, which a node that joins gets from a program that is there.
pub const MAX_PROGRAM_STATE_BYTES: usize = 16 * 1024 * 1024;
/// Bytes of it in one frame.
pub const MAX_STATE_PIECE_BYTES: usize = 32 * 1024;

/// Bytes of frames that are kept for a view that has not begun.
pub(crate) const MAX_EARLY_BYTES: usize = 16 * 1024 * 1024;
/// Bytes of the fields in front of an isochron's operations, or of its values, at most.
pub(crate) const FRONT_BYTES: usize = 64;
/// Bytes of a node that has joined a view.
pub(crate) const NEWCOMER_BYTES: usize = 14;
/// Bytes of an announcement without its receivers.
pub(crate) const ANNOUNCEMENT_BYTES: usize = 20;
/// Bytes of a marker.
pub(crate) const MARKER_BYTES: usize = 18;
/// As much gathers for token managers in one burst.
pub(crate) const MAX_GATHERED: usize = 16;
/// Of a part that is here, as a token manager is told: its sender and rank.
pub(crate) const RECEIVED_BYTES: usize = 10;

const _: () = {
    assert!(MAX_ISOCHRON_BYTES + FRONT_BYTES <= MAX_PAYLOAD_BYTES, "an isochron fits a frame");
    assert!(MAX_MESSAGE_BYTES <= FRAGMENT_BYTES, "every link takes the longest message in one piece");
    assert!(MAX_READ_BYTES + FRONT_BYTES <= MAX_PAYLOAD_BYTES, "and so do its values");
    assert!(MAX_VALUE_BYTES + FRONT_BYTES <= MAX_ISOCHRON_BYTES, "and any one write");
    assert!(
        MAX_TOPOLOGY_BYTES + NEWCOMER_BYTES * MAX_NEWCOMERS + FRONT_BYTES <= MAX_PAYLOAD_BYTES,
        "and a new view, with who has joined"
    );
    assert!(2 * MAX_NODES + FRONT_BYTES <= MAX_PAYLOAD_BYTES, "and all who are suspected");
    assert!(MAX_STATE_PIECE_BYTES + FRONT_BYTES <= MAX_PAYLOAD_BYTES, "and a piece of a program's state");
    assert!(MAX_PROGRAM_STATE_BYTES <= u32::MAX as usize, "where a piece begins travels as u32");
    assert!(MAX_BATCH_BYTES + FRONT_BYTES <= MAX_PAYLOAD_BYTES, "and a batch");
    assert!(FULL_BATCH_BYTES <= MAX_BATCH_BYTES, "a full batch may be sent");
    assert!(
        MAX_VALUE_BYTES + 2 * MAX_NODES + FRONT_BYTES <= MAX_BATCH_BYTES,
        "a frame of copies has one at least"
    );
    assert!(ANNOUNCEMENT_BYTES + 2 * MAX_NODES <= MAX_BATCH_BYTES, "a batch has one announcement at least");
    assert!(MAX_NODES <= u16::MAX as usize, "counts of nodes travel as u16");
    assert!(MAX_OPERATIONS <= u16::MAX as usize, "and those of operations");
};
