//! One more fault, right after an event that is given: what a schedule is struck by where each of its events has its turn.

use super::plan::{BREATH, Fault, Plan};
use super::{Faults, System};
use crate::plan::streams;
use quintet_contract::{NodeId, Span};
use quintet_simulate::{Chooser, Sequence};

/// Shorter than what anybody waits for, and longer.
const LASTING: [Span; 2] = [Span::from_millis(3), Span::from_millis(300)];

/// What befalls a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sort {
    Crash,
    Stop,
    Pause,
    Apart,
}

const SORTS: [Sort; 4] = [Sort::Crash, Sort::Stop, Sort::Pause, Sort::Apart];

impl Sort {
    fn is_allowed(self, faults: Faults) -> bool {
        match self {
            Sort::Crash => faults.crashes,
            Sort::Stop => faults.stops,
            Sort::Pause => faults.pauses,
            Sort::Apart => faults.cuts,
        }
    }
}

/// A fault of one node.
#[derive(Clone, Debug)]
pub(super) struct Strike {
    /// It comes when so many events have happened.
    pub(super) event: u64,
    pub(super) fault: Fault,
    pub(super) end: Fault,
    pub(super) lasting: Span,
    /// Who is down or still meanwhile; none: the network is divided.
    pub(super) whom: Option<NodeId>,
}

impl Strike {
    /// None unless it is given, and may befall this node: none is ever drawn. What is under way takes no longer than `patience`.
    pub(super) fn given(
        chooser: &mut Chooser,
        nodes: u16,
        patience: Span,
        allowed_of: &dyn Fn(NodeId) -> Faults,
    ) -> Option<Strike> {
        chooser.begin();
        let event = chooser.given(u64::MAX);
        let node = NodeId(1 + u16::try_from(chooser.given(nodes.into())).unwrap_or(0));
        let sort = SORTS[index(chooser, SORTS.len())];
        let lasting = Span(LASTING[index(chooser, LASTING.len())].0 + 2 * patience.0);
        if event == 0 || !sort.is_allowed(allowed_of(node)) {
            return None;
        }
        let notice = patience;
        let down = |remembers| (Fault::Down { node, notice, remembers }, Fault::Up { node, remembers });
        let (fault, end) = match sort {
            Sort::Crash => down(false),
            Sort::Stop => down(true),
            Sort::Pause => (Fault::Pause { node, span: lasting }, Fault::GoOn { node }),
            Sort::Apart => (Fault::Divide { apart: vec![node] }, Fault::Mend),
        };
        let whom = (sort != Sort::Apart).then_some(node);
        Some(Strike { event, fault, end, lasting, whom })
    }

    /// Whether it leaves the faults alone that were drawn, if it comes now, and not too many nodes are down meanwhile.
    pub(super) fn fits(&self, plan: &Plan, now: Span, most_down: u16) -> bool {
        let until = now.0 + self.lasting.0 + BREATH.0;
        let meanwhile =
            plan.struck.iter().filter(|other| other.from.0 <= until && now.0 <= other.until.0 + BREATH.0);
        let struck: Vec<Option<NodeId>> = meanwhile.map(|other| other.whom).collect();
        let down = struck.iter().flatten().count() + usize::from(self.whom.is_some());
        !struck.contains(&self.whom) && down <= usize::from(most_down)
    }
}

fn index(chooser: &mut Chooser, len: usize) -> usize {
    usize::try_from(chooser.given(len as u64)).unwrap_or(0)
}

/// The choices of every fault that a node of `system` may meet after an event.
pub(super) fn all_at(event: u64, nodes: u16, system: &impl System) -> Vec<Sequence> {
    let strike = |node: u16, sort: usize, lasting: usize| {
        let group = vec![event, u64::from(node) - 1, sort as u64, lasting as u64];
        Sequence::from([(streams::STEPS, vec![group])])
    };
    let sorts = |node: u16| {
        let allowed = system.faults_of(NodeId(node));
        (0..SORTS.len()).filter(move |sort| SORTS[*sort].is_allowed(allowed))
    };
    let each = (1..=nodes).flat_map(|node| sorts(node).map(move |sort| (node, sort)));
    each.flat_map(|(node, sort)| (0..LASTING.len()).map(move |lasting| strike(node, sort, lasting))).collect()
}
