//! Defects built in on purpose, besides those of the agreement.
//!
//! Each is a mistake that replicated stores really have had. A test switches one on to show that the random schedules find it; without the
//! feature `seeded-defects` none of this is compiled.

/// A defect built in on purpose.
#[cfg(feature = "seeded-defects")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Defect {
    /// One of the agreement.
    Agreement(quintet_raft::Defect),
    /// What waits for a sync is said before it.
    SaidBeforeSync,
    /// A leader answers what it is asked by itself, whether or not it still leads.
    LeaderAnswersAlone,
    /// Whoever is connected is not part of what a replica installs.
    InstalledWithoutClients,
    /// A replica without a log votes as others do.
    LostLogVotes,
    /// What a former leader's clients asked for is answered by the next one, to whoever has their addresses there.
    AnsweredForAnother,
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
