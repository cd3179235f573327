//! How much of a study rests on a parameter that was inferred.

use crate::cell::Role;
use crate::report::Count;

/// How much rests on a parameter: what the study would find if it were a tenth less or more, all others as they are.
#[derive(Clone, PartialEq, Debug)]
pub struct Sensitivity {
    /// Its name.
    pub name: &'static str,
    /// What it is counted in.
    pub unit: &'static str,
    /// Which printed values it follows from.
    pub source: &'static str,
    /// The value in use.
    pub value: f64,
    /// Of how many compared cells ours moves by more than a twentieth of their tolerance, either way.
    pub cells: usize,
    /// With a tenth less, and with a tenth more.
    pub off: [Off; 2],
}

/// What the study finds with a parameter that is off. Roles are in the order of [`Role::ALL`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Off {
    /// Compared cells that are within.
    pub within: [Count; Role::ALL.len()],
    /// Their mean distance from the printed values, in tolerances.
    pub error: [f64; Role::ALL.len()],
}
