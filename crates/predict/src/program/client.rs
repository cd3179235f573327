//! A client that puts a tuple and takes it, for ever, as those of `quintet bench space --case managers-4` do.

use super::{BEGIN, Caller};
use bytes::Bytes;
use quintet_contract::{Address, Input, Outbox, Protocol, Time, Token};
use quintet_tuple_space::{Request, Template, Tuple, Value, Wait, template, tuple};

/// Bytes of a tuple's data.
pub(crate) const BYTES: usize = 64;
/// Keys of a client.
const KEYS: u64 = 1_000;

/// What a client's tuples are told apart by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keys {
    /// A number in each, of one client alone, which templates give: several managers spread them by it.
    Own,
    /// Nothing: all are of one signature, and at one manager.
    None,
}

/// Puts and takes, one after the other, each awaited.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) caller: Caller,
    keys: Keys,
    /// Of all clients.
    number: u64,
    data: Bytes,
    takes_next: bool,
    pub(crate) pairs: u64,
}

impl Client {
    pub(crate) fn new(service: Address, number: u64, keys: Keys) -> Client {
        let data = vec![7; BYTES].into();
        Client { caller: Caller::new(service), keys, number, data, takes_next: true, pairs: 0 }
    }

    fn key(&self) -> i64 {
        i64::try_from(self.number * KEYS + self.pairs % KEYS).expect("there are few clients")
    }

    fn tuple(&self) -> Tuple {
        let data = Value::Binary(self.data.clone());
        match self.keys {
            Keys::Own => tuple!["pair", self.key(), data],
            Keys::None => tuple!["pair", data],
        }
    }

    fn template(&self) -> Template {
        match self.keys {
            Keys::Own => template!["pair", self.key(), ?[u8]],
            Keys::None => template!["pair", ?[u8]],
        }
    }

    fn put(&mut self, out: &mut dyn Outbox) {
        // What it took before was received.
        let settled = Token(self.caller.next);
        let tuples = &[self.tuple()];
        self.caller.ask_while(Request::Out { deadline: None, tuples, expiries: &[] }, settled, out);
        self.takes_next = true;
    }

    fn take(&mut self, out: &mut dyn Outbox) {
        let template = &self.template();
        self.caller.ask(Request::Take { wait: Wait::Forever, lease: None, template }, out);
        self.takes_next = false;
    }

    fn answered(&mut self, out: &mut dyn Outbox) {
        if self.takes_next {
            return self.take(out);
        }
        self.pairs += 1;
        self.put(out);
    }
}

impl Protocol for Client {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Frame(_, frame) if frame.kind == BEGIN => self.put(out),
            Input::Frame(_, frame) if self.caller.read(&frame).is_some() => self.answered(out),
            _ => {}
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}
