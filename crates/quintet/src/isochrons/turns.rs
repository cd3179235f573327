//! Whose turn it is to give variables new values: a member has one reserved place of a variable at a time, so that its own updates of one variable follow each other.

use quintet_isotach::Variable;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is done once it is one's turn.
type Callback = Box<dyn FnOnce() + Send>;

/// Those who have their turn or wait for it, in one line a variable.
#[derive(Default)]
pub(super) struct Turns(Mutex<State>);

#[derive(Default)]
struct State {
    last: u64,
    /// By variable, the first to come first: who heads the lines of all its variables has its turn.
    lines: BTreeMap<Variable, VecDeque<u64>>,
    waiting: BTreeMap<u64, (Vec<Variable>, Callback)>,
    /// Whose turn has come, and who are not called so far.
    due: VecDeque<Callback>,
    /// Whether a thread calls those who are due: it looks again once it has.
    is_calling: bool,
}

impl State {
    /// Looks whether somebody's turn has come.
    fn look_at(&mut self, number: u64) {
        let heads = |variable: &Variable| self.lines[variable].front() == Some(&number);
        let is_due = self.waiting.get(&number).is_some_and(|(variables, _)| variables.iter().all(heads));
        if is_due && let Some((_, callback)) = self.waiting.remove(&number) {
            self.due.push_back(callback);
        }
    }
}

impl Turns {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls back once all of these variables are one's own, which they are until they are given up: now, or on the thread that gives them up.
    pub(super) fn take(&self, variables: &[Variable], callback: Callback) {
        let mut state = self.state();
        state.last += 1;
        let number = state.last;
        for variable in variables {
            state.lines.entry(*variable).or_default().push_back(number);
        }
        state.waiting.insert(number, (variables.to_vec(), callback));
        state.look_at(number);
        self.call_due(state);
    }

    /// They are one's own no more.
    pub(super) fn give_up(&self, variables: &[Variable]) {
        let mut state = self.state();
        let next = |variable| {
            let line = state.lines.get_mut(variable)?;
            line.pop_front();
            line.front().copied()
        };
        let next: Vec<u64> = variables.iter().filter_map(next).collect();
        next.into_iter().for_each(|number| state.look_at(number));
        self.call_due(state);
    }

    /// Without the lock: who is called may give up at once, and the next one is called behind it, not within it.
    fn call_due<'a>(&'a self, mut state: MutexGuard<'a, State>) {
        while !state.is_calling
            && let Some(callback) = state.due.pop_front()
        {
            state.is_calling = true;
            drop(state);
            callback();
            state = self.state();
            state.is_calling = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, mpsc};

    const X: Variable = Variable(1);
    const Y: Variable = Variable(2);
    const Z: Variable = Variable(3);

    #[test]
    fn who_comes_first_is_first_and_who_wants_other_variables_does_not_wait() {
        let (turns, (told, came)) = (Turns::default(), mpsc::channel());
        let wants = |name: &'static str, variables: &[Variable]| {
            let told = told.clone();
            turns.take(variables, Box::new(move || told.send(name).expect("it is heard")));
        };
        wants("x", &[X]);
        wants("xy", &[X, Y]);
        wants("y behind xy", &[Y]);
        wants("z", &[Z]);
        assert_eq!(came.try_iter().collect::<Vec<_>>(), ["x", "z"]);
        turns.give_up(&[X]);
        assert_eq!(came.try_iter().collect::<Vec<_>>(), ["xy"]);
        turns.give_up(&[X, Y]);
        assert_eq!(came.try_iter().collect::<Vec<_>>(), ["y behind xy"]);
    }

    #[test]
    fn many_who_give_up_at_once_are_called_one_behind_the_other_and_not_within() {
        let turns = Arc::new(Turns::default());
        turns.take(&[X], Box::new(|| {}));
        let (told, came) = mpsc::channel();
        for number in 0..100_000 {
            let (theirs, told) = (Arc::clone(&turns), told.clone());
            let gives_up = move || {
                told.send(number).expect("it is heard");
                theirs.give_up(&[X]);
            };
            turns.take(&[X], Box::new(gives_up));
        }
        turns.give_up(&[X]);
        assert!(came.try_iter().eq(0..100_000));
    }
}
