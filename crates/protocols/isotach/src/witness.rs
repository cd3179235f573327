//! What a node says that it did, and a checker of what all nodes say: by replaying it once, in the order of the stamps.

mod lives;
mod testimony;

use crate::codec::ReadValue;
use crate::isochron::Operation;
use crate::isonet::{Isonet, Variable};
use crate::logical_time::{Place, Rank, View};
use core::fmt;
use lives::Lives;
use quintet_contract::{Bytes, NodeId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
pub use testimony::Testimony;

/// What the reads of an isochron were of, and gave.
pub type Reads = Vec<(Variable, ReadValue)>;

/// One thing that a node did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Witnessed {
    /// Took an isochron of its program.
    Submitted {
        /// Its number.
        rank: Rank,
        /// What it does.
        operations: Vec<Operation>,
        /// Where the node was in the order.
        after: Place,
    },
    /// Took its part of another node's isochron, which it may execute later.
    Received {
        /// Whose isochron.
        sender: NodeId,
        /// Which of the sender's.
        rank: Rank,
        /// What the part does.
        operations: Vec<Operation>,
    },
    /// Executed its part of an isochron.
    Executed {
        /// Where.
        place: Place,
        /// Whose isochron.
        sender: NodeId,
        /// Which of the sender's.
        rank: Rank,
    },
    /// Learned that an isochron of its own is executed by nobody, as its view has ended.
    Lost {
        /// Its number.
        rank: Rank,
    },
    /// Learned that all receivers of an isochron of its own have executed it.
    Completed {
        /// Where.
        place: Place,
        /// Its number.
        rank: Rank,
        /// What its reads gave.
        reads: Reads,
    },
}

/// An operation that a node executed and that changes something for its program: a message to a handler here, or a value of a variable that has a copy here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Performed {
    /// Where.
    pub place: Place,
    /// Whose isochron it was in.
    pub sender: NodeId,
    /// A send, a write, or the value for a reserved place that nothing was written over since.
    pub operation: Operation,
}

/// What the nodes of one view did is not what isochrons promise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Violation {
    /// A node executed something at or before the place of what it had executed before.
    Order(NodeId, Place, Place),
    /// Two nodes executed parts of one isochron at different times.
    Torn(NodeId, Rank, Place, Place),
    /// A node has executed what it has no part of, or nobody submitted, or has not executed what it has a part of.
    Receivers(NodeId, Rank),
    /// An isochron never completed.
    Unfinished(NodeId, Rank),
    /// An isochron is not behind an earlier one of its sender.
    Fifo(NodeId, Rank),
    /// An isochron is not behind what its sender had executed when it was submitted.
    Causality(NodeId, Rank),
    /// An isochron that completed has not a value for each of its reads, of that variable.
    Reads(NodeId, Rank),
    /// A read gave something else than the last write before it.
    Read {
        /// Who read.
        node: NodeId,
        /// In which isochron.
        rank: Rank,
        /// What.
        variable: Variable,
        /// What it gave.
        given: ReadValue,
        /// What was written last.
        written: ReadValue,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Violation::Order(node, last, next) => {
                write!(f, "node {} executed {next:?} behind {last:?}", node.0)
            }
            Violation::Torn(node, rank, one, other) => {
                write!(f, "isochron {} of node {} was executed at {one:?} and at {other:?}", rank.0, node.0)
            }
            Violation::Receivers(node, rank) => {
                write!(f, "isochron {} of node {} was not executed by its receivers alone", rank.0, node.0)
            }
            Violation::Unfinished(node, rank) => {
                write!(f, "isochron {} of node {} never completed", rank.0, node.0)
            }
            Violation::Fifo(node, rank) => {
                write!(f, "isochron {} of node {} passed an earlier one", rank.0, node.0)
            }
            Violation::Causality(node, rank) => {
                write!(f, "isochron {} of node {} is before what its sender had seen", rank.0, node.0)
            }
            Violation::Reads(node, rank) => {
                write!(f, "isochron {} of node {} completed without the values of its reads", rank.0, node.0)
            }
            Violation::Read { node, rank, variable, given, written } => write!(
                f,
                "isochron {} of node {} read {given:?} from variable {}, not {written:?}",
                rank.0, node.0, variable.0
            ),
        }
    }
}

impl core::error::Error for Violation {}

/// An isochron, put together from what all said of it.
#[derive(Debug, Default)]
struct Whole {
    operations: Vec<Operation>,
    /// What its receivers have of it.
    parts: BTreeMap<NodeId, Vec<Operation>>,
    after: Option<Place>,
    place: Option<Place>,
    executed_by: BTreeSet<NodeId>,
    is_lost: bool,
    reads: Option<Reads>,
}

/// A run, as its nodes tell of it.
#[derive(Debug, Default)]
pub struct Run {
    /// What each node did, in its order.
    pub said: BTreeMap<NodeId, Vec<Witnessed>>,
    /// What all nodes of each view knew.
    pub views: BTreeMap<View, Arc<Isonet>>,
    /// Nodes that were there in an earlier view and are not in the last. What they did need not be told: of what they submitted then only that is known which others have parts of.
    /// Nor need that be told what earlier processes did of nodes that came back, as [`views`](Run::views) says.
    pub gone: BTreeSet<NodeId>,
    /// Nothing was under way when the run ended: what has not completed never will.
    pub has_ended: bool,
}

/// Checks what nodes did: one order for all, isochrons at one time, first in first out, causal, and variables that are sequentially consistent. In time
/// of n log n; no search.
///
/// # Errors
/// The first [`Violation`].
pub fn check(run: &Run) -> Result<(), Violation> {
    check_where(run, |_| true)
}

/// The same where nodes came back, and not all views have begun that were agreed on: with which of them nodes went on says which copies of variables were lost.
///
/// # Errors
/// The first [`Violation`].
pub fn check_where(run: &Run, has_begun: impl Fn(View) -> bool) -> Result<(), Violation> {
    let mut all = gather(&run.said)?;
    let lives = Lives::of(run, has_begun);
    let ended: BTreeSet<NodeId> = lives.ended_after(None).chain(run.gone.iter().copied()).collect();
    let untold = |sender: &NodeId, whole: &Whole| whole.after.is_none() && ended.contains(sender);
    for ((_, _), whole) in all.iter_mut().filter(|((sender, _), whole)| untold(sender, whole)) {
        whole.operations = merged(&whole.parts);
    }
    for ((sender, rank), whole) in &all {
        check_receivers((run, &lives), *sender, *rank, whole)?;
    }
    check_senders(&all)?;
    check_reads(&all)?;
    replay((run, &lives), &all)
}

type All = BTreeMap<(NodeId, Rank), Whole>;

fn gather(said: &BTreeMap<NodeId, Vec<Witnessed>>) -> Result<All, Violation> {
    let mut all = All::new();
    for (node, list) in said {
        let mut last = Place::start_of(View(0));
        for witnessed in list {
            match witnessed {
                Witnessed::Submitted { rank, operations, after } => {
                    let whole = all.entry((*node, *rank)).or_default();
                    (whole.operations, whole.after) = (operations.clone(), Some(*after));
                }
                Witnessed::Received { sender, rank, operations } => {
                    all.entry((*sender, *rank)).or_default().parts.insert(*node, operations.clone());
                }
                Witnessed::Executed { place, sender, rank } => {
                    if *place <= last {
                        return Err(Violation::Order(*node, last, *place));
                    }
                    last = *place;
                    let whole = all.entry((*sender, *rank)).or_default();
                    at_one_time(whole, *sender, *rank, *place)?;
                    whole.executed_by.insert(*node);
                }
                Witnessed::Lost { rank } => all.entry((*node, *rank)).or_default().is_lost = true,
                Witnessed::Completed { place, rank, reads } => {
                    let whole = all.entry((*node, *rank)).or_default();
                    at_one_time(whole, *node, *rank, *place)?;
                    whole.reads = Some(reads.clone());
                }
            }
        }
    }
    Ok(all)
}

/// What an isochron does to variables, of its parts: each is changed alike at all copies, so that one part says it.
fn merged(parts: &BTreeMap<NodeId, Vec<Operation>>) -> Vec<Operation> {
    let mut said_by: BTreeMap<Variable, NodeId> = BTreeMap::new();
    let mut merged = Vec::new();
    for (node, operations) in parts {
        for operation in operations {
            if let Operation::Write(variable, _) | Operation::Sched(variable) | Operation::Assign(variable, _) =
                operation
                && said_by.entry(*variable).or_insert(*node) == node
            {
                merged.push(operation.clone());
            }
        }
    }
    merged
}

fn at_one_time(whole: &mut Whole, sender: NodeId, rank: Rank, place: Place) -> Result<(), Violation> {
    match whole.place.replace(place) {
        Some(known) if known != place => Err(Violation::Torn(sender, rank, known, place)),
        _ => Ok(()),
    }
}

/// An isochron is executed by all its receivers that are there to the end, or by none of them.
fn check_receivers(
    (run, lives): (&Run, &Lives),
    sender: NodeId,
    rank: Rank,
    whole: &Whole,
) -> Result<(), Violation> {
    let violation = Violation::Receivers(sender, rank);
    let view = whole.after.or(whole.place).map(|place| place.stamp.view);
    let gone: BTreeSet<NodeId> = lives.ended_after(view).chain(run.gone.iter().copied()).collect();
    let is_untold = whole.after.is_none() && gone.contains(&sender);
    let isonet = whole.after.and_then(|after| run.views.get(&after.stamp.view));
    if isonet.is_none() && !is_untold {
        return Err(violation);
    }
    let receivers: BTreeSet<NodeId> = match isonet {
        Some(isonet) => isonet.receivers(sender, &whole.operations),
        None => whole.parts.keys().chain(gone.iter()).copied().collect(),
    };
    let (is_complete, is_gone) = (whole.reads.is_some(), gone.contains(&sender));
    let staying: BTreeSet<NodeId> = receivers.difference(&gone).copied().collect();
    let by_staying: BTreeSet<NodeId> = whole.executed_by.difference(&gone).copied().collect();
    let is_torn = run.has_ended && !by_staying.is_empty() && by_staying != staying;
    let is_half_done = is_complete && by_staying != staying || whole.is_lost && !by_staying.is_empty();
    if !whole.executed_by.is_subset(&receivers) || is_torn || is_half_done {
        return Err(violation);
    }
    // Of one whose view ended, who sent it hears that it was executed, and not always when.
    let has_ended = !gone.is_empty() || run.views.keys().next_back().copied() > view;
    let has_ended_with_view = has_ended && (whole.place.is_some() || staying.is_empty());
    let is_told = is_complete || whole.is_lost || is_gone || has_ended_with_view;
    if run.has_ended && !is_told { Err(Violation::Unfinished(sender, rank)) } else { Ok(()) }
}

fn check_senders(all: &All) -> Result<(), Violation> {
    let mut last: Option<(NodeId, Place)> = None;
    for ((sender, rank), whole) in all {
        let Some(place) = whole.place else { continue };
        if last.is_some_and(|(before, at)| before == *sender && place <= at) {
            return Err(Violation::Fifo(*sender, *rank));
        }
        if whole.after.is_some_and(|after| place <= after) {
            return Err(Violation::Causality(*sender, *rank));
        }
        last = Some((*sender, place));
    }
    Ok(())
}

/// What completed has a value for each of its reads, and no other.
fn check_reads(all: &All) -> Result<(), Violation> {
    for ((sender, rank), whole) in all {
        let asked = whole.operations.iter().filter_map(|operation| match operation {
            Operation::Read(variable) => Some(*variable),
            _ => None,
        });
        let is_each_there = |reads: &Reads| reads.iter().map(|(variable, _)| *variable).eq(asked);
        if !whole.reads.as_ref().is_none_or(is_each_there) {
            return Err(Violation::Reads(*sender, *rank));
        }
    }
    Ok(())
}

/// Does everything again on one memory, in the one order.
fn replay((run, lives): (&Run, &Lives), all: &All) -> Result<(), Violation> {
    let mut order: Vec<(Place, NodeId, Rank)> =
        all.iter().filter_map(|((sender, rank), whole)| Some((whole.place?, *sender, *rank))).collect();
    order.sort_unstable();
    let mut assigned = assignments(lives, all, &order);
    let mut memory: BTreeMap<Variable, (View, ReadValue)> = BTreeMap::new();
    for (place, sender, rank) in order {
        let (whole, view) = (&all[&(sender, rank)], place.stamp.view);
        let mut reads = whole.reads.iter().flatten();
        for operation in &whole.operations {
            match operation {
                Operation::Send { .. } | Operation::Assign(..) => {}
                Operation::Write(variable, value) => {
                    memory.insert(*variable, (view, ReadValue::Value(value.clone())));
                }
                Operation::Sched(variable) => {
                    let era = lives.era(sender, *variable, view);
                    let given = assigned.get_mut(&(sender, *variable, era)).and_then(Vec::pop);
                    memory.insert(*variable, (view, given.map_or(ReadValue::Aborted, ReadValue::Value)));
                }
                Operation::Read(variable) => {
                    let shape = run.views.values().find_map(|isonet| isonet.shape(*variable));
                    let bytes = shape.map_or(0, |shape| shape.bytes);
                    let zeros = || ReadValue::Value(Bytes::from(vec![0; bytes]));
                    let written = match memory.get(variable) {
                        last if lives.has_lost(*variable, last.map(|(view, _)| *view), view) => {
                            ReadValue::Lost
                        }
                        Some((_, written)) => written.clone(),
                        None => zeros(),
                    };
                    if let Some((_, given)) = reads.next()
                        && *given != written
                    {
                        let (variable, given) = (*variable, given.clone());
                        return Err(Violation::Read { node: sender, rank, variable, given, written });
                    }
                }
            }
        }
    }
    Ok(())
}

/// What a value for a reserved place is for: the node, the variable, and since when both were what they are.
type Reserving = (NodeId, Variable, (Option<View>, Option<View>));

/// The values that each node gave for its reserved places of each variable, the last one first.
fn assignments(lives: &Lives, all: &All, order: &[(Place, NodeId, Rank)]) -> BTreeMap<Reserving, Vec<Bytes>> {
    let mut assigned: BTreeMap<Reserving, Vec<Bytes>> = BTreeMap::new();
    for (place, sender, rank) in order.iter().rev() {
        for operation in all[&(*sender, *rank)].operations.iter().rev() {
            if let Operation::Assign(variable, value) = operation {
                let era = lives.era(*sender, *variable, place.stamp.view);
                assigned.entry((*sender, *variable, era)).or_default().push(value.clone());
            }
        }
    }
    assigned
}

#[cfg(test)]
mod tests;
