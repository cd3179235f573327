//! The way out for the protocol above: every message to another node takes credit, and carries credit back.

use crate::channel::{Admission, Channel, Encoded};
use crate::codec::{ANNOUNCE, Announce, PREFIX_BYTES};
use crate::config::MessagingConfig;
use crate::counters::Counters;
use crate::messages::Peer;
use quintet_contract::{Address, Bytes, Kind, Outbox, SendError, Stage, Time, Token};
use quintet_wire::Encode;
use quintet_wire::registry::{MESSAGING, SESSION};
use std::collections::BTreeMap;

/// Wraps the outbox below.
pub(crate) struct MessagingOutbox<'a> {
    pub(crate) now: Time,
    pub(crate) config: &'a MessagingConfig,
    pub(crate) peers: &'a mut BTreeMap<Address, Peer>,
    pub(crate) counters: &'a mut Counters,
    pub(crate) out: &'a mut dyn Outbox,
    pub(crate) begun: Begun,
}

/// The message begun.
pub(crate) enum Begun {
    /// None, or one of this node: nothing is to be done at its commit but the commit.
    Untouched,
    /// One that lies in the link.
    Admitted(Address, Admission),
    /// An answer that the link has no room for.
    Delayed(Address, Encoded),
}

impl MessagingOutbox<'_> {
    /// Leave to send, or the refusal noted.
    fn admit(&mut self, to: Address, kind: Kind, body: usize, bulk: usize) -> Result<Admission, SendError> {
        let control = MESSAGING.contains(kind) || SESSION.contains(kind);
        assert!(!control, "the protocol above sends a frame of kind {}, which a layer below owns", kind.0);
        let peer = self.peers.get_mut(&to).ok_or(SendError::Unreachable)?;
        let channel = peer.channel.as_mut().ok_or(SendError::Unreachable)?;
        let admission = channel.admit((self.config.class)(kind), body, bulk);
        if admission == Err(SendError::Full) {
            peer.wait(self.now);
        }
        admission
    }

    /// Answers go in order: behind a delayed one, all are.
    fn delays(&self, to: Address, admission: &Admission) -> bool {
        let channel = self.peers.get(&to).and_then(|peer| peer.channel.as_ref());
        admission.prefix.answer && channel.is_some_and(|channel| !channel.backlog.is_empty())
    }

    fn channel(&mut self, to: Address) -> &mut Channel {
        let channel = self.peers.get_mut(&to).and_then(|peer| peer.channel.as_mut());
        channel.expect("a message was admitted to it in this call of `handle`")
    }

    fn delay(&mut self, to: Address, answer: Encoded) {
        self.counters.sent += 1;
        self.counters.answers_delayed += 1;
        self.channel(to).delay(answer);
    }

    /// Sends a message, or keeps it if it is an answer and the link has no room.
    fn ship(&mut self, to: Address, mut message: Encoded, admission: &Admission) -> Result<(), SendError> {
        let mut sent = Err(SendError::Full);
        if !self.delays(to, admission) {
            admission.prefix.write(&mut message.body);
            sent = message.send(to, self.out);
        }
        if let Err(error) = sent {
            keeps(self.peers, self.now, to, admission, error)?;
            self.delay(to, message);
            return Ok(());
        }
        self.counters.sent += 1;
        let channel = self.channel(to);
        channel.departed(admission);
        if let Some(bulk) = message.announced {
            channel.outgoing.announced(message.token, bulk);
        }
        Ok(())
    }
}

/// The link refused. Whether the message is an answer to be kept for later; otherwise the refusal is noted.
fn keeps(
    peers: &mut BTreeMap<Address, Peer>,
    now: Time,
    to: Address,
    admission: &Admission,
    error: SendError,
) -> Result<(), SendError> {
    match error {
        SendError::Full if admission.prefix.answer => Ok(()),
        SendError::Full => {
            if let Some(peer) = peers.get_mut(&to) {
                peer.wait(now);
            }
            Err(SendError::Full)
        }
        SendError::TooLong { len, limit } => Err(SendError::TooLong {
            len: len.saturating_sub(PREFIX_BYTES),
            limit: limit.saturating_sub(PREFIX_BYTES),
        }),
        SendError::Unreachable => Err(error),
    }
}

impl Outbox for MessagingOutbox<'_> {
    fn begin(&mut self, to: Address, kind: Kind, token: Token, len: usize) -> Result<&mut [u8], SendError> {
        self.begun = Begun::Untouched;
        if to.node == self.config.me.node {
            return self.out.begin(to, kind, token, len);
        }
        let admission = self.admit(to, kind, len, 0)?;
        if !self.delays(to, &admission) {
            self.begun = Begun::Admitted(to, admission);
            match self.out.begin(to, kind, token, len + PREFIX_BYTES) {
                Ok(room) => {
                    admission.prefix.write(room);
                    return Ok(&mut room[PREFIX_BYTES..]);
                }
                Err(error) => keeps(self.peers, self.now, to, &admission, error)?,
            }
        }
        let body = vec![0; len + PREFIX_BYTES];
        let answer = Encoded { kind, token, body, bulk: Bytes::new(), announced: None };
        self.begun = Begun::Delayed(to, answer);
        match &mut self.begun {
            Begun::Delayed(_, answer) => Ok(&mut answer.body[PREFIX_BYTES..]),
            _ => unreachable!("set in the line before"),
        }
    }

    fn commit(&mut self) {
        match core::mem::replace(&mut self.begun, Begun::Untouched) {
            Begun::Untouched => self.out.commit(),
            Begun::Admitted(to, admission) => {
                self.out.commit();
                self.counters.sent += 1;
                self.channel(to).departed(&admission);
            }
            Begun::Delayed(to, answer) => self.delay(to, answer),
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
        self.begun = Begun::Untouched;
        if to.node == self.config.me.node {
            return self.out.send_bulk(to, kind, token, head, bulk);
        }
        if bulk.is_empty() {
            return self.send(to, kind, token, head);
        }
        let admission = self.admit(to, kind, head.len(), bulk.len())?;
        let mut body = vec![0; PREFIX_BYTES];
        let message = if admission.announce {
            let total = u32::try_from(bulk.len()).expect("checked against the peer's limit of 32 bits");
            Announce { total, kind }.encode(&mut body);
            body.extend_from_slice(head);
            Encoded { kind: ANNOUNCE, token, body, bulk: Bytes::new(), announced: Some(bulk) }
        } else {
            body.extend_from_slice(head);
            Encoded { kind, token, body, bulk, announced: None }
        };
        self.ship(to, message, &admission)
    }

    fn work(&mut self, stage: Stage, units: u32) {
        self.out.work(stage, units);
    }

    fn observe(&mut self, words: &mut [u64]) {
        self.out.observe(words);
    }
}
