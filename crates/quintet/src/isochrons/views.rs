//! The views of an isonet as one member sees them.

use super::error::{not_in_view, of_misuse, of_refusal, without_copy};
use super::host::Core;
use crate::Error;
use core::fmt;
use quintet_contract::NodeId;
use quintet_isotach::{Halt, HaltCause, Isonet, Misuse, Newcomers, Refusal, Topology, View};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A view of an isonet: which members are left, and what has become of the others of the view before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PresentView {
    /// Its number. The first is 1; some are left out.
    pub view: View,
    /// Its members, ascending.
    pub members: Vec<u16>,
    /// Members of the view before that are not in it, or not as the process that they were then, ascending.
    pub lost: Vec<Lost>,
    /// Those of its members that have come back with it, ascending.
    pub back: Vec<u16>,
}

/// A member that was lost to its isonet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lost {
    /// Which.
    pub member: u16,
    /// For what, as far as it is known here.
    pub cause: LossCause,
}

/// For what a member was lost.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum LossCause {
    /// Others miss it, and this member did not.
    MissedElsewhere,
    /// It has ended, or cannot be reached from here.
    Gone,
    /// It broke the protocol, and was cut off here.
    Misbehaved,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.cause {
            LossCause::MissedElsewhere => "which others miss",
            LossCause::Gone => "which has ended or cannot be reached",
            LossCause::Misbehaved => "which broke the protocol",
        };
        write!(f, "member {}, {what}", self.member)
    }
}

/// Its number, and what is new in it: `view 3 (without member 2, which broke the protocol)`.
impl fmt::Display for PresentView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lost = join(&self.lost, ", and ").map(|lost| format!("without {lost}"));
        let back = join(&self.back, ", ").map(|back| format!("with who has come back: {back}"));
        let news: Vec<String> = lost.into_iter().chain(back).collect();
        write!(f, "view {}", self.view.0)?;
        if news.is_empty() { Ok(()) } else { write!(f, " ({})", news.join("; ")) }
    }
}

/// None of nothing.
fn join(all: &[impl fmt::Display], between: &str) -> Option<String> {
    let texts: Vec<String> = all.iter().map(ToString::to_string).collect();
    (!texts.is_empty()).then(|| texts.join(between))
}

/// The view of a member that is in none, and comes back.
pub(super) const OUTSIDE: View = View(0);

/// All views so far.
pub(super) struct Views {
    first: (View, Arc<Isonet>),
    state: Mutex<State>,
}

struct State {
    present: PresentView,
    all: BTreeMap<View, Agreed>,
    /// Who is missed in the present view.
    missed: BTreeMap<u16, LossCause>,
}

/// A view that was agreed on.
struct Agreed {
    isonet: Arc<Isonet>,
    newcomers: Newcomers,
}

impl State {
    /// What that view is, or would be, behind the present one.
    fn look_at(&self, view: View) -> PresentView {
        let present = &self.present;
        let Some(agreed) = self.all.get(&view).filter(|_| view != present.view) else {
            return present.clone();
        };
        let members = members(&agreed.isonet);
        // Who comes back has seen none before.
        let before = if present.view == OUTSIDE { View(view.0 - 1) } else { present.view };
        let is_new =
            |member: &u16| agreed.newcomers.get(&NodeId(*member)).is_some_and(|joined| joined.view > before);
        let stays = |member: &u16| members.contains(member) && !is_new(member);
        let loss = |member: &u16| {
            let cause = self.missed.get(member).copied().unwrap_or(LossCause::MissedElsewhere);
            Lost { member: *member, cause }
        };
        let lost = match present.view {
            OUTSIDE => Vec::new(),
            _ => present.members.iter().filter(|member| !stays(member)).map(loss).collect(),
        };
        let back = members.iter().copied().filter(is_new).collect();
        PresentView { view, members, lost, back }
    }
}

/// One that nobody was lost to.
fn first(view: View, isonet: &Isonet) -> PresentView {
    PresentView { view, members: members(isonet), lost: Vec::new(), back: Vec::new() }
}

fn members(isonet: &Isonet) -> Vec<u16> {
    isonet.topology().nodes().map(|node| node.0).collect()
}

impl Views {
    pub(super) fn new(view: View, isonet: Arc<Isonet>) -> Views {
        let present = first(view, &isonet);
        let agreed = Agreed { isonet: Arc::clone(&isonet), newcomers: Newcomers::new() };
        let state = State { present, all: BTreeMap::from([(view, agreed)]), missed: BTreeMap::new() };
        Views { first: (view, isonet), state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As a forked child may find it.
    #[cfg(test)]
    pub(super) fn hold_for_ever(&self) {
        core::mem::forget(self.state());
    }

    /// The first one, which is known without the lock.
    pub(super) fn first(&self) -> (View, Arc<Isonet>) {
        self.first.clone()
    }

    pub(super) fn present(&self) -> (View, Arc<Isonet>) {
        let state = self.state();
        (state.present.view, Arc::clone(&state.all[&state.present.view].isonet))
    }

    pub(super) fn first_view(&self) -> PresentView {
        first(self.first.0, &self.first.1)
    }

    pub(super) fn present_view(&self) -> PresentView {
        self.state().present.clone()
    }

    /// A view that begins or has begun.
    pub(super) fn look_at(&self, view: View) -> PresentView {
        self.state().look_at(view)
    }

    pub(super) fn all(&self) -> BTreeMap<View, Arc<Isonet>> {
        self.state().all.iter().map(|(view, agreed)| (*view, Arc::clone(&agreed.isonet))).collect()
    }

    /// A member is missed in the present view.
    pub(super) fn miss(&self, halt: Halt) {
        let cause = match halt.cause {
            HaltCause::Gone => LossCause::Gone,
            HaltCause::Misbehaved => LossCause::Misbehaved,
        };
        self.state().missed.insert(halt.node.0, cause);
    }
}

impl Core {
    /// A view was agreed on. Who comes back has copies of variables again, so that it is looked at what the isonet began with.
    pub(super) fn note_view(&self, view: View, topology: Topology, newcomers: Newcomers) {
        let isonet = Arc::new(self.views.first().1.among(topology));
        self.views.state().all.insert(view, Agreed { isonet, newcomers });
    }

    /// A view has begun.
    pub(super) fn begin(&self, view: View) -> PresentView {
        let mut state = self.views.state();
        state.present = state.look_at(view);
        state.missed.clear();
        // What this member knew of the isonet while it was in none.
        state.all.remove(&OUTSIDE);
        state.present.clone()
    }

    /// Why a view has no room for an operation: what the isonet began with and has lost since is told from what never was.
    pub(super) fn misuse(&self, misuse: &Misuse) -> Error {
        let (_, first) = self.views.first();
        match misuse {
            Misuse::UnknownNode { node } if first.topology().switch_of(*node).is_some() => not_in_view(*node),
            Misuse::UnknownVariable { variable } if first.shape(*variable).is_some() => {
                without_copy(*variable)
            }
            _ => of_misuse(misuse),
        }
    }

    /// Why something is not executed, by whose doing where that is known.
    pub(super) fn refusal(&self, refusal: &Refusal) -> Error {
        of_refusal(refusal, &self.views)
    }
}
