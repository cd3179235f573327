//! Pairs of a put and a take, as `quintet bench space` measures them.

use super::{BEGIN, Caller};
use bytes::Bytes;
use quintet_contract::{Address, Input, Outbox, Protocol, Span, Time, Token};
use quintet_tuple_space::{Request, Template, Tuple, Value, Wait, template, tuple};

/// What pairs are made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PairPlan {
    /// Bytes of a tuple's data.
    pub bytes: usize,
    /// Pairs under way at once; 0: the put is awaited before the take.
    pub depth: u64,
    /// How long nothing is asked before each group.
    pub pause: Span,
    /// Groups: of `depth` pairs, or of one.
    pub groups: u64,
}

/// Asks for groups of pairs, and notes how long each took.
#[derive(Debug)]
pub(crate) struct Pairs {
    pub(crate) caller: Caller,
    plan: PairPlan,
    tuple: Tuple,
    template: Template,
    begun: Time,
    /// When the next group begins.
    next: Option<Time>,
    /// The first request of this group.
    first: Token,
    awaited: u64,
    puts_first: bool,
    pub(crate) taken: Vec<Span>,
}

impl Pairs {
    pub(crate) fn new(service: Address, plan: PairPlan) -> Pairs {
        let data: Bytes = vec![7; plan.bytes].into();
        Pairs {
            caller: Caller::new(service),
            tuple: tuple!["pair", Value::Binary(data)],
            template: template!["pair", ?[u8]],
            plan,
            begun: Time::ZERO,
            next: None,
            first: Token(0),
            awaited: 0,
            puts_first: false,
            taken: Vec::new(),
        }
    }

    /// Whether all groups were asked for and answered.
    pub(crate) fn is_done(&self) -> bool {
        self.taken.len() as u64 >= self.plan.groups
    }

    fn put(&mut self, out: &mut dyn Outbox) -> Token {
        let tuples = std::slice::from_ref(&self.tuple);
        let settled = self.first;
        self.awaited += 1;
        self.caller.ask_while(Request::Out { deadline: None, tuples, expiries: &[] }, settled, out)
    }

    fn take(&mut self, out: &mut dyn Outbox) {
        let take = Request::Take { wait: Wait::Forever, lease: None, template: &self.template };
        self.awaited += 1;
        self.caller.ask_while(take, self.first, out);
    }

    fn begin(&mut self, now: Time, out: &mut dyn Outbox) {
        (self.begun, self.next) = (now, None);
        self.puts_first = self.plan.depth == 0;
        // What came before was received.
        self.first = Token(self.caller.next);
        self.put(out);
        if self.plan.depth > 0 {
            self.take(out);
            for _ in 1..self.plan.depth {
                self.put(out);
                self.take(out);
            }
        }
    }

    fn answered(&mut self, now: Time, out: &mut dyn Outbox) {
        self.awaited = self.awaited.saturating_sub(1);
        if self.awaited > 0 {
            return;
        }
        if std::mem::take(&mut self.puts_first) {
            return self.take(out);
        }
        self.taken.push(now.since(self.begun));
        if self.is_done() {
            return;
        }
        match self.plan.pause {
            Span::ZERO => self.begin(now, out),
            pause => self.next = Some(now + pause),
        }
    }
}

impl Protocol for Pairs {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Frame(_, frame) if frame.kind == BEGIN => self.begin(now, out),
            Input::Frame(_, frame) if self.caller.read(&frame).is_some() => self.answered(now, out),
            Input::Wake if self.next.is_some_and(|next| next <= now) => self.begin(now, out),
            _ => {}
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.next
    }
}
