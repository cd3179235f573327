//! The keys of pools, and of the action that uses one.

use super::Preset::{Otherwise, Required, Value};
use super::Takes::{Count, Draw, Other, Quantity};
use super::{LONGEST, Table, key};
use crate::dimension::Dimension;

/// Servers of one pool.
const MOST_SERVERS: u64 = 4_096;

/// `[pool.NAME]`.
pub static POOL: Table = Table {
    heading: "[pool.NAME]",
    text: "Servers that are no processors: disks, licences, desks. Modules use them, wherever they run; who finds none free waits in one queue.",
    keys: &[
        key("servers", Count(1, MOST_SERVERS), Value("1"), "How many uses it serves at a time."),
        key(
            "rate",
            Quantity(Dimension::DATA_RATE, 1.0, 1.25e13),
            Otherwise("uses have no bytes"),
            "How fast one server works on the bytes of a use.",
        ),
        key(
            "overhead",
            Quantity(Dimension::TIME, 0.0, LONGEST),
            Value("0 s"),
            "What each use takes besides its time and its bytes.",
        ),
    ],
};

/// An element of `do` that uses a pool.
pub static USE_ACTION: Table = Table {
    heading: "do = [{ use = ... }]",
    text: "Uses a pool. The activation goes on when that is done with it; its processor, and other activations of the module, go on meanwhile.",
    keys: &[
        key("use", Other("a pool"), Required, "Which."),
        key("time", Draw(Dimension::TIME), Value("0 s"), "How long a server works on it."),
        key(
            "bytes",
            Draw(Dimension::DATA),
            Value("0 B"),
            "What a server works on at the pool's `rate`, in addition; rounded to whole bytes.",
        ),
        key(
            "key",
            Draw(Dimension::NUMBER),
            Otherwise("whichever server is free"),
            "Chooses the server: the number drawn, rounded down, modulo `servers`. It waits for that one then, in the same queue.",
        ),
        key("times", Count(0, 10_000), Value("1"), "How often, one after the other."),
    ],
};
