//! The operations of the text. What they are is in `docs/conformance.md`.

/// Operations, and how many tuples or templates they have: at least, at most.
pub(crate) const ALL: [(&str, usize, usize); 45] = [
    ("out", 1, 1),
    ("out_for", 1, 1),
    ("out_many", 0, usize::MAX),
    ("take", 1, 1),
    ("read", 1, 1),
    ("take_if", 1, 1),
    ("read_if", 1, 1),
    ("lease", 1, 1),
    ("count", 1, 1),
    ("list", 0, 1),
    ("collect_all", 1, 1),
    ("copy_collect", 1, 1),
    ("take_up_to", 2, 2),
    ("collect_into", 1, 2),
    ("copy_collect_into", 1, 2),
    ("status", 0, 0),
    ("acknowledge", 0, usize::MAX),
    ("release", 0, 0),
    ("cancel", 0, 0),
    ("replace", 2, usize::MAX),
    ("replace_if", 2, usize::MAX),
    ("select", 1, 32),
    ("select_if", 1, 32),
    ("select_read", 1, 32),
    ("select_read_if", 1, 32),
    ("select_lease", 1, 32),
    ("watch", 0, 1),
    ("watch_start", 0, 1),
    ("watch_behind", 0, 1),
    ("next", 0, 0),
    ("group", 0, 0),
    ("group_take", 1, 1),
    ("group_take_if", 1, 1),
    ("group_read", 1, 1),
    ("group_read_if", 1, 1),
    ("group_out", 1, 1),
    ("commit", 0, 0),
    ("abort", 0, 0),
    ("create_space", 1, 1),
    ("use_space", 0, 1),
    ("remove_space", 1, 1),
    ("create_kept_space", 1, 1),
    ("grant_space", 1, 1),
    ("revoke_space", 1, 1),
    ("declare_key", 2, 2),
];

/// Those about a space that machines of a cluster keep.
pub(crate) const OF_MACHINES: [&str; 3] = ["create_kept_space", "grant_space", "revoke_space"];

/// Operations upon something that an earlier step began.
pub(crate) const UPON: [&str; 12] = [
    "acknowledge",
    "release",
    "cancel",
    "watch_behind",
    "next",
    "group_take",
    "group_take_if",
    "group_read",
    "group_read_if",
    "group_out",
    "commit",
    "abort",
];

/// Those that may say in how many milliseconds what they put expires; the others may say for how long they wait.
pub(crate) const WITH_EXPIRY: [&str; 3] = ["out_for", "acknowledge", "group_out"];
