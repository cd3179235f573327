//! Mistakes that can be had on purpose, in tests that show that they are found.

/// A defect that can be chosen.
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
}
