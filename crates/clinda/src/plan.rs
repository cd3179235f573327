//! What the written C does otherwise than the program says, where nobody can tell.

use crate::diagnostic::Place;
use crate::fuse::fused;
use crate::hoist::{Hoist, early_reads, kept_reads};
use crate::program::Program;
use crate::unit::Unit;
use std::collections::{BTreeMap, BTreeSet};

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Optimisations {
    /// What is begun earlier than it is written.
    pub hoist: Hoist,
    /// Whether an `in` and the `out`s directly behind it are one request, where what they put is known before.
    pub fuses: bool,
}

/// What is done so in one file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Plan {
    /// Whether `out` does not wait.
    pub(crate) puts_ahead: bool,
    /// By the number of an operation: the reads that are begun before it, by theirs.
    pub(crate) before: BTreeMap<usize, Vec<usize>>,
    /// All of these reads.
    pub(crate) early: BTreeSet<usize>,
    /// By the number of an `in`: the `out`s that are part of its request.
    pub(crate) with: BTreeMap<usize, Vec<usize>>,
    /// All of these puts.
    pub(crate) fused: BTreeSet<usize>,
}

impl Plan {
    /// That of each file of a program.
    pub(crate) fn of(program: &Program, optimisations: Optimisations) -> Vec<Plan> {
        let reads_early = optimisations.hoist == Hoist::PutsAndReads;
        let kept = if reads_early { kept_reads(program) } else { BTreeSet::new() };
        program.units.iter().map(|unit| Plan::of_unit(unit, optimisations, &kept)).collect()
    }

    fn of_unit(unit: &Unit, optimisations: Optimisations, kept: &BTreeSet<Place>) -> Plan {
        let mut plan = Plan { puts_ahead: optimisations.hoist != Hoist::Nothing, ..Plan::default() };
        for (read, first) in early_reads(unit, kept) {
            plan.before.entry(first).or_default().push(read);
            plan.early.insert(read);
        }
        if optimisations.fuses {
            plan.with = fused(unit);
            plan.fused = plan.with.values().flatten().copied().collect();
        }
        plan
    }
}
