//! What a log is kept with.

use quintet_contract::Address;

/// What a log is kept with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoggedConfig {
    /// Whose log it is: the log of another cluster is refused.
    pub cluster: u128,
    /// The protocol's own address: the log of another port is refused. Its node's disk keeps the log, and its node's callers are told of it.
    pub me: Address,
    /// Bytes by which the log outgrows twice what it began with before it is written anew. Default 16 MiB.
    pub spare_log_bytes: u64,
    /// A defect built in on purpose, for a test that must find it.
    #[cfg(feature = "seeded-defects")]
    pub defect: Option<crate::Defect>,
}

impl LoggedConfig {
    /// A log with the defaults of everything else.
    #[must_use]
    pub fn new(cluster: u128, me: Address) -> LoggedConfig {
        LoggedConfig {
            cluster,
            me,
            spare_log_bytes: 16 * 1024 * 1024,
            #[cfg(feature = "seeded-defects")]
            defect: None,
        }
    }
}
