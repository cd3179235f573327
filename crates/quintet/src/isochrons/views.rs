//! The views of an isonet as one member sees them.

use super::host::Core;
use quintet_isotach::{Isonet, Topology, View};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A view of an isonet: which members are left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PresentView {
    /// Its number. The first is 1; some are left out.
    pub view: View,
    /// Its members, ascending.
    pub members: Vec<u16>,
}

impl PresentView {
    pub(super) fn of((view, isonet): &(View, Arc<Isonet>)) -> PresentView {
        PresentView { view: *view, members: isonet.topology().nodes().map(|node| node.0).collect() }
    }
}

/// The view of a member that is in none, and comes back.
pub(super) const OUTSIDE: View = View(0);

/// All views so far.
pub(super) struct Views {
    first: (View, Arc<Isonet>),
    state: Mutex<State>,
}

struct State {
    present: View,
    all: BTreeMap<View, Arc<Isonet>>,
}

impl Views {
    pub(super) fn new(present: View, isonet: Arc<Isonet>) -> Views {
        let first = (present, isonet);
        let state = State { present, all: BTreeMap::from([first.clone()]) };
        Views { first, state: Mutex::new(state) }
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
        (state.present, Arc::clone(&state.all[&state.present]))
    }

    pub(super) fn all(&self) -> BTreeMap<View, Arc<Isonet>> {
        self.state().all.clone()
    }
}

impl Core {
    /// A view was agreed on. Who comes back has copies of variables again, so that it is looked at what the isonet began with.
    pub(super) fn note_view(&self, view: View, topology: Topology) {
        let isonet = Arc::new(self.views.first().1.among(topology));
        self.views.state().all.insert(view, isonet);
    }

    /// A view has begun.
    pub(super) fn begin(&self, view: View) -> PresentView {
        let mut state = self.views.state();
        state.present = view;
        // What this member knew of the isonet while it was in none.
        state.all.remove(&OUTSIDE);
        drop(state);
        PresentView::of(&self.present())
    }
}
