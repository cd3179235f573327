//! Defects built in on purpose.
//!
//! Each is a mistake that a process between clients and a server invites. A test switches one on to show that the random schedules find it; without the
//! feature `seeded-defects` none of this is compiled.

/// A defect built in on purpose.
#[cfg(feature = "seeded-defects")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Defect {
    /// The server is not told that a client has gone: what that waits for and what it has leased stays its own.
    WithdrawalLost,
    /// A port is given anew while answers to who had it before are still on their way.
    PortReusedEarly,
    /// A frame that had to wait for room goes twice.
    RelayedTwice,
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
