//! Defects built in on purpose.
//!
//! Each is a mistake that logs really have had. A test switches one on to show that the random schedules find it; without the feature
//! `seeded-defects` none of this is compiled.

/// A defect built in on purpose.
#[cfg(feature = "seeded-defects")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Defect {
    /// What the protocol sends goes at once, and not when its input is durable.
    AnsweredBeforeSync,
    /// A sync that failed counts as one that did not.
    FailedSyncBelieved,
    /// What comes while the log is written anew is not in it.
    LostWhileWrittenAnew,
    /// A damaged record is taken for the end of the log.
    DamageCutOff,
    /// Time begins anew with every life.
    ClockBeginsAnew,
    /// Who was connected when the process ended is not given up.
    HoldersKept,
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
