//! A client that puts, takes and does tasks, one request at a time, and writes down what it was told.

use quintet_contract::{
    Address, Frame, Input, Kind, Outbox, PeerChange, Protocol, Random, SendError, Span, Time, Token,
};
use quintet_tuple_space::{
    Answer, LeaseId, Request, RequestError, Template, Tuple, Value, Wait, template, tuple,
};

/// What it asked last, and of which item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Asked {
    Put(i64),
    Read,
    Take,
    Lease,
    Finish(i64),
    Release,
}

/// What it was told, in its order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Told {
    /// A put was begun; it may be there.
    Begun(i64),
    /// It is there for good, or somebody has it.
    Put(i64),
    /// It was read, so it was there for good.
    Read(i64),
    /// This worker has taken it.
    Taken(i64),
    /// Its result may have taken its place.
    FinishBegun(i64),
    /// Its result has taken its place.
    Finished(i64),
    /// A plain take had no answer when the server ended: it may have taken one.
    TakeLost,
}

/// One client. It asks one server after the other, from one whose link has ended on.
pub struct Worker {
    /// The servers, and which of them are linked.
    servers: Vec<(Address, bool)>,
    /// By frames of this kind a server says that another one is to be asked.
    elsewhere: Option<Kind>,
    /// Which of them it asks.
    asks: usize,
    random: Random,
    takes: bool,
    next_token: u64,
    next_item: i64,
    /// Operations to be begun.
    left: u32,
    asked: Option<Asked>,
    lease: Option<(LeaseId, i64)>,
    due: Option<Time>,
    told: Vec<Told>,
}

impl Worker {
    /// Of these servers, and of this node. It begins so many operations, plain takes among them or not.
    #[must_use]
    pub fn new(servers: &[Address], me: u16, seed: u64, operations: u32, takes: bool) -> Worker {
        Worker {
            servers: servers.iter().map(|server| (*server, false)).collect(),
            elsewhere: None,
            asks: 0,
            random: Random::new(seed, u64::from(me)),
            takes,
            next_token: 1,
            next_item: i64::from(me) * 1_000_000,
            left: operations,
            asked: None,
            lease: None,
            due: None,
            told: Vec::new(),
        }
    }

    /// The same, with frames of this kind by which a server says that another one is to be asked.
    #[must_use]
    pub fn with_elsewhere(self, kind: Kind) -> Worker {
        Worker { elsewhere: Some(kind), ..self }
    }

    /// What it was told, in its order.
    #[must_use]
    pub fn told(&self) -> &[Told] {
        &self.told
    }

    /// Whether it has nothing more to ask, and waits for nothing.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.left == 0 && self.asked.is_none() && self.lease.is_none()
    }

    fn begin(&mut self, out: &mut dyn Outbox) {
        if !self.servers[self.asks].1 || self.asked.is_some() || (self.left == 0 && self.lease.is_none()) {
            return;
        }
        self.left = self.left.saturating_sub(1);
        let asked = match (self.lease, self.random.below(10)) {
            (Some(_), 0..2) => Asked::Release,
            (Some((_, item)), _) => Asked::Finish(item),
            (None, 0..5) => {
                self.next_item += 1;
                Asked::Put(self.next_item)
            }
            (None, 5) => Asked::Read,
            (None, 6..8) if self.takes => Asked::Take,
            (None, _) => Asked::Lease,
        };
        self.told.extend(match asked {
            Asked::Put(item) => Some(Told::Begun(item)),
            Asked::Finish(item) => Some(Told::FinishBegun(item)),
            _ => None,
        });
        self.asked = Some(asked);
        self.ask(asked, out);
    }

    fn ask(&mut self, asked: Asked, out: &mut dyn Outbox) {
        let items: Template = template!["item", ?i64];
        let (wait, lease) = (Wait::AtOnce, Some(Span::from_secs(1_000)));
        let held = self.lease.map_or(LeaseId(0), |(lease, _)| lease);
        let put: [Tuple; 1] = match asked {
            Asked::Finish(item) => [tuple!["done", item]],
            Asked::Put(item) => [tuple!["item", item]],
            _ => [tuple!["item", 0i64]],
        };
        let request = match asked {
            Asked::Put(_) => Request::Out { deadline: None, tuples: &put, expiries: &[] },
            Asked::Read => Request::Read { wait, template: &items },
            Asked::Take => Request::Take { wait, lease: None, template: &items },
            Asked::Lease => Request::Take { wait, lease, template: &items },
            Asked::Finish(_) => Request::Ack { lease: held, deadline: None, tuples: &put, expiries: &[] },
            Asked::Release => Request::Release { lease: held },
        };
        // One at a time: all that were answered before are settled.
        let token = Token(self.next_token);
        self.next_token += 1;
        match request.send(out, self.servers[self.asks].0, token, token) {
            Ok(()) | Err(RequestError::Link(SendError::Unreachable)) => {}
            Err(error) => panic!("a link of these runs takes everything: {error:?}"),
        }
    }

    /// Asks the next server in a while. What was asked was not done, or nobody says so.
    fn turn(&mut self, now: Time, was_done: bool) {
        if self.asked.take() == Some(Asked::Take) && was_done {
            self.told.push(Told::TakeLost);
        }
        self.lease = None;
        self.asks = (self.asks + 1) % self.servers.len();
        self.due = Some(now + Span::from_micros(1_000 + self.random.below(20_000)));
    }

    fn hear(&mut self, now: Time, frame: Frame<'_>) {
        if Some(frame.kind) == self.elsewhere {
            if frame.token == Token(self.next_token - 1) && self.asked.is_some() {
                self.turn(now, false);
            }
            return;
        }
        if frame.token != Token(self.next_token - 1) {
            panic!("an answer to token {}, which nobody waits for", frame.token.0);
        }
        let asked = self.asked.take().expect("an answer to a request");
        let answer = Answer::decode(frame.kind, frame.body, frame.bulk).expect("the space's bytes are good");
        match (asked, answer) {
            (Asked::Put(item), Answer::Done) => self.told.push(Told::Put(item)),
            (Asked::Read, Answer::Tuple(tuple, None)) => self.told.push(Told::Read(item(&tuple))),
            (Asked::Take, Answer::Tuple(tuple, None)) => self.told.push(Told::Taken(item(&tuple))),
            (Asked::Lease, Answer::Tuple(tuple, Some(attempt))) => {
                self.lease = Some((attempt.lease, item(&tuple)));
            }
            (Asked::Finish(item), Answer::Done) => {
                self.told.push(Told::Finished(item));
                self.lease = None;
            }
            (Asked::Release, Answer::Done) => self.lease = None,
            (Asked::Read | Asked::Take | Asked::Lease, Answer::NoMatch) => {}
            (asked, answer) => panic!("{asked:?} was answered {answer:?}"),
        }
        self.due = Some(now + Span::from_micros(1 + self.random.below(400)));
    }
}

fn item(tuple: &Tuple) -> i64 {
    match tuple.values().get(1) {
        Some(Value::I64(item)) => *item,
        other => panic!("an item is a number: {other:?}"),
    }
}

impl Protocol for Worker {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Frame(from, frame) if from == self.servers[self.asks].0 => self.hear(now, frame),
            Input::Peer(peer, change) => {
                let is_up = matches!(change, PeerChange::Up { .. });
                let Some(at) = self.servers.iter().position(|(server, _)| *server == peer) else { return };
                self.servers[at].1 = is_up;
                match at == self.asks {
                    true if is_up => self.begin(out),
                    true => self.turn(now, true),
                    false => {}
                }
            }
            Input::Wake if self.due.is_some_and(|due| due <= now) => {
                self.due = None;
                match self.servers[self.asks].1 {
                    true => self.begin(out),
                    false => self.turn(now, true),
                }
            }
            _ => {}
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.due
    }
}
