//! Programs that submit at random, and what they are told.

use super::state::State;
use quintet_contract::{Bytes, Frame, NodeId, Random, Token};
use quintet_isotach::codec::{
    AGREED, BEGUN, COMPLETED, Completed, DELIVERED, Delivered, ENDED, HALTED, INSTALLED, LEFT, NextMembers,
    NextView, PLAIN, PROGRAM_STATE, Plain, ProgramState, REFUSED, SENT, SUBMIT, TAKE_STATE,
};
use quintet_isotach::{Composer, Isonet, Operation, Place, Rank, Refusal, Topology, Variable, View};
use quintet_wire::{Decode, encode_to_vec};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Isochrons of each program.
const EACH: u64 = 12;
/// A program.
pub(crate) struct Program {
    pub(super) composer: Composer,
    pub(super) me: NodeId,
    pub(super) left: u64,
    pub(super) token: u64,
    /// Places that it has reserved.
    pub(super) reserved: BTreeSet<Variable>,
    /// What it has submitted and not heard of, with what is reserved before and behind it.
    pub(crate) open: BTreeMap<Token, (Vec<Operation>, BTreeSet<Variable>)>,
    /// The first that was refused as its view ended: what was before it is so again.
    pub(super) refused: Option<Token>,
    pub(super) is_of_minority: bool,
    /// What completed, where, and who had a message of it.
    pub(super) completed: Vec<(Rank, Place, NodeId)>,
    pub(crate) plain: u64,
    /// What was agreed on, and said by nobody so far to a token manager of this process.
    pub(crate) agreed: Vec<(View, String)>,
    pub(crate) ended: Option<Refusal>,
    pub(crate) has_left: bool,
    /// All that it has submitted and that was not refused, where nodes agree on views by themselves.
    pub(super) kept: Option<BTreeMap<Token, Vec<Operation>>>,
    pub(super) last_delivered: Option<Place>,
    /// What it did before it was asked for its state, or got one.
    pub(crate) state: State,
}

/// Under which token a program says what the next view is.
pub(super) fn next_view_token(view: View) -> Token {
    Token(u64::MAX - u64::from(view.0))
}

impl Program {
    pub(crate) fn new(isonet: Arc<Isonet>, me: NodeId) -> Program {
        let (reserved, open) = (BTreeSet::new(), BTreeMap::new());
        let composer = Composer::new(isonet, me);
        Program {
            composer,
            me,
            left: EACH,
            token: 0,
            reserved,
            open,
            refused: None,
            is_of_minority: false,
            completed: Vec::new(),
            plain: 0,
            agreed: Vec::new(),
            ended: None,
            has_left: false,
            kept: None,
            last_delivered: None,
            state: State::default(),
        }
    }

    /// It may submit: also to give values for what it has reserved.
    pub(super) fn is_able(&self) -> bool {
        let goes_on = self.refused.is_none() && self.ended.is_none();
        goes_on && (self.left > 0 || !self.reserved.is_empty())
    }

    /// Its node agrees on views with the others.
    pub(crate) fn agrees(&mut self) {
        self.kept = Some(BTreeMap::new());
    }

    fn begin_view(&mut self, isonet: Arc<Isonet>) {
        self.composer = Composer::new(isonet, self.me);
        self.left += EACH / 2;
    }

    pub(super) fn act(
        &mut self,
        isonet: &Isonet,
        random: &mut Random,
    ) -> (quintet_contract::Kind, Token, Vec<u8>) {
        self.token += 1;
        self.left = self.left.saturating_sub(1);
        let nodes: Vec<NodeId> = isonet.topology().nodes().collect();
        let any =
            |random: &mut Random| nodes[usize::try_from(random.below(nodes.len() as u64)).expect("few")];
        if random.chance(80_000) && self.left > 0 && !self.state.is_outside() {
            self.plain += 1;
            let plain = Plain { node: any(random), handler: 1, bytes: b"plain" };
            return (PLAIN, Token(self.token), encode_to_vec(&plain));
        }
        let (mut operations, before) = (Vec::new(), self.reserved.clone());
        let variables: Vec<_> = isonet.variables().map(|(variable, shape)| (variable, shape.bytes)).collect();
        for _ in 0..=random.below(4) {
            let variable = variables.get(usize::try_from(random.below(variables.len() as u64)).expect("few"));
            let value = |bytes: usize, random: &mut Random| {
                Bytes::from((0..bytes).map(|_| random.bits().to_le_bytes()[0]).collect::<Vec<u8>>())
            };
            operations.push(match (random.below(8), variable) {
                (0..=2, _) | (_, None) => {
                    Operation::Send { to: any(random), handler: 7, bytes: Bytes::from_static(b"to all") }
                }
                (3..=4, Some((variable, _))) => Operation::Read(*variable),
                (5, Some((variable, _))) if self.left > 0 && self.reserved.insert(*variable) => {
                    Operation::Sched(*variable)
                }
                (_, Some((variable, bytes))) => Operation::Write(*variable, value(*bytes, random)),
            });
        }
        // What was reserved gets its value sooner or later; at the end, of all.
        let gives = self.left == 0 || random.chance(300_000);
        let known: BTreeMap<Variable, usize> = variables.into_iter().collect();
        let reserved = core::mem::take(&mut self.reserved);
        for variable in reserved {
            match known.get(&variable) {
                Some(bytes) if gives => {
                    let value = Bytes::from(vec![random.bits().to_le_bytes()[0]; *bytes]);
                    operations.push(Operation::Assign(variable, value));
                }
                Some(_) => _ = self.reserved.insert(variable),
                // Nobody has a copy any more.
                None => {}
            }
        }
        self.submit(operations, before)
    }

    fn submit(
        &mut self,
        operations: Vec<Operation>,
        before: BTreeSet<Variable>,
    ) -> (quintet_contract::Kind, Token, Vec<u8>) {
        let mut body = Vec::from(u16::try_from(operations.len()).expect("few").to_le_bytes());
        operations.iter().for_each(|operation| body.extend(encode_to_vec(operation)));
        self.kept.iter_mut().for_each(|kept| _ = kept.insert(Token(self.token), operations.clone()));
        self.open.insert(Token(self.token), (operations, before));
        (SUBMIT, Token(self.token), body)
    }

    pub(super) fn hear(
        &mut self,
        frame: Frame<'_>,
        views: &mut BTreeMap<View, Arc<Isonet>>,
    ) -> Result<(), String> {
        let said = |error| format!("node {} told what cannot be read: {error}", self.me.0);
        match frame.kind {
            COMPLETED => {
                let completed = Completed::decode_all(frame.body).map_err(said)?;
                let (operations, _) = self.open.remove(&frame.token).ok_or("answered twice")?;
                for operation in &operations {
                    if let Operation::Send { to, .. } = operation {
                        self.completed.push((completed.rank, completed.place, *to));
                    }
                }
                let reads = operations.iter().filter(|one| matches!(one, Operation::Read(_))).count();
                (reads == completed.values.len()).then_some(()).ok_or("values of no read".to_owned())
            }
            REFUSED => match Refusal::decode_all(frame.body).map_err(said)? {
                Refusal::Misuse(text) if text.contains("has reserved no place") => {
                    self.forget_place(frame.token, &text, views)
                }
                // The variable had no copy in the view that the program went by, and was kept for one that it came back with.
                Refusal::Misuse(text)
                    if text.contains("has reserved a place") && self.has_lost_some(views) =>
                {
                    self.take_back(frame.token);
                    Ok(())
                }
                Refusal::Misuse(text) => Err(format!("node {} was refused: {text}", self.me.0)),
                Refusal::Busy => Err(format!("node {} was busy", self.me.0)),
                Refusal::Minority { .. } if self.kept.is_none() => {
                    self.is_of_minority = true;
                    Ok(())
                }
                _ => {
                    self.take_back(frame.token);
                    Ok(())
                }
            },
            DELIVERED => {
                let place = Delivered::decode_all(frame.body).map_err(said)?.place;
                let is_next = self.last_delivered.replace(place).is_none_or(|last| last <= place);
                self.state.delivered(place)?;
                is_next.then_some(()).ok_or(format!("node {} was told out of order", self.me.0))
            }
            SENT => self.plain.checked_sub(1).map(|plain| self.plain = plain).ok_or("sent twice".to_owned()),
            INSTALLED => {
                self.refused = None;
                let installed = views.iter().find(|(view, _)| next_view_token(**view) == frame.token);
                let (_, isonet) = installed.ok_or("a view begins that nobody asked for")?;
                self.begin_view(isonet.clone());
                Ok(())
            }
            AGREED => {
                let NextMembers { next: NextView { view, topology }, .. } =
                    NextMembers::decode_all(frame.body).map_err(said)?;
                let first = views.first_key_value().expect("there is one").1;
                let isonet = Arc::new(first.among(Topology::parse(topology).expect("it is a tree")));
                self.agreed.push((view, topology.to_owned()));
                let known = views.entry(view).or_insert_with(|| isonet.clone());
                (*known == isonet).then_some(()).ok_or(format!("two views {} are agreed on", view.0))
            }
            BEGUN => {
                let view = View(u32::from_le_bytes(frame.body.try_into().map_err(|_| "no view")?));
                self.state.begun(view)?;
                self.begin_view(views[&view].clone());
                Ok(())
            }
            ENDED => {
                let why = Refusal::decode_all(frame.body).map_err(said)?;
                self.ended.replace(why).is_none().then_some(()).ok_or("it ended twice".to_owned())
            }
            LEFT => {
                (!core::mem::replace(&mut self.has_left, true)).then_some(()).ok_or("left twice".to_owned())
            }
            TAKE_STATE => {
                let view = View(u32::from_le_bytes(frame.body.try_into().map_err(|_| "no view")?));
                self.state.take(view, self.me);
                Ok(())
            }
            PROGRAM_STATE => self.state.got(&ProgramState::decode_all(frame.body).map_err(said)?),
            PLAIN | HALTED => Ok(()),
            other => Err(format!("node {} was told kind {}", self.me.0, other.0)),
        }
    }

    fn has_lost_some(&self, views: &BTreeMap<View, Arc<Isonet>>) -> bool {
        self.kept.is_some() && views[&View(1)].variables().any(|(variable, _)| has_lost(views, variable))
    }

    /// A variable was lost with its last copy, and its places with it: it came back without.
    fn forget_place(
        &mut self,
        token: Token,
        said: &str,
        views: &BTreeMap<View, Arc<Isonet>>,
    ) -> Result<(), String> {
        let (Some((operations, _)), Some(kept)) = (self.open.get(&token), &mut self.kept) else {
            return Err("it reserved no place, and no variable comes back".to_owned());
        };
        let lost = operations.iter().find_map(|operation| match operation {
            Operation::Assign(variable, _) if said.contains(&format!("variable {}:", variable.0)) => {
                Some(*variable)
            }
            _ => None,
        });
        let Some(lost) = lost.filter(|variable| has_lost(views, *variable)) else {
            return Err(format!("a place that node {} had reserved is gone", self.me.0));
        };
        for (_, operations) in kept.range_mut(..token) {
            operations.retain(|operation| match operation {
                Operation::Sched(variable) | Operation::Assign(variable, _) => *variable != lost,
                _ => true,
            });
        }
        self.take_back(token);
        Ok(())
    }

    /// What was refused has reserved nothing, and given no value.
    fn take_back(&mut self, token: Token) {
        if let Some(kept) = &mut self.kept {
            if self.open.remove(&token).is_none() {
                self.plain -= 1;
                return;
            }
            kept.remove(&token);
            self.reserved.clear();
            for operation in kept.values().flatten() {
                match operation {
                    Operation::Sched(variable) => _ = self.reserved.insert(*variable),
                    Operation::Assign(variable, _) => _ = self.reserved.remove(variable),
                    _ => {}
                }
            }
            return;
        }
        match self.open.remove(&token) {
            Some((_, before)) if self.refused.is_none_or(|first| token < first) => {
                (self.reserved, self.refused) = (before, Some(token));
            }
            Some(_) => {}
            // A view was asked for, and then a later one.
            None if token.0 > u64::MAX / 2 => {}
            None => self.plain -= 1,
        }
    }
}

/// Whether some view has no copy of a variable at any node that has been there since some earlier one.
fn has_lost(views: &BTreeMap<View, Arc<Isonet>>, variable: Variable) -> bool {
    views.iter().any(|(view, later)| {
        let stays = |node: &NodeId, since: View| {
            views.range(since..=*view).all(|(_, isonet)| isonet.topology().switch_of(*node).is_some())
        };
        let is_lost = |since: View| {
            later.shape(variable).is_none_or(|shape| !shape.copies.iter().any(|node| stays(node, since)))
        };
        views.range(..*view).any(|(since, _)| is_lost(*since))
    })
}
