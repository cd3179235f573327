//! Defects built in on purpose: those of the agreement ([`quintet_raft`]).

#[cfg(feature = "seeded-defects")]
pub use quintet_raft::Defect;

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
