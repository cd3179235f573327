//! A worker of a farm.

use super::{BEGIN, COMPUTED, Caller, TASK, tasks};
use bytes::Bytes;
use quintet_contract::{Address, Frame, Input, Outbox, Protocol, Span, Time, Token};
use quintet_tuple_space::{Answer, LeaseId, Request, Template, Tuple, Value, Wait, tuple};

/// Renewals in the time a lease lives, as the live program has them.
const RENEWALS: u64 = 3;

/// A task that was taken again after a worker's end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Redone {
    /// Its number, counted from 0.
    pub task: u64,
    /// The worker that took it again.
    pub worker: usize,
    /// Which attempt that was.
    pub attempt: u32,
}

/// Takes a task, has it computed, puts its result, for ever.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) caller: Caller,
    number: usize,
    computing: Address,
    tasks: Template,
    lease: Option<Span>,
    result: Bytes,
    /// The task that is computed, and its lease.
    held: Option<(i64, Option<LeaseId>)>,
    /// When the lease is renewed.
    renewal: Option<Time>,
    /// Tasks done.
    pub(crate) done: u64,
    /// Tasks that others had begun.
    pub(crate) redone: Vec<Redone>,
}

impl Worker {
    pub(crate) fn new(
        number: usize,
        service: Address,
        computing: Address,
        lease: Option<Span>,
        result_bytes: usize,
    ) -> Worker {
        Worker {
            caller: Caller::new(service),
            number,
            computing,
            tasks: tasks(),
            lease,
            result: vec![0; result_bytes].into(),
            held: None,
            renewal: None,
            done: 0,
            redone: Vec::new(),
        }
    }

    /// The number of the task it holds.
    pub(crate) fn task(&self) -> Option<u64> {
        self.held.map(|(task, _)| task.cast_unsigned())
    }

    fn take(&mut self, out: &mut dyn Outbox) {
        let take = Request::Take { wait: Wait::Forever, lease: self.lease, template: &self.tasks };
        self.caller.ask(take, out);
    }

    fn answer(&mut self, now: Time, frame: &Frame<'_>, out: &mut dyn Outbox) {
        match self.caller.read(frame) {
            Some(Answer::Tuple(task, attempt)) => {
                let Some(number) = number(&task) else { return };
                if let Some(attempt) = attempt.filter(|attempt| attempt.attempt > 1) {
                    let (task, attempt) = (number.cast_unsigned(), attempt.attempt);
                    self.redone.push(Redone { task, worker: self.number, attempt });
                }
                self.held = Some((number, attempt.map(|attempt| attempt.lease)));
                self.renewal = self.lease.map(|lease| now + Span(lease.0 / RENEWALS));
                // The link to its computing side holds more than the one frame that is ever under way.
                let _ = out.send(self.computing, TASK, Token(number.cast_unsigned()), &[]);
            }
            Some(Answer::Done) => {
                self.done += 1;
                self.take(out);
            }
            // Its lease ended before the result came: somebody else does the task.
            Some(_) => self.take(out),
            None => {}
        }
    }

    fn computed(&mut self, out: &mut dyn Outbox) {
        let Some((task, lease)) = self.held.take() else { return };
        self.renewal = None;
        let tuples = &[tuple!["result", task, Value::Binary(self.result.clone())]];
        let request = match lease {
            Some(lease) => Request::Ack { lease, deadline: None, tuples, expiries: &[] },
            None => Request::Out { deadline: None, tuples, expiries: &[] },
        };
        self.caller.ask(request, out);
    }
}

fn number(task: &Tuple) -> Option<i64> {
    match task.values() {
        [_, Value::I64(number), ..] => Some(*number),
        _ => None,
    }
}

impl Protocol for Worker {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Frame(_, Frame { kind: BEGIN, .. }) => self.take(out),
            Input::Frame(_, Frame { kind: COMPUTED, .. }) => self.computed(out),
            Input::Frame(_, frame) => self.answer(now, &frame, out),
            Input::Wake if self.renewal.is_some_and(|at| at <= now) => {
                self.renewal = self.lease.map(|lease| now + Span(lease.0 / RENEWALS));
                self.caller.renew(out);
            }
            _ => {}
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.renewal
    }
}
