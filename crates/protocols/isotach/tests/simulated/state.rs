//! What a program gives as its state, and what one that joins gets.

use quintet_contract::NodeId;
use quintet_isotach::codec::ProgramState;
use quintet_isotach::{Place, View};
use std::collections::BTreeSet;

/// The state of a program: what it was told before, in a few bytes or in more than a frame takes.
#[derive(Default)]
pub(crate) struct State {
    delivered: BTreeSet<Place>,
    begun: Option<View>,
    /// It is a later process of its node.
    joins: bool,
    /// What it is to give.
    pub(crate) taken: Vec<(View, Vec<u8>)>,
    /// What it got, with the view.
    got: Option<(View, Vec<u8>)>,
    is_complete: bool,
}

impl State {
    pub(crate) fn of_newcomer() -> State {
        State { joins: true, ..State::default() }
    }

    /// Whether it has been in no view.
    pub(crate) fn is_outside(&self) -> bool {
        self.joins && self.begun.is_none()
    }

    pub(crate) fn delivered(&mut self, place: Place) -> Result<(), String> {
        self.delivered.insert(place);
        match &self.got {
            Some((view, _)) if !self.is_complete || place.stamp.view < *view => {
                Err(format!("something of view {} before the state of view {}", place.stamp.view.0, view.0))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn begun(&mut self, view: View) -> Result<(), String> {
        let is_right = match (&self.got, self.begun) {
            (Some((of, _)), None) => *of == view && self.is_complete,
            (None, None) => !self.joins,
            _ => true,
        };
        self.begun = Some(view);
        is_right.then_some(()).ok_or(format!("view {} began without its state", view.0))
    }

    /// The view that the program is in.
    pub(crate) fn view(&self) -> Option<View> {
        self.begun.or(Some(View(1)).filter(|_| !self.joins))
    }

    /// Whether it was in this view as an earlier process, or not at all.
    pub(crate) fn joined_after(&self, view: View) -> bool {
        self.joins && self.got.as_ref().is_none_or(|(of, _)| *of > view)
    }

    /// Takes the state as it is now.
    pub(crate) fn take(&mut self, view: View, me: NodeId) {
        let is_later = self.delivered.last().is_some_and(|last| last.stamp.view >= view);
        assert!(
            !is_later,
            "node {} executed something of view {} before it was asked for its state",
            me.0, view.0
        );
        let length = [0, 40, 90_000][self.delivered.len() % 3];
        let mut bytes = vec![me.0.to_le_bytes()[0]; length];
        bytes.extend(u64::try_from(self.delivered.len()).expect("few").to_le_bytes());
        self.taken.push((view, bytes));
    }

    pub(crate) fn got(&mut self, piece: &ProgramState<'_>) -> Result<(), String> {
        if self.is_complete || self.begun.is_some() || !self.delivered.is_empty() {
            return Err("a state comes twice, or late".to_owned());
        }
        let (view, bytes) = self.got.get_or_insert((piece.view, Vec::new()));
        bytes.extend_from_slice(piece.bytes);
        self.is_complete = piece.is_complete;
        (*view == piece.view).then_some(()).ok_or("states of two views".to_owned())
    }

    /// The view that it joined with, and what it got.
    pub(crate) fn joined_with(&self) -> Option<(View, &[u8])> {
        self.got.as_ref().filter(|_| self.is_complete).map(|(view, bytes)| (*view, &bytes[..]))
    }
}
