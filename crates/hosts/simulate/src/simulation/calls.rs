//! Calls of the program that drives a run, among its other events: at a time, or when a [`Program`] of the run has something to tell.

use super::Simulation;
use super::events::Event;
use crate::picos::Picos;
use crate::program::{Command, Program, Received, order};
use quintet_contract::Address;

impl Simulation {
    /// Has [`take_call`](Simulation::take_call) give `number` after the step that comes to `at`, or to the present if that is later.
    /// Among the events of one instant calls have their place by when they were scheduled, as all have.
    pub fn call_at(&mut self, at: Picos, number: u64) {
        self.schedule.add_with(at, || Event::Call(number));
    }

    /// The next call that is due: the number that was given with it. Calls are kept until they are taken.
    pub fn take_call(&mut self) -> Option<u64> {
        self.calls.pop_front()
    }

    /// Has the [`Program`] at `at` do something when its processor comes to it, after all that it was told before. When that is done,
    /// `done` is called. Nothing happens if there is no program.
    pub fn command(&mut self, at: Address, command: Command, done: u64) {
        if let Some(program) = self.get_mut::<Program>(at) {
            program.queue(command, done);
            self.inject(at, order());
        }
    }

    /// Takes the oldest message that the [`Program`] at `at` has received; none if there is none.
    pub fn take_received(&mut self, at: Address) -> Option<Received> {
        self.get_mut::<Program>(at)?.take_received()
    }

    pub(super) fn call(&mut self, number: u64) {
        self.digest.add_call(self.now, number);
        self.calls.push_back(number);
    }
}
