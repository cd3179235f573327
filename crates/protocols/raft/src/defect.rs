//! Defects built in on purpose.
//!
//! Each is a mistake that implementations of Raft really have had. A test switches one on to show that the random schedules find it;
//! without the feature `seeded-defects` none of this is compiled.

/// A defect built in on purpose.
#[cfg(feature = "seeded-defects")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Defect {
    /// A vote is kept in memory only, so that one life after another may vote for different candidates of one term.
    VoteNotKept,
    /// An entry of an earlier term counts as committed once a majority has it (Ongaro, figure 3.7).
    EarlierTermCounted,
    /// A leader begins a change while an earlier one is not committed, or before an entry of its own term is.
    TwoChangesAtOnce,
    /// Entries that contradict the leader's stay in the log.
    ConflictKept,
    /// What waits for a sync is said before it.
    SaidBeforeSync,
    /// A leader's own copy of an entry counts before it is durable.
    UnsyncedCounted,
    /// A leader answers for the view without hearing from a majority that it still leads.
    StaleLeaderAnswers,
    /// One that has lost its log is sent a snapshot before the leader's term has committed anything, and takes it.
    SnapshotBeforeCommit,
}

/// Whether this defect is switched on. Always false without the feature.
macro_rules! seeded {
    ($config:expr, $defect:ident) => {{
        #[cfg(feature = "seeded-defects")]
        let on = $config.defect == Some($crate::Defect::$defect);
        #[cfg(not(feature = "seeded-defects"))]
        let on = {
            let _ = &$config;
            false
        };
        on
    }};
}
pub(crate) use seeded;
