//! A token goes round a ring of N; each node holds it for a while, measured by a deadline, then passes it on.

use crate::{ANSWER, ASK, TOKEN};
use quintet_contract::{Address, Input, Outbox, Protocol, Snapshot, SnapshotError, Span, Time, Token};
use quintet_wire::{DecodeError, Reader, Sink};

/// One node of the ring.
pub struct Ring {
    next: Address,
    hold: Span,
    /// The round whose token is held, and until when.
    held: Option<(u64, Time)>,
    first: bool,
    /// Who asked to be told, and at which round.
    asked: Option<(Address, u64)>,
}

impl Ring {
    /// A node that passes the token to `next` after holding it for `hold`. The `first` one makes the token.
    #[must_use]
    pub fn new(next: Address, hold: Span, first: bool) -> Self {
        Ring { next, hold, held: None, first, asked: None }
    }

    /// Takes over a state.
    fn read(&mut self, mut reader: Reader<'_>) -> Result<(), DecodeError> {
        let there = reader.u8()?;
        if there > 3 {
            return Err(reader.invalid("what is there", there, 1));
        }
        if there & 1 != 0 {
            self.held = Some((reader.u64()?, Time(reader.u64()?)));
        }
        if there & 2 != 0 {
            self.asked = Some((Address::from_bits(reader.u32()?), reader.u64()?));
        }
        reader.finish()
    }

    fn receive(&mut self, now: Time, round: u64, out: &mut dyn Outbox) {
        self.held = Some((round, now + self.hold));
        if let Some((asker, wanted)) = self.asked
            && round >= wanted
        {
            self.asked = None;
            out.send(asker, ANSWER, Token(wanted), &round.to_le_bytes())
                .expect("callers have room for answers");
        }
    }
}

/// What a node of the ring is made with: whom it passes the token to, how long it holds it, and whether it makes it.
pub type RingConfig = (Address, Span, bool);

impl Snapshot for Ring {
    type Config = RingConfig;

    const BEHAVIOUR: u32 = 1;

    fn save(&self, bytes: &mut Vec<u8>) {
        bytes.u8(u8::from(self.held.is_some()) | u8::from(self.asked.is_some()) << 1);
        if let Some((round, until)) = self.held {
            bytes.u64(round);
            bytes.u64(until.0);
        }
        if let Some((asker, round)) = self.asked {
            bytes.u32(asker.to_bits());
            bytes.u64(round);
        }
    }

    fn restore(config: &RingConfig, bytes: &[u8]) -> Result<Self, SnapshotError> {
        let (next, hold, first) = *config;
        let mut ring = Ring::new(next, hold, first);
        ring.read(Reader::new(bytes)).map_err(|error| SnapshotError(error.to_string()))?;
        Ok(ring)
    }
}

impl Protocol for Ring {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Started if self.first => self.held = Some((0, now + self.hold)),
            Input::Frame(_, frame) if frame.kind == TOKEN => {
                self.receive(now, frame.token.0 + u64::from(self.first), out);
            }
            Input::Frame(from, frame) if frame.kind == ASK => self.asked = Some((from, frame.token.0)),
            _ => {}
        }
        if let Some((round, until)) = self.held
            && now >= until
            && out.send(self.next, TOKEN, Token(round), &[]).is_ok()
        {
            self.held = None;
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.held.map(|(_, until)| until)
    }
}
