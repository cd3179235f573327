//! One protocol in two halves: the leader counts frames and pokes the count; the follower peeks when it is asked.

use crate::{ANSWER, ASK};
use quintet_contract::{CellReader, CellWriter, Input, Outbox, Protocol, Time};

/// The half that writes: every ASK raises its count by one; the answer is empty.
pub struct Leader {
    count: u64,
    cell: CellWriter<[u64; 2]>,
}

/// The half that reads: the answer to an ASK is the latest count, twice.
pub struct Follower {
    cell: CellReader<[u64; 2]>,
}

impl Leader {
    /// The half that writes to `cell`.
    #[must_use]
    pub fn new(cell: CellWriter<[u64; 2]>) -> Self {
        Leader { count: 0, cell }
    }
}

impl Follower {
    /// The half that reads from `cell`.
    #[must_use]
    pub fn new(cell: CellReader<[u64; 2]>) -> Self {
        Follower { cell }
    }
}

impl Protocol for Leader {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        let Input::Frame(from, frame) = input else { return };
        if frame.kind == ASK {
            self.count += 1;
            self.cell.poke([self.count; 2]);
            out.send(from, ANSWER, frame.token, &[]).expect("callers have room for answers");
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

impl Protocol for Follower {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        let Input::Frame(from, frame) = input else { return };
        if frame.kind == ASK {
            let [a, b] = self.cell.peek(out);
            let body = [a.to_le_bytes(), b.to_le_bytes()].concat();
            out.send(from, ANSWER, frame.token, &body).expect("callers have room for answers");
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}
