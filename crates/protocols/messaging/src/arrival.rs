//! What comes from a peer. Whatever an honest peer does not send cuts the channel.

use crate::channel::Channel;
use crate::codec::{
    ANNOUNCE, ANNOUNCE_BYTES, Announce, CREDIT, Credit, FRAGMENT, GRANT, Grant, OPEN, PACK, PREFIX_BYTES,
    PROCEED, Prefix, Proceed, REFUSED, Refused,
};
use crate::config::{ANSWER_DIRECT_BYTES, Class, Limits, MessagingConfig};
use crate::counters::Counters;
use crate::credit::Allowance;
use crate::incoming::Cost;
use quintet_contract::{Frame, Kind, OwnedFrame};
use quintet_errors::Code;
use quintet_wire::registry::{MESSAGING, SESSION};
use quintet_wire::{Decode, DecodeError, Reader};

/// What became of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrival {
    /// It is the next message, or one that passes those that wait; its body begins after the prefix.
    Deliver(Cost),
    /// It carries several messages, which begin after the prefix.
    Unpack,
    /// It is kept, or was for this layer.
    Absorbed,
    /// The peer can be reached from now on.
    Opened,
    /// The peer has cut the channel.
    Refused(Code),
}

/// Why the channel is to be cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Broken(pub(crate) Code);

const MALFORMED: Broken = Broken(Code::Malformed);

impl From<DecodeError> for Broken {
    fn from(_: DecodeError) -> Self {
        MALFORMED
    }
}

fn ensure(holds: bool) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(MALFORMED) }
}

impl Channel {
    /// Takes a frame.
    ///
    /// # Errors
    /// If no honest peer sends it.
    pub(crate) fn arrive(
        &mut self,
        frame: Frame<'_>,
        config: &MessagingConfig,
        counters: &mut Counters,
    ) -> Result<Arrival, Broken> {
        if frame.kind == REFUSED {
            return Ok(Arrival::Refused(Refused::decode_all(frame.body)?.0));
        }
        if frame.kind == OPEN {
            return self.opened(frame.body);
        }
        ensure(self.peer.is_some())?;
        match frame.kind {
            CREDIT => self.take_back(Credit::decode_all(frame.body)?, config)?,
            ANNOUNCE => self.announced(frame, config, counters)?,
            GRANT => {
                Grant::decode_all(frame.body)?;
                ensure(self.outgoing.grant())?;
            }
            FRAGMENT => {
                ensure(self.incoming.fragment(frame))?;
                counters.fragments_received += 1;
            }
            PROCEED => self.proceed(Proceed::decode_all(frame.body)?)?,
            PACK => {
                let prefix = Prefix::decode(&mut Reader::new(frame.body))?;
                ensure(!prefix.answer && frame.bulk.is_empty() && frame.body.len() > PREFIX_BYTES)?;
                self.take_back(prefix.credit, config)?;
                return Ok(Arrival::Unpack);
            }
            _ => {
                let Prefix { credit, answer } = Prefix::decode(&mut Reader::new(frame.body))?;
                self.take_back(credit, config)?;
                let message = Frame { body: &frame.body[PREFIX_BYTES..], ..frame };
                return self.enter(answer, message, config, counters);
            }
        }
        Ok(Arrival::Absorbed)
    }

    /// A message is given to the protocol above. `handle` is atomic: what it sends departs after it has consumed the message, so
    /// that the credit can ride on it.
    pub(crate) fn consumed(&mut self, cost: Cost) {
        if let Cost::Credit(bytes) = cost {
            self.ledger.consumed(bytes);
        }
    }

    /// The next message to deliver of those that had to wait.
    pub(crate) fn take(&mut self, config: &MessagingConfig) -> Option<OwnedFrame> {
        let (frame, cost) = self.incoming.take()?;
        if config.returns_held_credit() {
            self.consumed(cost);
        }
        Some(frame)
    }

    fn opened(&mut self, body: &[u8]) -> Result<Arrival, Broken> {
        ensure(self.peer.is_none())?;
        let limits = Limits::decode_all(body)?;
        self.allowance = Allowance { slots: limits.slots, bytes: limits.bytes };
        ensure(self.outgoing.proceed(limits.fragments, limits.fragments))?;
        self.peer = Some(limits);
        self.eased = true;
        Ok(Arrival::Opened)
    }

    fn take_back(&mut self, credit: Credit, config: &MessagingConfig) -> Result<(), Broken> {
        if credit == Credit::default() {
            return Ok(());
        }
        self.eased = true;
        let factor = config.credit_factor();
        ensure(self.peer.is_some_and(|window| self.allowance.take_back(credit, &window, factor)))
    }

    fn proceed(&mut self, Proceed(fragments): Proceed) -> Result<(), Broken> {
        ensure(self.peer.is_some_and(|window| self.outgoing.proceed(fragments, window.fragments)))
    }

    /// Takes a message without its prefix.
    ///
    /// # Errors
    /// If no honest peer sends it.
    pub(crate) fn enter(
        &mut self,
        answer: bool,
        message: Frame<'_>,
        config: &MessagingConfig,
        counters: &mut Counters,
    ) -> Result<Arrival, Broken> {
        let Frame { kind, token, body, bulk, .. } = message;
        ensure(!MESSAGING.contains(kind) && !SESSION.contains(kind))?;
        ensure(!answer || bulk.len() <= ANSWER_DIRECT_BYTES)?;
        let cost = self.account(answer, kind, body.len() + bulk.len(), config)?;
        if self.incoming.is_empty() {
            return Ok(Arrival::Deliver(cost));
        }
        let urgent = (config.class)(kind) == Class::Urgent;
        if urgent && !self.incoming.holds_request(token, config.class) {
            self.ledger.hurry();
            return Ok(Arrival::Deliver(cost));
        }
        counters.held += 1;
        self.incoming.hold(message, cost);
        Ok(Arrival::Absorbed)
    }

    fn announced(
        &mut self,
        frame: Frame<'_>,
        config: &MessagingConfig,
        counters: &mut Counters,
    ) -> Result<(), Broken> {
        let mut reader = Reader::new(frame.body);
        let prefix = Prefix::decode(&mut reader)?;
        let Announce { total, kind } = Announce::decode(&mut reader)?;
        ensure(frame.bulk.is_empty())?;
        if total > self.own.bulk {
            return Err(Broken(Code::TooLarge));
        }
        let head = &frame.body[ANNOUNCE_BYTES..];
        self.take_back(prefix.credit, config)?;
        let cost = self.account(prefix.answer, kind, head.len(), config)?;
        counters.held += u64::from(!self.incoming.is_empty());
        self.incoming.announce(kind, frame.token, head, total as usize, cost);
        Ok(())
    }

    /// Enters a message of so many bytes in the books.
    fn account(
        &mut self,
        answer: bool,
        kind: Kind,
        bytes: usize,
        config: &MessagingConfig,
    ) -> Result<Cost, Broken> {
        let class = (config.class)(kind);
        if answer {
            ensure(class == Class::Answer && self.awaiting > 0)?;
            self.awaiting -= 1;
            self.eased = true;
            return Ok(Cost::Reserved);
        }
        ensure(self.ledger.charge(bytes))?;
        if class == Class::Request {
            self.permits += 1;
            ensure(self.permits <= self.own.requests)?;
        }
        Ok(Cost::Credit(u32::try_from(bytes).expect("the charge was within a window of 32 bits")))
    }
}
