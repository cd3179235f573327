//! What clients asked, and what they were answered.

use super::expiring::Expiring;
use super::templates::number_of;
use super::watching::{Watch, Watching};
use crate::system::Broken;
use quintet_contract::{Frame, NodeId, Token};
use quintet_durable::LogNews;
use quintet_errors::Code;
use quintet_linearizability::{Act, Event, Purpose};
use quintet_messaging::relay;
use quintet_replicated::codec::LEADER;
use quintet_tuple_space::{Answer, LeaseId, Tuple, Witness};
use quintet_wire::Decode;
use quintet_wire::registry::{CALLS_GO_ON, LOG_NEWS};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const CALLS_SUCCEED: &str = "calls go on whatever befalls the servers";
pub(super) const ANSWERED_ONCE: &str = "every request is answered, once, by what fits it";
const LOG_IS_WHOLE: &str = "a log is as it was left";

/// A request that was asked.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) node: NodeId,
    pub(super) token: Token,
    pub(super) what: What,
    pub(super) waits: Waits,
    /// What its client has with what it gets.
    pub(super) held: Option<Held>,
}

/// What is asked.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// Something of the space, which has its place in the order of all that is.
    Act(Act),
    /// What happened in it.
    Watch(Watch),
    /// That time passes: it waits for what nobody puts.
    Pass,
    /// That there is a named space.
    Create,
}

/// Whether a request waits until there is a match.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Waits {
    No,
    ForMatch,
    /// As long as it said.
    ForAWhile,
    /// Its client has given up.
    GivenUp,
}

/// What a client has with what a request gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Held {
    Lease,
    ForGroup,
}

/// A group that a client forms.
#[derive(Clone, Default, Debug)]
pub(super) struct Group {
    /// Its leases going up, and their tuples.
    pub(super) leased: Vec<(LeaseId, u32)>,
    pub(super) witnessed: Vec<(Witness, u32)>,
    /// Something that it has read is gone.
    pub(super) was_refused: bool,
}

/// What is known from outside. Its clock counts what was asked and answered.
#[derive(Default, Debug)]
pub struct Ledger {
    pub(super) clock: u64,
    last_number: u32,
    pub(super) open: BTreeMap<Token, (u64, Asked)>,
    pub(super) leases: Vec<(NodeId, u32, LeaseId)>,
    pub(super) groups: BTreeMap<NodeId, Group>,
    /// Those whose end is under way.
    pub(super) ending: BTreeMap<Token, Group>,
    /// There is a named space, as somebody was told.
    pub(super) has_named: bool,
    /// Clients that come back.
    pub(super) connected: BTreeSet<NodeId>,
    /// How many lives of a client are over.
    pub(super) lives: BTreeMap<NodeId, u32>,
    /// Events of the history that have happened when everybody knows which clients are gone.
    pub(super) until_known: Vec<usize>,
    pub(super) history: Vec<Event<Act>>,
    pub(super) watching: Watching,
    pub(super) expiring: Expiring,
    pub(super) phase: u32,
    /// Whether it was waited in the end whether somebody is only slow.
    pub(super) was_patient: bool,
    pub(super) last_token: u64,
}

impl Ledger {
    /// The number of one tuple more.
    pub(super) fn number(&mut self) -> u32 {
        self.last_number += 1;
        self.last_number
    }

    /// That of the tuple that was numbered last; 0: none was.
    pub(super) fn last_number(&self) -> u32 {
        self.last_number
    }

    /// Whether a client has less under way than it may, and, if that matters, comes back.
    pub(super) fn may_ask(&self, node: NodeId, at_once: usize, comes_back: bool) -> bool {
        let own = self.open.values().filter(|(_, asked)| asked.node == node).count();
        own < at_once && (!comes_back || self.connected.contains(&node))
    }

    /// A client that can be asked in the end; none: nothing was asked, or nobody is left who goes on.
    pub(super) fn anybody(&self, comes_back: bool) -> Option<NodeId> {
        let goes_on = |node: &NodeId| !comes_back || self.connected.contains(node);
        self.history
            .iter()
            .map(|event| node_of(event.client))
            .find(goes_on)
            .or_else(|| self.connected.first().copied())
    }

    /// The client at a node in its present life, as histories name it.
    pub(super) fn client(&self, node: NodeId) -> u32 {
        self.lives.get(&node).map_or(0, |lives| lives << 16) | u32::from(node.0)
    }

    /// Writes down a request. Up to which token its client has all answers.
    pub(super) fn asked(&mut self, asked: Asked) -> Token {
        self.clock += 1;
        let (node, token) = (asked.node, asked.token);
        self.open.insert(token, (self.clock, asked));
        self.settled(node).unwrap_or(token)
    }

    fn settled(&self, node: NodeId) -> Option<Token> {
        self.open.iter().find(|(_, (_, asked))| asked.node == node).map(|(token, _)| *token)
    }

    /// Its oldest lease that is of no group, which it is to end.
    pub(super) fn take_lease(&mut self, node: NodeId) -> Option<(u32, LeaseId)> {
        let at = self.leases.iter().position(|(whose, ..)| *whose == node)?;
        let (_, number, lease) = self.leases.remove(at);
        Some((number, lease))
    }

    /// Its group, which it is to end.
    pub(super) fn take_group(&mut self, node: NodeId) -> Option<Group> {
        self.groups.remove(&node)
    }

    /// A group whose end is under way, so that it is there again if that is refused.
    pub(super) fn keep_group(&mut self, token: Token, group: Group) {
        self.ending.insert(token, group);
    }

    /// The first request of a client that waits and that it has not given up: it gives it up. And up to which token it has all answers.
    pub(super) fn first_waiting(&mut self, node: NodeId) -> Option<(Token, Token)> {
        let settled = self.settled(node)?;
        let is_own = |asked: &Asked| asked.node == node && asked.waits == Waits::ForMatch;
        let (token, (_, asked)) = self.open.iter_mut().find(|(_, (_, asked))| is_own(asked))?;
        asked.waits = Waits::GivenUp;
        Some((*token, settled))
    }

    /// Those that wait for a match.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &Asked> {
        self.open.values().map(|(_, asked)| asked).filter(|asked| asked.waits == Waits::ForMatch)
    }

    /// The first that should be answered and is not.
    pub(super) fn unanswered(&self) -> Option<&Asked> {
        self.open.values().map(|(_, asked)| asked).find(|asked| asked.waits != Waits::ForMatch)
    }

    /// Whether nothing is under way, and somebody is there who goes on, where clients look for the space.
    pub(super) fn has_settled(&self, comes_back: bool) -> bool {
        let is_anybody_there = !comes_back || self.lives.is_empty() || !self.connected.is_empty();
        self.unanswered().is_none() && is_anybody_there
    }

    /// What clients have under leases, in groups as well.
    pub(super) fn held(&self) -> impl Iterator<Item = (NodeId, u32)> {
        let in_groups = |(node, group): (&NodeId, &Group)| {
            let node = *node;
            group.leased.iter().map(move |(_, number)| (node, *number)).collect::<Vec<_>>()
        };
        let leases = self.leases.iter().map(|(node, number, _)| (*node, *number));
        leases.chain(self.groups.iter().flat_map(in_groups))
    }

    /// Who has leases, or a group.
    pub(super) fn holder(&self) -> Option<NodeId> {
        let leases = self.leases.iter().map(|(node, ..)| *node);
        leases.chain(self.groups.keys().copied()).next()
    }

    pub(super) fn answered(&mut self, node: NodeId, answer: Frame<'_>) -> Result<(), Broken> {
        match answer.kind {
            CALLS_GO_ON => drop(self.connected.insert(node)),
            LOG_NEWS => return hear(answer),
            // Who leads, told to the host.
            LEADER => {}
            _ => return self.hear_answer(node, answer),
        }
        Ok(())
    }

    fn hear_answer(&mut self, node: NodeId, frame: Frame<'_>) -> Result<(), Broken> {
        if let Some(code) = relay::failure(frame.kind, frame.body) {
            return Err(Broken::new(CALLS_SUCCEED, format!("a call of node {} ended with {code:?}", node.0)));
        }
        let bad = |text: String| Broken::new(ANSWERED_ONCE, format!("node {}, {text}", node.0));
        let answer =
            Answer::decode(frame.kind, frame.body, frame.bulk).map_err(|error| bad(error.to_string()))?;
        let Some((asked_at, asked)) = self.open.remove(&frame.token) else {
            return Err(bad(format!("token {}, which nobody waits for: {answer:?}", frame.token.0)));
        };
        self.clock += 1;
        let act = match asked.what.clone() {
            What::Act(act) => act,
            What::Watch(watch) => {
                self.expiring.hear(&answer)?;
                let is_given_up = asked.waits == Waits::GivenUp;
                return self.watching.hear((node, self.clock), watch, answer, is_given_up, self.stage());
            }
            What::Pass => return Ok(()),
            What::Create => {
                self.has_named |= matches!(answer, Answer::Spaces(_));
                return Ok(());
            }
        };
        let what = format!("{act:?}");
        let Some(act) =
            self.outcome(asked, act, answer).map_err(|answer| bad(format!("{what}: {answer:?}")))?
        else {
            return Ok(());
        };
        let client = self.client(node);
        self.history.push(Event { client, act, asked: asked_at, answered: Some(self.clock) });
        Ok(())
    }

    /// What a request has come to; none: nothing has happened.
    ///
    /// # Errors
    /// The answer, if it is none to this request.
    fn outcome(&mut self, asked: Asked, mut act: Act, answer: Answer) -> Result<Option<Act>, Answer> {
        let Asked { node, token, waits, held, .. } = asked;
        let group = self.ending.remove(&token);
        match (&mut act, answer) {
            (Act::Query { .. } | Act::Replace { .. }, Answer::NoMatch) if waits == Waits::No => {}
            (Act::Query { found, purpose, .. }, Answer::Tuple(tuple, attempt)) => {
                *found = Some(number(&tuple)?);
                match (*purpose, attempt) {
                    (Purpose::Lease, Some(attempt)) => self.hold(node, held, attempt.lease, number(&tuple)?),
                    (Purpose::Take | Purpose::Read, None) => {}
                    (_, attempt) => return Err(Answer::Tuple(tuple, attempt)),
                }
            }
            (Act::Query { found, purpose: Purpose::Read, .. }, Answer::Witnessed(tuple, witness)) => {
                *found = Some(number(&tuple)?);
                self.groups.entry(node).or_default().witnessed.push((witness, number(&tuple)?));
            }
            (
                Act::Query { found, purpose: Purpose::Lease, .. },
                Answer::Selected(_, tuple, Some(attempt)),
            ) => {
                *found = Some(number(&tuple)?);
                self.hold(node, held, attempt.lease, number(&tuple)?);
            }
            (Act::Query { found, .. }, Answer::Selected(_, tuple, None))
            | (Act::Replace { found, .. }, Answer::Tuple(tuple, None)) => *found = Some(number(&tuple)?),
            (Act::Collect { found, is_all, .. }, Answer::Collected(page)) => {
                *found = page.tuples.iter().map(number).collect::<Result<_, _>>()?;
                *is_all = page.next.is_none();
            }
            // It had no effect. Whether there was one when it came nobody says: the search for it may not have ended.
            (Act::Query { .. } | Act::Replace { .. }, Answer::Error(refusal))
                if refusal.code == Code::TimedOut && waits == Waits::ForAWhile =>
            {
                return Ok(None);
            }
            (Act::Out(_) | Act::Return(_) | Act::Commit { .. }, Answer::Done) => {}
            (Act::Commit { happened, .. }, Answer::Error(refusal)) if refusal.code == Code::Conflict => {
                *happened = false;
                self.refuse(node, group);
            }
            (Act::Count(_, count), Answer::Count(counted)) => *count = counted,
            (Act::Move { count, .. }, Answer::Count(moved)) => *count = Some(moved),
            // An index is being built: it is to be asked again.
            (Act::Move { .. }, Answer::Collected(page)) if page.tuples.is_empty() => return Ok(None),
            (Act::Query { .. } | Act::Replace { .. }, Answer::Error(refusal))
                if refusal.code == Code::Cancelled && waits == Waits::GivenUp =>
            {
                return Ok(None);
            }
            (_, answer) => return Err(answer),
        }
        Ok(Some(act))
    }

    fn hold(&mut self, node: NodeId, held: Option<Held>, lease: LeaseId, number: u32) {
        if held == Some(Held::ForGroup) {
            let group = self.groups.entry(node).or_default();
            group.leased.push((lease, number));
            group.leased.sort_unstable();
        } else {
            self.leases.push((node, number, lease));
        }
    }

    /// A group of which nothing happened has what it had, and can only be given up.
    fn refuse(&mut self, node: NodeId, group: Option<Group>) {
        let Some(Group { leased, .. }) = group else { return };
        let meanwhile = self.groups.entry(node).or_default();
        meanwhile.leased.extend(leased);
        meanwhile.leased.sort_unstable();
        meanwhile.was_refused = true;
    }
}

/// # Errors
/// It is no tuple that a client has put.
fn number(tuple: &Tuple) -> Result<u32, Answer> {
    number_of(tuple).ok_or_else(|| Answer::Tuple(tuple.clone(), None))
}

/// At which node a client is, of those that histories name.
pub(super) fn node_of(client: u32) -> NodeId {
    NodeId(u16::try_from(client & 0xffff).expect("sixteen bits"))
}

fn hear(news: Frame<'_>) -> Result<(), Broken> {
    match LogNews::decode_all(news.body) {
        Ok(LogNews::Refused(text) | LogNews::Failed(text)) => Err(Broken::new(LOG_IS_WHOLE, text)),
        Ok(_) => Ok(()),
        Err(error) => Err(Broken::new(LOG_IS_WHOLE, error.to_string())),
    }
}
