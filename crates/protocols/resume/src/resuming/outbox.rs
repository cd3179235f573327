//! The outbox of the protocol above: what goes to the service is kept until it is answered.

use super::{State, pass};
use crate::requests::Requests;
use crate::resuming::retained::Retained;
use core::marker::PhantomData;
use quintet_contract::{
    Address, Bytes, CELL_WORDS, Cell, Disconnect, Draft, Frame, Kind, Outbox, Seen, SendError, Stage, Time,
    Token,
};

/// Lives for one `handle`.
pub(super) struct Retaining<'a, R> {
    service: Address,
    state: State,
    now: Time,
    /// Whether a frame for the service found no room here.
    has_refused: bool,
    retained: &'a mut Retained,
    out: &'a mut dyn Outbox,
    begun: Option<Draft>,
    requests: PhantomData<fn() -> R>,
}

impl<'a, R: Requests> Retaining<'a, R> {
    pub(super) fn new(
        (service, state): (Address, State),
        now: Time,
        retained: &'a mut Retained,
        out: &'a mut dyn Outbox,
    ) -> Retaining<'a, R> {
        Retaining {
            service,
            state,
            now,
            has_refused: false,
            retained,
            out,
            begun: None,
            requests: PhantomData,
        }
    }

    pub(super) fn has_refused(&self) -> bool {
        self.has_refused
    }

    /// Sends a frame to the service, and keeps it.
    fn ask(&mut self, frame: Frame<'_>) -> Result<(), SendError> {
        pass(self.service, frame, self.out).map_err(until_next_link)?;
        self.retained.sent::<R>(&frame, self.now);
        Ok(())
    }

    /// Whether a frame goes past this layer. What goes to the service finds no room while there is no link.
    fn passes(&mut self, to: Address) -> Result<bool, SendError> {
        match to == self.service {
            true if !self.state.is_open() => {
                self.has_refused = true;
                Err(SendError::Full)
            }
            is_asked => Ok(!is_asked || !self.state.keeps()),
        }
    }
}

/// A link that has ended refuses frames before its end is told, as that comes behind all that came over the link. What is kept finds no room then, as it does
/// after: it goes over the next link, and no call ends with this one.
fn until_next_link(refused: SendError) -> SendError {
    if refused == SendError::Unreachable { SendError::Full } else { refused }
}

impl<R: Requests> Outbox for Retaining<'_, R> {
    fn begin(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        at_most: usize,
    ) -> Result<&mut [u8], SendError> {
        self.begun = None;
        if self.passes(to)? {
            return self.out.begin(to, kind, token, at_most);
        }
        // Begun here as well, it is refused where it would be, and not when it is too late to say so.
        self.out.begin(to, kind, token, at_most).map_err(until_next_link)?;
        Ok(self.begun.insert(Draft::new(to, kind, token, at_most)).room())
    }

    fn commit(&mut self, len: usize) {
        match self.begun.take() {
            None => self.out.commit(len),
            Some(draft) => {
                let (_, frame) = draft.commit(len);
                self.ask(frame.borrow()).expect("there was room for it when it was begun");
            }
        }
    }

    fn stamp(&mut self) {
        if self.begun.is_none() {
            self.out.stamp();
        }
    }

    fn send(&mut self, to: Address, kind: Kind, token: Token, body: &[u8]) -> Result<(), SendError> {
        match self.passes(to)? {
            true => self.out.send(to, kind, token, body),
            false => self.ask(Frame::new(kind, token, body)),
        }
    }

    fn send_bulk(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        head: &[u8],
        bulk: Bytes,
    ) -> Result<(), SendError> {
        match self.passes(to)? {
            true => self.out.send_bulk(to, kind, token, head, bulk),
            false => self.ask(Frame { bulk: &bulk, ..Frame::new(kind, token, head) }),
        }
    }

    fn disconnect(&mut self, peer: Address, how: Disconnect) {
        self.begun = None;
        self.out.disconnect(peer, how);
    }

    fn work(&mut self, stage: Stage, units: u32) {
        self.out.work(stage, units);
    }

    fn poke(&mut self, cell: &Cell, words: [u64; CELL_WORDS]) {
        self.out.poke(cell, words);
    }

    fn peek(&mut self, cell: &Cell, seen: &mut Seen) {
        self.out.peek(cell, seen);
    }
}
