//! The state that a view begins with: kept by who has it, and asked for by who joins with the view, from one node at a time, a piece at a time.
//!
//! ```text
//!   newcomer ── WantsVariables, WantsProgram ──> eldest ──> Variables, Program ──> newcomer ── HasAll ──> all who had it
//! ```
//!
//! If that node is gone, another one that was in the view before is asked: all of them keep what the view began with until the newcomer has it. Until then the newcomer
//! executes nothing; it takes what others send it, as who is slow does.

use super::{Broken, Node};
use crate::codec::{
    BEGUN, Copied, CopyState, INSTALLED, PROGRAM_STATE, ProgramState, Refusal, TAKE_STATE, TRANSFER,
    Transfer, TransferStep,
};
use crate::defect::seeded;
use crate::fence::Passage;
use crate::frames::EMPTY;
use crate::isonet::Variable;
use crate::limits::MAX_PROGRAM_STATE_BYTES;
use crate::logical_time::View;
use crate::snapshot::{Gathered, Snapshot};
use quintet_contract::{Address, Frame, NodeId, Token};
use quintet_wire::Decode;
use quintet_wire::registry::PORT_ISOTACH;
use std::collections::BTreeSet;

/// What a node that has joined lacks.
#[derive(Debug)]
pub(super) struct Missing {
    /// Under which its program said what the view is, if it did, and has not asked for a later one since.
    pub(super) token: Option<Token>,
    /// Whom it has asked.
    source: Option<NodeId>,
    /// Who has nothing more for it.
    tried: BTreeSet<NodeId>,
    /// The view before: who was in it has the state.
    before: Option<View>,
    variables: BTreeSet<Variable>,
    program: Gathered,
}

impl Node {
    /// Keeps what the view begins with for who joins with it, and has the program do so.
    pub(super) fn keep_snapshot(&mut self, before: View) {
        let view = self.fence.view;
        let newcomers = self.joins.members.newcomers();
        self.joins.snapshots.retain_mut(|snapshot| snapshot.is_needed_in(newcomers));
        let joined = self.joins.members.joined_after(before);
        if joined.is_empty() {
            return;
        }
        let isonet = self.config.isonet.clone();
        let snapshot = Snapshot::new((view, before), isonet, self.memory.copied(), joined);
        self.joins.snapshots.push(snapshot);
        self.outgoing.tell(TAKE_STATE, Token(0), &view);
    }

    /// Begins to ask for the state of the view that this node joins with.
    pub(super) fn miss_state(&mut self) {
        let me = self.config.me;
        let mine = self.config.isonet.variables().filter(|(_, shape)| shape.copies.contains(&me));
        self.joins.missing = Some(Missing {
            token: None,
            source: None,
            tried: BTreeSet::new(),
            before: None,
            variables: mine.map(|(variable, _)| variable).collect(),
            program: Gathered::default(),
        });
        self.seek();
    }

    /// The program gives its state.
    pub(super) fn program_state(&mut self, frame: Frame<'_>) {
        let misuse = |problem: String| Refusal::Misuse(problem);
        let ProgramState { view, is_complete, bytes } = match ProgramState::decode_all(frame.body) {
            Ok(state) => state,
            Err(error) => return self.refuse(frame.token, &misuse(error.to_string())),
        };
        // Who wanted it may have it from another node, or be gone.
        let kept = self.joins.snapshots.iter_mut().find(|snapshot| snapshot.view == view);
        let Some(snapshot) = kept.filter(|snapshot| !snapshot.is_too_long()) else { return };
        let Some(said) = snapshot.give(bytes, is_complete) else {
            let problem = format!("the program's state for view {} was complete", view.0);
            return self.refuse(frame.token, &misuse(problem));
        };
        if snapshot.is_too_long() {
            let problem = format!("a program's state has {MAX_PROGRAM_STATE_BYTES} bytes at most");
            self.refuse(frame.token, &misuse(problem));
        }
        said.into_iter().for_each(|(node, step)| self.say_transfer(node, view, step));
    }

    /// Another node wants state, or tells some.
    pub(super) fn transfer(&mut self, from: Address, frame: Frame<'_>) -> Result<(), Broken> {
        let Transfer { view, step } = Transfer::decode_all(frame.body).map_err(|_| Broken)?;
        if from.port != PORT_ISOTACH || from.node == self.config.me || !self.is_of_isonet(from.node) {
            return Err(Broken);
        }
        match step {
            TransferStep::WantsVariables(_) | TransferStep::WantsProgram(_) | TransferStep::HasAll => {
                self.asked_for_state(from, frame, (view, step))
            }
            step if self.is_awaited(from.node, view) => self.take_state(from.node, step),
            // It was asked before another one was, and is late.
            _ => Ok(()),
        }
    }

    fn asked_for_state(
        &mut self,
        from: Address,
        frame: Frame<'_>,
        (view, step): (View, TransferStep),
    ) -> Result<(), Broken> {
        let node = from.node;
        let of_view =
            self.joins.snapshots.iter().position(|kept| kept.view == view && kept.is_wanted_by(node));
        if step == TransferStep::HasAll && of_view.is_some() {
            self.joins.snapshots.retain_mut(|kept| kept.view != view || kept.is_needed_without(node));
            return Ok(());
        }
        // Who is in no view has nothing, and is asked in place of an earlier process.
        let is_to_come = view > self.fence.view && self.ended.is_none() && self.joins.outside.is_none();
        if let Some(at) = of_view.filter(|_| seeded!(self.config, StateOfLater)) {
            self.joins.snapshots[at].renew(self.memory.copied());
        }
        let said = match (of_view.map(|at| &mut self.joins.snapshots[at]), step) {
            (Some(snapshot), TransferStep::WantsVariables(behind)) => Some(snapshot.variables(node, behind)),
            (Some(snapshot), TransferStep::WantsProgram(byte)) => {
                snapshot.program(node, usize::try_from(byte).unwrap_or(usize::MAX))
            }
            (_, TransferStep::HasAll) if !is_to_come => None,
            (None, _) if is_to_come => {
                return if self.fence.keep(from, frame) == Passage::Flood { Err(Broken) } else { Ok(()) };
            }
            _ => Some(TransferStep::Lacks),
        };
        said.into_iter().for_each(|step| self.say_transfer(node, view, step));
        Ok(())
    }

    fn is_awaited(&self, from: NodeId, view: View) -> bool {
        let source = self.joins.missing.as_ref().and_then(|missing| missing.source);
        source == Some(from) && view == self.fence.view
    }

    /// The node that was asked tells some of the state.
    fn take_state(&mut self, from: NodeId, step: TransferStep) -> Result<(), Broken> {
        match step {
            TransferStep::Variables { before, is_complete, copies } => {
                self.restore(before, &copies)?;
                let last = copies.last().map(|copied| copied.variable);
                match last.filter(|_| !is_complete) {
                    Some(last) => {
                        self.say_transfer(from, self.fence.view, TransferStep::WantsVariables(Some(last)))
                    }
                    // There was no room for one in an empty frame.
                    None if !is_complete => return Err(Broken),
                    None => self.want_program(from),
                }
            }
            TransferStep::Program { is_complete, bytes } => {
                let missing = self.joins.missing.as_mut().ok_or(Broken)?;
                if bytes.is_empty() && !is_complete || !missing.program.add(&bytes, is_complete) {
                    return Err(Broken);
                }
                self.want_program(from);
            }
            _ => self.give_up_source(from),
        }
        Ok(())
    }

    /// Copies of variables as they were.
    fn restore(&mut self, before: View, copies: &[Copied]) -> Result<(), Broken> {
        let fits = |copied: &Copied| {
            let shape = self.config.isonet.shape(copied.variable);
            let shape = shape.filter(|shape| shape.copies.contains(&self.config.me));
            let is_right = shape.is_some_and(|shape| match &copied.held {
                CopyState::Value(value) => value.len() == shape.bytes,
                CopyState::Reserved(by) => copied.reserved_by.contains(by),
                CopyState::Aborted | CopyState::Lost => true,
            });
            is_right && copied.reserved_by.iter().all(|node| self.joins.members.has(*node))
        };
        let is_right = before < self.fence.view && copies.iter().all(fits);
        let missing = self.joins.missing.as_mut().ok_or(Broken)?;
        if !is_right || *missing.before.get_or_insert(before) != before {
            return Err(Broken);
        }
        for copied in copies {
            if missing.variables.remove(&copied.variable) {
                self.memory.restore(copied.clone());
            }
        }
        Ok(())
    }

    /// Asks for what is next of the program's state, if it is not here, or else for what others have.
    fn want_program(&mut self, source: NodeId) {
        let Some(missing) = &mut self.joins.missing else { return };
        if missing.program.is_complete() {
            return self.give_up_source(source);
        }
        let from = u32::try_from(missing.program.len()).expect("there are MAX_PROGRAM_STATE_BYTES at most");
        self.say_transfer(source, self.fence.view, TransferStep::WantsProgram(from));
    }

    /// A node has nothing more for this one, or is gone.
    pub(super) fn give_up_source(&mut self, node: NodeId) {
        let Some(missing) = &mut self.joins.missing else { return };
        missing.tried.insert(node);
        if missing.source == Some(node) {
            missing.source = None;
            if !missing.program.is_complete() {
                // Another program may put the same into other bytes.
                missing.program = Gathered::default();
            }
            self.seek();
        }
    }

    /// Those who are not in the next view are not waited for.
    pub(super) fn give_up_sources_without_view(&mut self) {
        let source = self.joins.missing.as_ref().and_then(|missing| missing.source);
        let next = self.change.as_ref().map(|change| &change.members);
        if let (Some(source), Some(next)) = (source, next)
            && !next.has(source)
        {
            self.give_up_source(source);
        }
    }

    /// Asks the eldest who may have something of what is missing. Variables that nobody had who was in the view before are lost.
    fn seek(&mut self) {
        self.abort_what_nobody_has();
        let Some(missing) = &mut self.joins.missing else { return };
        let needs_program = !missing.program.is_complete();
        if missing.variables.is_empty() && !needs_program {
            return self.have_state();
        }
        let members = &self.joins.members;
        let unreachable = |node: NodeId| {
            let address = Address { node, port: PORT_ISOTACH };
            self.gone.contains(&address) || self.cut_off.contains(&address)
        };
        let has_copy = |node: NodeId| {
            let copies = |variable| {
                self.config.isonet.shape(variable).is_some_and(|shape| shape.copies.contains(&node))
            };
            missing.variables.iter().copied().any(copies)
        };
        let may_have = |node: &NodeId| {
            let was_there = missing.before.is_none_or(|before| members.since(*node) <= before);
            was_there && (needs_program || has_copy(*node))
        };
        let others = members.nodes().filter(|node| *node != self.config.me && !missing.tried.contains(node));
        missing.source = members.eldest(others.filter(|node| !unreachable(*node)).filter(may_have));
        match missing.source {
            Some(source) => self.say_transfer(source, self.fence.view, TransferStep::WantsVariables(None)),
            None => self.lack_state(),
        }
    }

    fn abort_what_nobody_has(&mut self) {
        let Some(missing) = &mut self.joins.missing else { return };
        let Some(before) = missing.before else { return };
        let members = &self.joins.members;
        let is_kept = |variable: &Variable| {
            let shape = self.config.isonet.shape(*variable);
            shape.is_some_and(|shape| shape.copies.iter().any(|node| members.since(*node) <= before))
        };
        let lost: Vec<Variable> =
            missing.variables.iter().copied().filter(|variable| !is_kept(variable)).collect();
        for variable in lost {
            missing.variables.remove(&variable);
            self.memory.restore(Copied { variable, held: CopyState::Lost, reserved_by: Vec::new() });
        }
    }

    /// All is here: the program gets its state, and the view begins.
    fn have_state(&mut self) {
        let Some(missing) = self.joins.missing.take() else { return };
        let view = self.fence.view;
        let mut from = 0;
        while let Some((is_complete, bytes)) = missing.program.piece(from) {
            from += bytes.len();
            let body = ProgramState { view, is_complete, bytes };
            self.outgoing.tell(PROGRAM_STATE, Token(0), &body);
            if is_complete {
                break;
            }
        }
        match self.agreement {
            Some(_) => self.outgoing.tell(BEGUN, Token(0), &view),
            None => {
                let token = missing.token.into_iter();
                token.for_each(|token| self.outgoing.tell(INSTALLED, token, &EMPTY));
            }
        }
        let others: Vec<NodeId> = self.joins.members.nodes().filter(|node| *node != self.config.me).collect();
        others.into_iter().for_each(|node| self.say_transfer(node, view, TransferStep::HasAll));
    }

    /// Nobody who has it is left.
    fn lack_state(&mut self) {
        let Some(missing) = self.joins.missing.take() else { return };
        let why = Refusal::LeftBehind(self.fence.view);
        if self.agreement.is_none() {
            let asked = self.change.take().map(|change| change.token);
            missing.token.into_iter().chain(asked).for_each(|token| self.refuse(token, &why));
            (self.held, self.is_agreed, self.ended) = (Vec::new(), false, Some(why));
            return;
        }
        self.end(why);
    }

    fn say_transfer(&mut self, to: NodeId, view: View, step: TransferStep) {
        let body = Transfer { view, step };
        self.outgoing.push(Address { node: to, port: PORT_ISOTACH }, TRANSFER, Token(0), &body);
    }
}
