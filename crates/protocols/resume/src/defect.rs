//! Defects built in on purpose.
//!
//! Each is a mistake that systems whose clients come back really have had. A test switches one on to show that the random schedules find it; without
//! the feature `seeded-defects` none of this is compiled.

/// A defect built in on purpose.
#[cfg(feature = "seeded-defects")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Defect {
    /// What a client was answered is forgotten with its link: a request that is sent again is done again.
    AnswersForgotten,
    /// A request that is sent again while it waits is done again.
    AppliedTwice,
    /// What a client says it has is kept on.
    NeverReleased,
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
