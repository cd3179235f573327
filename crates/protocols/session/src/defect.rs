//! Defects built in on purpose.
//!
//! Each is a mistake that sessions which outlive their links really have. A test switches one on to show that the explorer finds it;
//! without the feature `seeded-defects` none of this is compiled.

/// A defect built in on purpose, in sessions that keep frames for the next link.
#[cfg(feature = "seeded-defects")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Defect {
    /// What the earlier link was given is not sent again over the next one.
    NotRewound,
    /// The last frame that came over the earlier link is asked for, and delivered, once more.
    DeliveredAgain,
    /// An acknowledgement releases one frame more than it covers.
    OneTooManyReleased,
    /// A resumed session does not tell what has arrived.
    ArrivedNotTold,
    /// A session is given up when half of its time to resume has passed.
    GivenUpEarly,
    /// A session whose peer never comes back is never given up.
    NeverGivenUp,
    /// The peer's tries are counted from this side's own.
    TriesCountedTogether,
}

/// Whether this defect is switched on. Always false without the feature.
macro_rules! seeded {
    ($config:expr, $defect:ident) => {{
        #[cfg(feature = "seeded-defects")]
        let on = $config.defect == Some($crate::defect::Defect::$defect);
        #[cfg(not(feature = "seeded-defects"))]
        let on = {
            let _ = &$config;
            false
        };
        on
    }};
}
pub(crate) use seeded;
