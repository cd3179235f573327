//! How a run ends, and what must hold then.

use super::asking::{cancel, frame, template};
use super::ledger::{ANSWERED_ONCE, Asked, Ledger, Waits};
use super::{Node, Placement, Spaces};
use crate::system::{Broken, View};
use quintet_contract::{NodeId, OwnedFrame, Token};
use quintet_linearizability::{Act, Event, Fault, Order, Pattern, Purpose, Space, check, check_within};
use quintet_tuple_space::{Request, Wait};
use std::collections::BTreeMap;

/// Tokens of what is asked in the end: above those of calls.
const FIRST_TOKEN: u64 = 1 << 40;

/// States that are looked at before it is asked for less.
const MOST_STATES: usize = 50_000;

const NOBODY_FORGOTTEN: &str = "nobody waits for what is there";
const NOTHING_INVENTED: &str = "nothing is given that nobody has put";
const NOTHING_TWICE: &str = "nothing is given twice";
const NOTHING_LOST: &str = "what was acknowledged is there until it is taken";
const ONE_SPACE: &str = "one space, which does one thing after the other, could have answered all";
const DECIDED: &str = "whether one space could have answered all is decided";
const ONE_STATE: &str = "replicas that were given the same are in one state";

/// What comes one after the other in the end.
const COUNTING: u32 = 0;
const GIVING_UP: u32 = 1;
const GIVING_BACK: u32 = 2;
const EMPTYING: u32 = 3;

impl Spaces {
    /// What is asked next, in the end.
    pub(super) fn end(&self, ledger: &mut Ledger) -> Result<Vec<(NodeId, OwnedFrame)>, Broken> {
        loop {
            if let Some(asked) = ledger.unanswered() {
                return Err(Broken::new(ANSWERED_ONCE, format!("{asked:?} has no answer")));
            }
            let asked = match ledger.phase {
                COUNTING => self.count_what_is_waited_for(ledger),
                GIVING_UP => ledger.give_up()?,
                GIVING_BACK => ledger.give_back(),
                EMPTYING => ledger.empty(),
                _ => return Ok(Vec::new()),
            };
            ledger.phase += 1;
            if !asked.is_empty() {
                return Ok(asked);
            }
        }
    }

    /// Whoever waits asks how many there are of what it waits for: behind that in the order of its requests.
    fn count_what_is_waited_for(&self, ledger: &mut Ledger) -> Vec<(NodeId, OwnedFrame)> {
        let waiting: Vec<(NodeId, Vec<Pattern>)> =
            ledger.waiting().map(|asked| (asked.node, patterns(&asked.act).to_vec())).collect();
        let counted = waiting.into_iter().flat_map(|(node, of)| of.into_iter().map(move |of| (node, of)));
        let counted: Vec<_> = counted.collect();
        counted
            .into_iter()
            .map(|(node, of)| {
                ledger.ask(node, Act::Count(of, 0), &Request::Count { template: &template(of) })
            })
            .collect()
    }

    /// What must hold when all is over.
    pub(super) fn judge(&self, view: &View<'_, Node>, ledger: &Ledger) -> Result<(), Broken> {
        check_state(view)?;
        account(&ledger.history)?;
        let is_one = self.placement != Placement::Managers;
        let order = if is_one { Order::OfAll } else { Order::OfPartitions };
        // What is counted at several managers is counted at no one instant, and what was read there may have moved meanwhile: its group is refused though it is
        // there.
        let is_vague = |act: &Act| matches!(act, Act::Count(..) | Act::Commit { happened: false, .. });
        let is_told = |event: &&Event<Act>| is_one || !is_vague(&event.act);
        let history: Vec<Event<Act>> = ledger.history.iter().filter(is_told).cloned().collect();
        match has_order(order, &history) {
            Ok(()) => Ok(()),
            Err(fault @ Fault::Undecided(_)) => Err(Broken::new(DECIDED, fault.to_string())),
            Err(Fault::NotLinearizable { ordered, stuck }) => {
                let stuck: Vec<String> = stuck.iter().map(|at| in_words(&history[*at])).collect();
                let found = format!(
                    "{ordered} of {} answers fit in some order, and none of these follows: {}",
                    history.len(),
                    stuck.join("; ")
                );
                Err(Broken::new(ONE_SPACE, found))
            }
        }
    }
}

/// Whether there is an order. Where a search of all orders takes too long, that of each partition for itself must be possible at least: many fewer states
/// differ in nothing but the rest.
fn has_order(order: Order, history: &[Event<Act>]) -> Result<(), Fault> {
    match check_within(&Space { order }, history, MOST_STATES) {
        Err(Fault::Undecided(_)) => check(&Space { order: Order::OfPartitions }, history),
        decided => decided,
    }
}

fn patterns(act: &Act) -> &[Pattern] {
    match act {
        Act::Query { of, .. } => of,
        Act::Replace { of, .. } => core::slice::from_ref(of),
        _ => &[],
    }
}

fn in_words(event: &Event<Act>) -> String {
    format!("client {}: {:?}", event.client, event.act)
}

impl Ledger {
    /// One request more of a client, in the end.
    fn ask(&mut self, node: NodeId, act: Act, request: &Request<'_>) -> (NodeId, OwnedFrame) {
        self.last_token = self.last_token.max(FIRST_TOKEN) + 1;
        let token = Token(self.last_token);
        let settled = self.asked(Asked { node, token, act, waits: Waits::No, held: None });
        (node, frame(request, token, settled))
    }

    /// Everybody who waits gives up, unless what it waits for is there.
    fn give_up(&mut self) -> Result<Vec<(NodeId, OwnedFrame)>, Broken> {
        let waiting: Vec<Asked> = self.waiting().cloned().collect();
        // What was counted last is what was asked last.
        let counted = |node: NodeId, of: &Pattern| {
            let of_this = |event: &&Event<Act>| {
                event.client == u32::from(node.0) && matches!(&event.act, Act::Count(other, _) if other == of)
            };
            self.history.iter().rev().find(of_this).map(|event| &event.act)
        };
        for asked in &waiting {
            for of in patterns(&asked.act) {
                if let Some(Act::Count(_, count @ 1..)) = counted(asked.node, of) {
                    return Err(Broken::new(
                        NOBODY_FORGOTTEN,
                        format!("{asked:?} waits, and there are {count}"),
                    ));
                }
            }
        }
        Ok(waiting
            .iter()
            .filter_map(|asked| {
                let (token, settled) = self.first_waiting(asked.node)?;
                Some((asked.node, cancel(token, settled)))
            })
            .collect())
    }

    /// Everybody gives back what it has.
    fn give_back(&mut self) -> Vec<(NodeId, OwnedFrame)> {
        let mut asked = Vec::new();
        while let Some(node) = self.holder() {
            while let Some((number, lease)) = self.take_lease(node) {
                asked.push(self.ask(node, Act::Return(vec![number]), &Request::Release { lease }));
            }
            if let Some(group) = self.take_group(node) {
                let leases: Vec<_> = group.leased.iter().map(|(lease, _)| *lease).collect();
                let numbers = group.leased.iter().map(|(_, number)| *number).collect();
                asked.push(self.ask(node, Act::Return(numbers), &Request::Abort { leases: &leases }));
            }
        }
        asked
    }

    /// Somebody takes all that there can be, and finds that there is no more.
    fn empty(&mut self) -> Vec<(NodeId, OwnedFrame)> {
        let Some(node) = self.anybody() else { return Vec::new() };
        let mut asked = Vec::new();
        for signature in [0, 1] {
            let puts = self.history.iter().flat_map(|event| happened(&event.act));
            let most = puts.filter(|((of, _), _)| *of == signature).count() + 1;
            let removed =
                |number: &u32| self.history.iter().any(|event| removed(&event.act).contains(number));
            let gone = self.history.iter().flat_map(|event| happened(&event.act));
            let gone = gone.filter(|((of, _), number)| *of == signature && removed(number)).count();
            for _ in gone..most {
                let of = Pattern::of(signature);
                let (wait, template) = (Wait::AtOnce, &template(of));
                let act = Act::Query { of: vec![of], purpose: Purpose::Take, found: None };
                asked.push(self.ask(node, act, &Request::Take { wait, lease: None, template }));
            }
        }
        asked
    }
}

/// What was put.
fn happened(act: &Act) -> &[((u8, i64), u32)] {
    match act {
        Act::Replace { found: None, .. } | Act::Commit { happened: false, .. } => &[],
        act => act.puts(),
    }
}

/// What was removed.
fn removed(act: &Act) -> &[u32] {
    match act {
        Act::Query { purpose: Purpose::Take, found, .. } | Act::Replace { found, .. } => found.as_slice(),
        Act::Commit { leased, happened: true, .. } => leased,
        _ => &[],
    }
}

/// Whether every tuple that was put was removed once, in the end at the latest: found before an order of everything is looked for, and better to understand.
fn account(history: &[Event<Act>]) -> Result<(), Broken> {
    let mut times: BTreeMap<u32, u32> = BTreeMap::new();
    for number in history.iter().flat_map(|event| happened(&event.act)).map(|(_, number)| *number) {
        times.insert(number, 0);
    }
    for event in history {
        for number in removed(&event.act) {
            let Some(times) = times.get_mut(number) else {
                return Err(Broken::new(NOTHING_INVENTED, format!("{number}: {}", in_words(event))));
            };
            *times += 1;
            if *times > 1 {
                return Err(Broken::new(NOTHING_TWICE, format!("tuple {number}: {}", in_words(event))));
            }
        }
    }
    match times.iter().find(|(_, times)| **times == 0) {
        None => Ok(()),
        Some((number, _)) => Err(Broken::new(NOTHING_LOST, format!("tuple {number} was never taken"))),
    }
}

fn check_state(view: &View<'_, Node>) -> Result<(), Broken> {
    let mut digests: BTreeMap<u64, (NodeId, u64)> = BTreeMap::new();
    for (node, (index, digest)) in view.nodes().filter_map(|(node, at)| Some((node, at.digest()?))) {
        let (other, first) = *digests.entry(index).or_insert((node, digest));
        if first != digest {
            let found = format!("nodes {} and {} differ at index {index}", other.0, node.0);
            return Err(Broken::new(ONE_STATE, found));
        }
    }
    Ok(())
}
