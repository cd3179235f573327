//! The link on which all calls depend, kept while the program neither waits nor asks.

use super::Calls;
use crate::inlets::Inlets;
use crate::slots::Callback;
use crate::watch::Watch;
use std::time::Duration;

/// How soon a link that was made again is looked at, until it is used as the one before was.
const SETTLING_PAUSE: Duration = Duration::from_millis(5);

/// How it is with the link on which all calls depend.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kept {
    /// It is there, or was given up for good; or others see to it, who wait.
    Still,
    /// It was made again, and what went over the one before may not go on over it so far: to be seen to again so soon.
    Settling(Duration),
    /// It is being made again: to be seen to again so soon.
    Missing(Duration),
}

impl Calls {
    /// Whether something is under way, or an answer uncollected, so that the link matters though nobody waits.
    #[must_use]
    pub fn is_owed(&self) -> bool {
        self.own().is_ok_and(|mut engine| engine.slots().has_open())
    }

    /// Whether the link is made again where it ends, as [`Calls::redial`] has it. Only then [`Calls::keep_linked`] does anything of use.
    #[must_use]
    pub fn is_redialled(&self) -> bool {
        self.own().is_ok_and(|engine| engine.is_redialled())
    }

    /// Whether an event loop sees to the links.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.watch.get().is_some()
    }

    /// Takes in what has come, as [`Calls::progress`], and makes the link again if it has ended, a step at a time, for as long as that takes. Never waits. For a thread that keeps
    /// a program's link while the program computes: a server waits for its clients for so long only. Who wants to be called is called by the next thread of the program that calls, and not by this one.
    pub fn keep_linked(&self) -> Kept {
        if self.is_inherited() {
            return Kept::Still;
        }
        let Some(mut inlets) = self.inlets() else { return Kept::Still };
        inlets.attend();
        inlets.try_again(self.clock.now());
        let due = self.turn(&mut inlets);
        let kept = self.how_kept(&inlets);
        self.leave_to_program(due);
        self.leave(inlets, Vec::new());
        kept
    }

    /// Has whoever calls next, or the event loop, call these.
    fn leave_to_program(&self, due: Vec<Callback>) {
        if due.is_empty() {
            return;
        }
        self.lock().slots().put_back(due);
        self.watch.get().into_iter().for_each(Watch::ring);
    }

    fn how_kept(&self, inlets: &Inlets) -> Kept {
        let engine = self.lock();
        match inlets.next_look(self.clock.now()) {
            Some(soon) if engine.lacks_link() => Kept::Missing(soon),
            _ if engine.is_to_go_on() => Kept::Settling(SETTLING_PAUSE),
            _ => Kept::Still,
        }
    }
}
