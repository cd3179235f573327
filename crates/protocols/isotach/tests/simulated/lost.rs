//! What is lost with a token manager.

use quintet_contract::NodeId;
use quintet_isotach::{Operation, Place, Rank, Run, Variable, Violation, Witnessed, check};
use std::collections::BTreeMap;

/// Checks all but what is lost.
pub(crate) fn check_what_is_left(run: &mut Run) -> Result<(), Violation> {
    forget_places(run);
    let mut checked = check(run);
    while let Err(Violation::Read { node, rank, variable, .. }) = checked
        && forget_reads_of_gone(run, (node, rank), variable)
    {
        checked = check(run);
    }
    checked
}

/// A token manager alone knew the places of isochrons that nobody who is left was told of: the view may execute them elsewhere. This takes out of what those say who are
/// gone where they executed anything, and what completed there by itself, behind an isochron of the same sender that is at a later place now.
fn forget_places(run: &mut Run) {
    let places = places_at_those_who_are_left(run);
    for (sender, said) in run.said.iter_mut().filter(|(node, _)| run.gone.contains(*node)) {
        let is_overtaken = |place: &Place, rank: Rank| {
            let mut earlier = places.range((*sender, Rank(0))..(*sender, rank));
            !places.contains_key(&(*sender, rank)) && earlier.any(|(_, now)| now > place)
        };
        said.retain(|one| match one {
            Witnessed::Executed { .. } => false,
            Witnessed::Completed { place, rank, .. } => !is_overtaken(place, *rank),
            Witnessed::Submitted { .. } | Witnessed::Received { .. } | Witnessed::Lost { .. } => true,
        });
    }
}

/// An isochron read what only those knew who are gone: this takes its reads of a variable out. False if the copy that it read is with who is left, who knows what was written.
fn forget_reads_of_gone(run: &mut Run, (node, rank): (NodeId, Rank), variable: Variable) -> bool {
    let mut is_of_gone = false;
    for one in run.said.entry(node).or_default() {
        match one {
            Witnessed::Submitted { rank: of, operations, after } if *of == rank => {
                let copy = run.views[&after.stamp.view].copy_for(node, variable);
                is_of_gone = copy.is_some_and(|copy| run.gone.contains(&copy));
                operations.retain(|operation| !is_of_gone || *operation != Operation::Read(variable));
            }
            Witnessed::Completed { rank: of, reads, .. } if *of == rank => {
                reads.retain(|(read, _)| !is_of_gone || *read != variable);
            }
            _ => {}
        }
    }
    is_of_gone
}

fn places_at_those_who_are_left(run: &Run) -> BTreeMap<(NodeId, Rank), Place> {
    let of_left = run.said.iter().filter(|(node, _)| !run.gone.contains(*node));
    let executed = of_left.flat_map(|(_, said)| said).filter_map(|one| match one {
        Witnessed::Executed { place, sender, rank } => Some(((*sender, *rank), *place)),
        _ => None,
    });
    executed.collect()
}
