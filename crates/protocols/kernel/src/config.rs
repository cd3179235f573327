//! What the host decides.

use quintet_contract::Address;

/// The settings of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelConfig {
    /// The sessions of the kernel's node.
    pub me: Address,
    /// The sessions of the server's node.
    pub server: Address,
    /// Pairs of ports that all clients together may have with the server. A client of a space and its broker has two.
    pub max_pairs: usize,
    /// Bytes of frames of one client that may wait here for room in the link to the server, and as many that may wait for room in the link to the
    /// client. Who has more is cut off: it does not keep to the windows it was given, or takes no answers.
    pub max_held_bytes: u64,
    /// A defect to have, in tests that show that it is found.
    #[cfg(feature = "seeded-defects")]
    pub defect: Option<crate::Defect>,
}

impl KernelConfig {
    /// Pairs at most, by default: as many as a server takes of one node.
    pub const MAX_PAIRS: usize = 1024;

    /// Bytes held for a client each way, by default: 64 MiB.
    pub const MAX_HELD_BYTES: u64 = 64 * 1024 * 1024;

    /// With the defaults of everything else.
    #[must_use]
    pub fn new(me: Address, server: Address) -> KernelConfig {
        KernelConfig {
            me,
            server,
            max_pairs: KernelConfig::MAX_PAIRS,
            max_held_bytes: KernelConfig::MAX_HELD_BYTES,
            #[cfg(feature = "seeded-defects")]
            defect: None,
        }
    }
}
