//! One protocol in two halves: the leader counts frames and pokes the count; the follower peeks when it is asked, or when a
//! bell rings. The two race: a bell may overtake the value that it tells of, so the follower looks again until it has seen it.

use crate::{ANSWER, ASK, BELL};
use quintet_contract::{Address, CellReader, CellWriter, Input, Outbox, Protocol, Span, Stage, Time, Token};

/// When a follower looks again that has not seen what it was told of.
const AGAIN: Span = Span::from_micros(1);

/// The half that writes: every ASK raises its count, one by one; the answer is empty.
pub struct Leader {
    count: u64,
    cell: CellWriter<[u64; 2]>,
    /// How much an ASK raises the count.
    times: u64,
    /// Whom it rings the bell of after that.
    bell: Option<Address>,
    /// What each value takes before it is written.
    stage: Option<Stage>,
}

/// The half that reads: the answer to an ASK is the latest count, and its complement.
pub struct Follower {
    cell: CellReader<[u64; 2]>,
    /// How often an ASK makes it read.
    times: u64,
    seen: u64,
    told: u64,
    again: Option<Time>,
    found: Found,
}

/// What a follower found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Found {
    /// Values of which one half was another's.
    pub torn: u64,
    /// Values older than one read before.
    pub went_back: u64,
    /// Values older than what it was told of.
    pub late: u64,
}

impl Leader {
    /// The half that writes to `cell`.
    #[must_use]
    pub fn new(cell: CellWriter<[u64; 2]>) -> Self {
        Leader { count: 0, cell, times: 1, bell: None, stage: None }
    }

    /// Raises the count so often at each ASK.
    #[must_use]
    pub fn times(self, times: u64) -> Self {
        Leader { times, ..self }
    }

    /// Rings the follower's bell after it.
    #[must_use]
    pub fn ringing(self, follower: Address) -> Self {
        Leader { bell: Some(follower), ..self }
    }

    /// Declares a unit of this work before each value.
    #[must_use]
    pub fn working(self, stage: Stage) -> Self {
        Leader { stage: Some(stage), ..self }
    }
}

impl Follower {
    /// The half that reads from `cell`.
    #[must_use]
    pub fn new(cell: CellReader<[u64; 2]>) -> Self {
        Follower { cell, times: 1, seen: 0, told: 0, again: None, found: Found::default() }
    }

    /// Reads so often at each ASK.
    #[must_use]
    pub fn times(self, times: u64) -> Self {
        Follower { times, ..self }
    }

    /// The last count that it read.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// What it found.
    #[must_use]
    pub fn found(&self) -> Found {
        self.found
    }

    fn look(&mut self, now: Time, out: &mut dyn Outbox) {
        let [count, complement] = self.cell.peek(out);
        self.found.torn += u64::from(complement != !count);
        self.found.went_back += u64::from(count < self.seen);
        self.seen = count;
        let late = count < self.told;
        self.found.late += u64::from(late);
        self.again = late.then_some(now + AGAIN);
    }

    fn answer(&self, to: Address, token: Token, out: &mut dyn Outbox) {
        let Found { torn, went_back, .. } = self.found;
        let body = [self.seen, torn, went_back].map(u64::to_le_bytes).concat();
        out.send(to, ANSWER, token, &body).expect("callers have room for answers");
    }
}

impl Protocol for Leader {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        let Input::Frame(from, frame) = input else { return };
        if frame.kind == ASK {
            for _ in 0..self.times {
                self.count += 1;
                if let Some(stage) = self.stage {
                    out.work(stage, 1);
                }
                self.cell.poke([self.count, !self.count], out);
            }
            if let Some(follower) = self.bell {
                out.send(follower, BELL, Token(self.count), &[]).expect("the other half has room");
            }
            out.send(from, ANSWER, frame.token, &[]).expect("callers have room for answers");
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

impl Protocol for Follower {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Frame(_, frame) if frame.kind == BELL => {
                self.told = self.told.max(frame.token.0);
                self.look(now, out);
            }
            Input::Frame(from, frame) if frame.kind == ASK => {
                (0..self.times).for_each(|_| self.look(now, out));
                self.answer(from, frame.token, out);
            }
            Input::Wake => self.look(now, out),
            _ => {}
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.again
    }
}
