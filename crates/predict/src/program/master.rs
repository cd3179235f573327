//! The master of a farm.

use super::{BEGIN, Caller, results};
use bytes::Bytes;
use quintet_contract::{Address, Input, Outbox, Protocol, Time};
use quintet_tuple_space::{Answer, Request, Template, Value, Wait, tuple};

/// Puts every task, each awaited, then takes as many results.
#[derive(Debug)]
pub(crate) struct Master {
    pub(crate) caller: Caller,
    data: Bytes,
    tasks: u64,
    put: u64,
    /// Results it has.
    pub(crate) taken: u64,
    results: Template,
    /// When it had the last result.
    pub(crate) finished: Option<Time>,
}

impl Master {
    pub(crate) fn new(service: Address, tasks: u64, task_bytes: usize) -> Master {
        let data = vec![0; task_bytes].into();
        let caller = Caller::new(service);
        Master { caller, data, tasks, put: 0, taken: 0, results: results(), finished: None }
    }

    /// Tasks put and results taken: as long as this grows, the job goes on.
    pub(crate) fn steps(&self) -> u64 {
        self.put + self.taken
    }

    /// The next request, if one is left.
    fn go_on(&mut self, now: Time, out: &mut dyn Outbox) {
        if self.put < self.tasks {
            let task = tuple!["task", self.put.cast_signed(), Value::Binary(self.data.clone())];
            self.put += 1;
            self.caller.ask(Request::Out { deadline: None, tuples: &[task], expiries: &[] }, out);
        } else if self.taken < self.tasks {
            let take = Request::Take { wait: Wait::Forever, lease: None, template: &self.results };
            self.caller.ask(take, out);
        } else {
            self.finished = Some(now);
        }
    }
}

impl Protocol for Master {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        let Input::Frame(_, frame) = input else { return };
        if frame.kind != BEGIN {
            match self.caller.read(&frame) {
                Some(Answer::Tuple(..)) => self.taken += 1,
                Some(Answer::Error(refusal)) => {
                    self.caller.failed = Some(refusal.text);
                    return;
                }
                Some(_) => {}
                None => return,
            }
        }
        self.go_on(now, out);
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}
