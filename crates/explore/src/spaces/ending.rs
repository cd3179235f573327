//! How a run ends, and what must hold then.

use super::asking::{cancel, frame_in, space_of};
use super::expiring::Expiring;
use super::ledger::{ANSWERED_ONCE, Asked, Ledger, Waits, What, node_of};
use super::templates::{NAMED, of_nobody, template};
use super::watching::Stage;
use super::{Node, Placement, REMEMBERED, Spaces};
use crate::system::{Broken, Verdict, View};
use quintet_contract::{NodeId, OwnedFrame, Span, Token};
use quintet_linearizability::{
    Act, Event, Fault, MAX_STATES, Order, Partition, Pattern, Purpose, Space, check_within,
};
use quintet_tuple_space::{Request, SpaceNumber, Wait};
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
const ONE_STATE: &str = "replicas that were given the same are in one state";

/// What comes one after the other in the end.
const PASSING: u32 = 0;
const COUNTING: u32 = 1;
const GIVING_UP: u32 = 2;
const GIVING_BACK: u32 = 3;
const EMPTYING: u32 = 4;
const READING: u32 = 5;

/// Longer than it takes to give back what somebody has.
const A_WHILE: Span = Span::from_millis(200);

/// Events of a page of what has happened.
const PAGE: u32 = 64;

impl Spaces {
    /// What is asked next, in the end.
    pub(super) fn end(&self, ledger: &mut Ledger) -> Result<Vec<(NodeId, OwnedFrame)>, Broken> {
        loop {
            if let Some(asked) = ledger.unanswered() {
                return Err(Broken::new(ANSWERED_ONCE, format!("{asked:?} has no answer")));
            }
            let asked = match ledger.phase {
                PASSING => ledger.pass(self.comes_back()),
                COUNTING => self.count_what_is_waited_for(ledger),
                GIVING_UP => match ledger.forgotten() {
                    // A search that takes several turns is passed by what is asked behind it: counted is what is there when nothing is under way.
                    Some(_) if !ledger.was_patient => {
                        ledger.was_patient = true;
                        ledger.phase = PASSING;
                        continue;
                    }
                    Some(broken) => return Err(broken),
                    None => ledger.give_up(),
                },
                GIVING_BACK => ledger.give_back(),
                EMPTYING => ledger.empty(self.comes_back()),
                READING => ledger.read(self.comes_back()),
                _ => return Ok(Vec::new()),
            };
            if asked.is_empty() || ledger.phase != READING {
                ledger.phase += 1;
            }
            if !asked.is_empty() {
                return Ok(asked);
            }
        }
    }

    /// Whoever waits asks how many there are of what it waits for: behind that in the order of its requests.
    fn count_what_is_waited_for(&self, ledger: &mut Ledger) -> Vec<(NodeId, OwnedFrame)> {
        ledger.know();
        let waiting: Vec<(NodeId, Vec<Pattern>)> =
            ledger.waiting().map(|asked| (asked.node, patterns(&asked.what).to_vec())).collect();
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
    pub(super) fn judge(&self, view: &View<'_, Node>, ledger: &Ledger) -> Result<Verdict, Broken> {
        check_state(view)?;
        if ledger.anybody(self.comes_back()).is_none() {
            // Whose first link ended before the space knew it does not go on. If there is nobody else, nobody has seen what is left.
            return Ok(Verdict::Holds);
        }
        account(&ledger.history, &ledger.expiring)?;
        ledger.expiring.judge(&ledger.history)?;
        ledger.watching.judge(&ledger.history)?;
        let is_one = self.placement != Placement::Managers;
        let order = if is_one { Order::OfAll } else { Order::OfPartitions };
        // What is counted at several managers is counted at no one instant, and what was read there may have moved meanwhile: its group is refused though it is
        // there.
        let is_vague = |act: &Act| matches!(act, Act::Count(..) | Act::Commit { happened: false, .. });
        let is_told = |event: &&Event<Act>| is_one || !is_vague(&event.act);
        let told = ledger.history.iter().filter(is_told).cloned();
        let mut history: Vec<Event<Act>> =
            if is_one { told.collect() } else { told.flat_map(one_by_one).collect() };
        let gone = ledger.history.iter().flat_map(removed).copied().collect();
        history.extend(ledger.expiring.events(&ledger.history, &gone));
        judge_order(order, &history, (MOST_STATES, MAX_STATES))
    }
}

/// Whether there is an order, as far as that is seen within so many states, and then within so many for less.
fn judge_order(order: Order, history: &[Event<Act>], most: (usize, usize)) -> Result<Verdict, Broken> {
    match has_order(order, history, most) {
        Ok(()) => Ok(Verdict::Holds),
        Err(fault @ Fault::Undecided(_)) => Ok(Verdict::Open(format!("{ONE_SPACE}: {fault}"))),
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

/// What a group at several managers gives back it gives back at no one instant.
fn one_by_one(event: Event<Act>) -> Vec<Event<Act>> {
    match &event.act {
        Act::Return(leased) => {
            leased.iter().map(|number| Event { act: Act::Return(vec![*number]), ..event.clone() }).collect()
        }
        _ => vec![event],
    }
}

/// Whether there is an order. Where a search of all orders takes too long, that of each partition for itself must be possible at least: many fewer states
/// differ in nothing but the rest.
fn has_order(order: Order, history: &[Event<Act>], (of_all, of_each): (usize, usize)) -> Result<(), Fault> {
    match check_within(&Space { order }, history, of_all) {
        Err(Fault::Undecided(_)) => check_within(&Space { order: Order::OfPartitions }, history, of_each),
        decided => decided,
    }
}

fn patterns(what: &What) -> &[Pattern] {
    match what {
        What::Act(Act::Query { of, .. }) => of,
        What::Act(Act::Replace { of, .. }) => core::slice::from_ref(of),
        _ => &[],
    }
}

fn in_words(event: &Event<Act>) -> String {
    format!("client {}: {:?}", event.client, event.act)
}

impl Ledger {
    /// One request more of a client, in the end.
    fn ask(&mut self, node: NodeId, act: Act, request: &Request<'_>) -> (NodeId, OwnedFrame) {
        self.asks((node, Waits::No), What::Act(act), request)
    }

    fn asks(&mut self, by: (NodeId, Waits), what: What, request: &Request<'_>) -> (NodeId, OwnedFrame) {
        self.asks_in(SpaceNumber::UNNAMED, by, what, request)
    }

    fn asks_in(
        &mut self,
        space: SpaceNumber,
        (node, waits): (NodeId, Waits),
        what: What,
        request: &Request<'_>,
    ) -> (NodeId, OwnedFrame) {
        self.last_token = self.last_token.max(FIRST_TOKEN) + 1;
        let token = Token(self.last_token);
        let settled = self.asked(Asked { node, token, what, waits, held: None });
        (node, frame_in(space, request, token, settled))
    }

    /// How far the run is.
    pub(super) fn stage(&self) -> Stage {
        match self.phase {
            PASSING => Stage::Working,
            1..=EMPTYING => Stage::Ending,
            _ => Stage::Reading,
        }
    }

    /// Somebody waits for what nobody puts, until all know who is gone.
    fn pass(&mut self, comes_back: bool) -> Vec<(NodeId, OwnedFrame)> {
        let is_needed = self.was_patient || !self.until_known.is_empty() || self.expiring.is_awaited();
        let Some(node) = self.anybody(comes_back).filter(|_| is_needed) else { return Vec::new() };
        let wait = Wait::For(Span(REMEMBERED.0 + Span::from_millis(300).0));
        vec![self.asks((node, Waits::No), What::Pass, &Request::Read { wait, template: &of_nobody() })]
    }

    /// Somebody reads all that has happened, if anybody watched.
    fn read(&mut self, comes_back: bool) -> Vec<(NodeId, OwnedFrame)> {
        let Some((node, watch)) = self.anybody(comes_back).zip(self.watching.unread()) else {
            return Vec::new();
        };
        let (wait, since, template) = (Wait::AtOnce, watch.since, watch.of.map(template));
        let request = Request::Watch { since, most: PAGE, wait, template: template.as_ref() };
        vec![self.asks((node, Waits::No), What::Watch(watch), &request)]
    }

    /// Who waits for what is there, as was counted last.
    fn forgotten(&self) -> Option<Broken> {
        let counted = |node: NodeId, of: &Pattern| {
            let of_this = |event: &&Event<Act>| {
                node_of(event.client) == node && matches!(&event.act, Act::Count(other, _) if other == of)
            };
            self.history.iter().rev().find(of_this).map(|event| &event.act)
        };
        self.waiting().find_map(|asked| {
            let counts = patterns(&asked.what).iter().map(|of| counted(asked.node, of));
            let count = counts
                .filter_map(|act| if let Some(Act::Count(_, count @ 1..)) = act { Some(count) } else { None })
                .next()?;
            Some(Broken::new(NOBODY_FORGOTTEN, format!("{asked:?} waits, and there are {count}")))
        })
    }

    /// Everybody who waits gives up.
    fn give_up(&mut self) -> Vec<(NodeId, OwnedFrame)> {
        let waiting: Vec<NodeId> = self.waiting().map(|asked| asked.node).collect();
        let given_up = waiting.into_iter().filter_map(|node| {
            let (token, settled) = self.first_waiting(node)?;
            Some((node, cancel(token, settled)))
        });
        given_up.collect()
    }

    /// Everybody gives back what it has. Nobody is given of that whose time has come, though he waits for it.
    fn give_back(&mut self) -> Vec<(NodeId, OwnedFrame)> {
        let mut asked = self.wait_for_expired();
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

    /// Who has what has expired waits for it for a while.
    fn wait_for_expired(&mut self) -> Vec<(NodeId, OwnedFrame)> {
        let puts = self.history.iter().flat_map(|event| event.act.puts());
        let places: BTreeMap<u32, Partition> =
            puts.map(|(partition, number)| (*number, *partition)).collect();
        let expired = self.held().filter(|(_, number)| self.expiring.may_have(*number));
        let waits: Vec<_> =
            expired.filter_map(|(node, number)| Some((node, number, *places.get(&number)?))).collect();
        let asked = waits.into_iter().map(|(node, number, place)| {
            let of = Pattern { least: number, most: number, ..Pattern::keyed(place) };
            let act = Act::Query { of: vec![of], purpose: Purpose::Read, found: None };
            let request = Request::Read { wait: Wait::For(A_WHILE), template: &template(of) };
            self.asks((node, Waits::ForAWhile), What::Act(act), &request)
        });
        asked.collect()
    }

    /// Somebody takes all that there can be, and finds that there is no more.
    fn empty(&mut self, comes_back: bool) -> Vec<(NodeId, OwnedFrame)> {
        let Some(node) = self.anybody(comes_back) else { return Vec::new() };
        let mut asked = Vec::new();
        for signature in 0..if self.has_named { 2 * NAMED } else { NAMED } {
            // Also in the other space: it may have come from there.
            let is_like = |of: u8| of % NAMED == signature % NAMED;
            let puts = self.history.iter().flat_map(|event| happened(&event.act));
            let most = puts.filter(|((of, _), _)| is_like(*of)).count() + 1;
            let removed = |number: &u32| self.history.iter().any(|event| removed(event).contains(number));
            let gone = self.history.iter().flat_map(|event| happened(&event.act));
            let gone = gone.filter(|((of, _), number)| is_like(*of) && removed(number)).count();
            for _ in gone..most {
                let of = Pattern::of(signature);
                let (wait, template) = (Wait::AtOnce, &template(of));
                let act = Act::Query { of: vec![of], purpose: Purpose::Take, found: None };
                let take = Request::Take { wait, lease: None, template };
                asked.push(self.asks_in(space_of(signature), (node, Waits::No), What::Act(act), &take));
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

/// What was removed, as its client was told.
fn removed(event: &Event<Act>) -> &[u32] {
    match &event.act {
        _ if event.answered.is_none() => &[],
        Act::Query { purpose: Purpose::Take, found, .. } | Act::Replace { found, .. } => found.as_slice(),
        Act::Commit { leased, happened: true, .. } => leased,
        Act::Collect { takes: true, found, .. } => found,
        _ => &[],
    }
}

/// Whether every tuple that was put was removed once, in the end at the latest, unless it has expired: found before an order of everything is looked for, and better to understand.
fn account(history: &[Event<Act>], expiring: &Expiring) -> Result<(), Broken> {
    let mut times: BTreeMap<u32, u32> = BTreeMap::new();
    for (_, number) in history.iter().flat_map(|event| happened(&event.act)) {
        times.insert(*number, 0);
    }
    for event in history {
        for number in removed(event) {
            let Some(times) = times.get_mut(number) else {
                return Err(Broken::new(NOTHING_INVENTED, format!("{number}: {}", in_words(event))));
            };
            *times += 1;
            if *times > 1 {
                return Err(Broken::new(NOTHING_TWICE, format!("tuple {number}: {}", in_words(event))));
            }
        }
    }
    // A client that was gone before it was told may have taken one for each request, and may not have put what it wanted to.
    let is_untold = |event: &&Event<Act>| matches!(event.act, Act::Untold { purpose: Purpose::Take, .. });
    let (mut untold, acknowledged) =
        (history.iter().filter(is_untold), history.iter().filter(|event| event.answered.is_some()));
    let may_be_done = |number: &u32| {
        let own =
            |event: &Event<Act>| matches!(&event.act, Act::Commit { leased, .. } if leased.contains(number));
        history.iter().any(|event| event.answered.is_none() && own(event))
    };
    let must_be = acknowledged.flat_map(|event| happened(&event.act)).map(|(_, number)| number);
    let must_be = must_be.filter(|number| !may_be_done(number) && !expiring.may_have(**number));
    let mut missing = must_be.filter(|number| times.get(number) == Some(&0));
    match missing.find(|_| untold.next().is_none()) {
        None => Ok(()),
        Some(number) => Err(Broken::new(NOTHING_LOST, format!("tuple {number} was never taken"))),
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

#[cfg(test)]
mod tests;
