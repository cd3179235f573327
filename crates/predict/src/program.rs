//! The programs of a job as protocols: they ask the space as a live program does, and read its answers.

mod client;
mod compute;
mod master;
mod pairs;
mod worker;

pub use client::Keys;
pub(crate) use client::{BYTES, Client};
pub(crate) use compute::Compute;
pub(crate) use master::Master;
pub use pairs::PairPlan;
pub(crate) use pairs::Pairs;
pub use worker::Redone;
pub(crate) use worker::Worker;

use quintet_contract::{Address, Frame, Kind, Outbox, Stage, Token};
use quintet_messaging::relay;
use quintet_tuple_space::{Answer, Request, Template, template};
use quintet_wire::registry::USER;

/// The work of one operation in the program's interface.
pub(crate) const CALL: Stage = Stage(0);
/// Computing, in nanoseconds at speed 1.
pub(crate) const COMPUTE: Stage = Stage(1);
/// From the host: begin.
pub(crate) const BEGIN: Kind = USER.kind(0);
/// To a worker's computing side: compute the task of the token's number.
pub(crate) const TASK: Kind = USER.kind(1);
/// Its answer.
pub(crate) const COMPUTED: Kind = USER.kind(2);

/// What a program asks, one request after another.
#[derive(Debug)]
pub(crate) struct Caller {
    service: Address,
    next: u64,
    /// Why the program can go no further.
    pub(crate) failed: Option<String>,
}

impl Caller {
    pub(crate) fn new(service: Address) -> Caller {
        Caller { service, next: 1, failed: None }
    }

    /// Sends a request. `settled`: all takes before it are settled.
    pub(crate) fn ask(&mut self, request: Request<'_>, out: &mut dyn Outbox) -> Token {
        let settled = Token(self.next);
        self.ask_while(request, settled, out)
    }

    /// Sends a request while the takes from `settled` on are not settled.
    pub(crate) fn ask_while(&mut self, request: Request<'_>, settled: Token, out: &mut dyn Outbox) -> Token {
        let token = Token(self.next);
        self.next += 1;
        out.work(CALL, 1);
        if let Err(error) = request.send(out, self.service, token, settled) {
            self.failed = Some(error.to_string());
        }
        token
    }

    /// Extends the leases.
    pub(crate) fn renew(&mut self, out: &mut dyn Outbox) {
        if let Err(error) = Request::Renew.send(out, self.service, Token(0), Token(self.next)) {
            self.failed = Some(error.to_string());
        }
    }

    /// Reads an answer; none, with the reason kept, if the call failed.
    pub(crate) fn read(&mut self, frame: &Frame<'_>) -> Option<Answer> {
        if let Some(code) = relay::failure(frame.kind, frame.body) {
            self.failed = Some(code.to_string());
            return None;
        }
        match Answer::decode(frame.kind, frame.body, frame.bulk) {
            Ok(answer) => Some(answer),
            Err(error) => {
                self.failed = Some(error.to_string());
                None
            }
        }
    }
}

pub(crate) fn tasks() -> Template {
    template!["task", ?i64, ?[u8]]
}

pub(crate) fn results() -> Template {
    template!["result", ?i64, ?[u8]]
}
