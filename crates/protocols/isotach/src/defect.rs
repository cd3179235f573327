//! Mistakes that can be had on purpose, in tests that show that they are found. Without the feature `seeded-defects` none of this is compiled.

/// A defect that can be chosen.
#[cfg(feature = "seeded-defects")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Defect {
    /// Every seventh token between switches is not sent.
    TokenLost,
    /// Every seventh token between switches is sent twice.
    TokenDoubled,
    /// Nodes take frames of another view than theirs.
    StaleView,
    /// The last receiver of an isochron executes it a pulse later than the others.
    IsochronSplit,
    /// A pulse is drained one pulse before it has ended.
    DrainedEarly,
    /// Every seventh marker is not sent.
    MarkerLost,
    /// Purely local isochrons run at once, whatever is pending.
    RunsAhead,
    /// Reads do not wait for the value of a reserved place.
    ReadsBefore,
    /// Nodes tell a token manager of two parts where one has come: that, and the next of its sender.
    CreditDoubled,
    /// The coordinator of a next view tells the others a prefix without its last isochron.
    EntryLeftOut,
    /// The coordinator begins a next view when it holds what the present one executes, whether others do or not.
    BegunBeforeHeld,
    /// Those who are few begin a next view.
    MinorityBegins,
    /// A token manager stamps what is behind an isochron that its only receiver may lack.
    StampedAhead,
    /// A token manager that leaves a view tells nobody what it knows of it.
    FarewellLeftOut,
    /// A token manager that leaves a view tells what it knows of it to the nodes of its own switch alone.
    FarewellAtHome,
    /// Who is asked for what a view began with tells what there is by then.
    StateOfLater,
    /// A node that has joined executes what comes, whether it has the state before it or not.
    StateNotAwaited,
    /// A token manager tells what it told nodes in a farewell only if there was no room for it.
    FarewellForgetsTold,
    /// What the token manager of a member tells its own node in a farewell is lost between the two.
    FarewellLostInside,
    /// A member does not give up who refuses connections.
    RefusalForgotten,
    /// The token manager of a member does not begin the views that follow the first.
    PulseNotKept,
    /// Members agree on a view where one of them accepts it.
    OneDecides,
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
