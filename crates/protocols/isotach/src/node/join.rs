//! A node that is in no view so far: a later process of a node of the isonet, on its way into one.
//!
//! The nodes of the view before have it hold the beginning of the next one as they hold it themselves, and wait for that. It has nothing to tell of the view before, and
//! executes nothing of it. What others say in a view that it does not know to have begun is kept.

use super::change::{Change, Held};
use super::{Broken, Node};
use crate::codec::{CUT, Cut, CutStep, PLAIN, SENT};
use crate::fence::Passage;
use crate::isonet::Isonet;
use crate::logical_time::{Rank, View};
use crate::members::Members;
use crate::snapshot::Snapshot;
use quintet_contract::{Address, Frame, NodeId, Token};
use quintet_wire::Decode;
use quintet_wire::registry::PORT_ISOTACH;
use std::sync::Arc;

/// What a node keeps of who is in which view as which process.
#[derive(Debug)]
pub(super) struct Joins {
    /// The topology and the copies of all variables, as the isonet began.
    pub(super) first: Arc<Isonet>,
    /// Who is in the present view.
    pub(super) members: Members,
    /// This node is in none so far.
    pub(super) outside: Option<Outside>,
    /// What it lacks of the state that its first view begins with.
    pub(super) missing: Option<super::transfer::Missing>,
    /// What views began with, for who joined with them.
    pub(super) snapshots: Vec<Snapshot>,
}

/// A node that is in no view.
#[derive(Default, Debug)]
pub(super) struct Outside {
    asked: Option<Asked>,
    has_reported: bool,
}

/// Who asks for what this node knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Asked {
    by: NodeId,
    /// The view that is to end.
    view: View,
    next: View,
}

impl Outside {
    /// Who has asked, for which view.
    pub(super) fn asked(&self) -> Option<(NodeId, View)> {
        self.asked.map(|asked| (asked.by, asked.next))
    }
}

impl Joins {
    pub(super) fn new(first: Arc<Isonet>, is_outside: bool) -> Joins {
        let members = Members::first(first.topology().clone());
        let outside = is_outside.then(Outside::default);
        Joins { first, members, outside, missing: None, snapshots: Vec::new() }
    }

    /// Whether the node has the state of its view, and can execute what that executes.
    pub(super) fn has_state(&self) -> bool {
        self.outside.is_none() && self.missing.is_none()
    }
}

/// Ranks of a process that joins a view: above those of the processes of its node that were in earlier views, so that who looks at what all did can tell them apart.
pub(super) fn first_rank(view: View) -> Rank {
    Rank(u64::from(view.0) << 32)
}

impl Node {
    /// A frame of another one, for a node that is in no view.
    pub(super) fn take_outside(&mut self, from: Address, frame: Frame<'_>) -> Result<(), Broken> {
        let passage = match frame.kind {
            CUT => return self.cut_outside(from, frame.body),
            // It answers what an earlier process asked.
            SENT => Passage::Not,
            PLAIN => self.fence.keep(from, frame),
            _ => self.fence.passage(from, frame),
        };
        if passage == Passage::Flood { Err(Broken) } else { Ok(()) }
    }

    fn cut_outside(&mut self, from: Address, body: &[u8]) -> Result<(), Broken> {
        let Cut { view, next, step } = Cut::decode_all(body).map_err(|_| Broken)?;
        if from.port != PORT_ISOTACH || from.node == self.config.me || !self.is_of_isonet(from.node) {
            return Err(Broken);
        }
        let Some(outside) = &mut self.joins.outside else { return Ok(()) };
        let asked = Asked { by: from.node, view, next };
        match step {
            // Who is behind may still ask for a view that is given up.
            CutStep::Gather if outside.asked.is_none_or(|earlier| earlier.next <= next) => {
                *outside = Outside { asked: Some(asked), has_reported: false };
                self.report_outside();
            }
            CutStep::Prefix { is_complete: true, .. }
                if outside.asked == Some(asked) && outside.has_reported =>
            {
                self.hold_outside(asked);
            }
            // What the view before executes is in the state that comes with the next one.
            _ => {}
        }
        Ok(())
    }

    /// Says that this node knows nothing of the view before, once it is asked, and knows of the next one.
    pub(super) fn report_outside(&mut self) {
        let (Some(outside), Some(change)) = (&mut self.joins.outside, &self.change) else { return };
        let Some(asked) = outside.asked.filter(|asked| asked.next == change.view && !outside.has_reported)
        else {
            return;
        };
        outside.has_reported = true;
        self.say_outside(asked, CutStep::Report { is_complete: true, known: Vec::new() });
    }

    fn hold_outside(&mut self, asked: Asked) {
        let Some(change) = self.change.as_ref().filter(|change| change.view == asked.next) else { return };
        if self.held.iter().all(|held| held.view != change.view) {
            self.held.push(Held { view: change.view, members: change.members.clone(), prefix: Vec::new() });
        }
        self.say_outside(asked, CutStep::Held);
    }

    fn say_outside(&mut self, Asked { by, view, next }: Asked, step: CutStep) {
        let body = Cut { view, next, step };
        self.outgoing.push(Address { node: by, port: PORT_ISOTACH }, CUT, Token(0), &body);
    }

    /// Whether the present view has a node of this number, or the isonet began with one.
    pub(super) fn is_of_isonet(&self, node: NodeId) -> bool {
        self.is_node(node) || self.joins.first.topology().switch_of(node).is_some()
    }

    /// Whether a node is not in the present view, and in one that may have begun elsewhere.
    pub(super) fn expects(&self, node: NodeId) -> bool {
        let of_change = self.change.iter().map(|change| &change.members);
        self.held.iter().map(|held| &held.members).chain(of_change).any(|members| members.has(node))
    }

    /// The way to a view from here.
    pub(super) fn way_to(&self, token: Token, view: View, members: Members) -> Change {
        if self.joins.outside.is_some() {
            return Change::of_newcomer(token, view, members);
        }
        Change::new(token, view, members, (self.fence.view, self.config.isonet.topology()))
    }
}
