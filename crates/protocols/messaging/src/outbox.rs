//! The way out for the protocol above: every message to another node takes credit, and carries credit back.

use crate::channel::{Admission, Channel, Encoded, send_with};
use crate::codec::{ANNOUNCE, Announce, PREFIX_BYTES};
use crate::config::MessagingConfig;
use crate::counters::Counters;
use crate::messages::Peer;
use crate::pack::Item;
use quintet_contract::{
    Address, Bytes, CELL_WORDS, Cell, Disconnect, Kind, Outbox, PeerMap, Seen, SendError, Stage, Time, Token,
};
use quintet_wire::Encode;
use quintet_wire::registry::{MESSAGING, SESSION};

/// Wraps the outbox below.
pub(crate) struct MessagingOutbox<'a> {
    pub(crate) now: Time,
    pub(crate) config: &'a MessagingConfig,
    pub(crate) peers: &'a mut PeerMap<Peer>,
    pub(crate) counters: &'a mut Counters,
    /// Room in which a prefix is put in front of the body that goes with bulk.
    pub(crate) head: &'a mut Vec<u8>,
    pub(crate) out: &'a mut dyn Outbox,
    /// To whom something has to go at the end of the burst.
    pub(crate) gathering: &'a mut Vec<Address>,
    pub(crate) begun: Begun,
}

/// The message begun.
pub(crate) enum Begun {
    /// None, or one of this node: nothing is to be done at its commit but the commit.
    Untouched,
    /// One that lies in the link.
    /// With room for so many bytes.
    Admitted(Address, Admission, usize),
    /// One that gathers with others.
    /// With room for so many bytes.
    Packed(Address, Admission, Item, usize),
    /// An answer that the link has no room for.
    Delayed(Address, Box<Encoded>),
}

impl MessagingOutbox<'_> {
    /// Leave to send, or the refusal noted.
    fn admit(&mut self, to: Address, kind: Kind, body: usize, bulk: usize) -> Result<Admission, SendError> {
        let control = MESSAGING.contains(kind) || SESSION.contains(kind);
        assert!(!control, "the protocol above sends a frame of kind {}, which a layer below owns", kind.0);
        let peer = self.peers.get_mut(to).ok_or(SendError::Unreachable)?;
        let channel = peer.channel.as_mut().ok_or(SendError::Unreachable)?;
        let packed = channel.gather((self.now, self.config), body, bulk, self.out);
        let admission = channel.admit((self.config.class)(kind), body, bulk, packed);
        if matches!(admission, Err(SendError::Full)) {
            peer.wait(self.now);
        }
        admission
    }

    fn channel(&mut self, to: Address) -> &mut Channel {
        let channel = self.peers.get_mut(to).and_then(|peer| peer.channel.as_mut());
        channel.expect("a message was admitted to it in this call of `handle`")
    }

    fn delay(&mut self, to: Address, answer: Encoded) {
        self.counters.sent += 1;
        self.counters.answers_delayed += 1;
        self.channel(to).delay(answer);
    }

    /// Puts what stands in front of a body that goes with bulk, and the body, into `self.head`. The prefix is written later.
    fn wrap(&mut self, announce: Option<Announce>, body: &[u8]) {
        self.head.clear();
        self.head.resize(PREFIX_BYTES, 0);
        if let Some(announce) = announce {
            announce.encode(self.head);
        }
        self.head.extend_from_slice(body);
    }

    /// Sends the message whose body lies in `self.head`, or keeps it if it is an answer and the link has no room. `bulk` goes with
    /// it; `announced` goes later, in fragments.
    fn ship(
        &mut self,
        (to, kind, token): (Address, Kind, Token),
        bulk: Bytes,
        announced: Option<Bytes>,
        admission: &Admission,
    ) -> Result<(), SendError> {
        let mut sent = Err(SendError::Full);
        if !admission.delayed {
            admission.prefix.write(self.head);
            sent = send_with(self.out, to, kind, token, self.head, &bulk);
        }
        if let Err(error) = sent {
            if !is_kept(admission, &error) {
                return Err(refusal(self.peers, self.now, to, error));
            }
            self.delay(to, Encoded { kind, token, body: self.head.clone(), bulk, announced });
            return Ok(());
        }
        self.counters.sent += 1;
        let now = self.now;
        let channel = self.channel(to);
        channel.departed(now, admission);
        if let Some(bulk) = announced {
            channel.outgoing.announced(token, bulk);
        }
        Ok(())
    }
}

/// Whether a message that the link refused is kept here until there is room: answers are.
fn is_kept(admission: &Admission, error: &SendError) -> bool {
    admission.prefix.answer && *error == SendError::Full
}

/// The link's refusal as the protocol above sees it. One for want of room is noted: the protocol above waits from now on.
fn refusal(peers: &mut PeerMap<Peer>, now: Time, to: Address, error: SendError) -> SendError {
    if error == SendError::Full
        && let Some(peer) = peers.get_mut(to)
    {
        peer.wait(now);
    }
    match error {
        SendError::TooLong { len, limit } => SendError::TooLong {
            len: len.saturating_sub(PREFIX_BYTES),
            limit: limit.saturating_sub(PREFIX_BYTES),
        },
        SendError::Full | SendError::Unreachable => error,
    }
}

impl Outbox for MessagingOutbox<'_> {
    fn begin(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        at_most: usize,
    ) -> Result<&mut [u8], SendError> {
        self.begun = Begun::Untouched;
        if to.node == self.config.me.node {
            return self.out.begin(to, kind, token, at_most);
        }
        let admission = self.admit(to, kind, at_most, 0)?;
        if admission.packed {
            let item = Item { kind, answer: admission.prefix.answer, token };
            self.begun = Begun::Packed(to, admission, item, at_most);
            return Ok(self.channel(to).pack.begin(at_most));
        }
        if !admission.delayed {
            self.begun = Begun::Admitted(to, admission, at_most);
            match self.out.begin(to, kind, token, at_most + PREFIX_BYTES) {
                Ok(room) => {
                    admission.prefix.write(room);
                    return Ok(&mut room[PREFIX_BYTES..]);
                }
                Err(error) if is_kept(&admission, &error) => {}
                Err(error) => return Err(refusal(self.peers, self.now, to, error)),
            }
        }
        let body = vec![0; at_most + PREFIX_BYTES];
        let answer = Encoded { kind, token, body, bulk: Bytes::new(), announced: None };
        self.begun = Begun::Delayed(to, Box::new(answer));
        match &mut self.begun {
            Begun::Delayed(_, answer) => Ok(&mut answer.body[PREFIX_BYTES..]),
            _ => unreachable!("set in the line before"),
        }
    }

    fn commit(&mut self, len: usize) {
        match core::mem::replace(&mut self.begun, Begun::Untouched) {
            Begun::Untouched => self.out.commit(len),
            Begun::Admitted(to, admission, at_most) => {
                self.out.commit(len + PREFIX_BYTES);
                self.counters.sent += 1;
                let now = self.now;
                self.channel(to).departed(now, &admission.shortened(at_most - len));
            }
            Begun::Packed(to, admission, item, at_most) => {
                assert!(len <= at_most, "{len} bytes are more than the room that was given");
                self.counters.sent += 1;
                self.counters.packed += 1;
                if self.gathering.last() != Some(&to) {
                    self.gathering.push(to);
                }
                let now = self.now;
                let channel = self.channel(to);
                channel.pack.commit(item, len);
                channel.departed(now, &admission.shortened(at_most - len));
            }
            Begun::Delayed(to, mut answer) => {
                let body = len + PREFIX_BYTES;
                assert!(body <= answer.body.len(), "{len} bytes are more than the room that was given");
                answer.body.truncate(body);
                self.delay(to, *answer);
            }
        }
    }

    fn stamp(&mut self) {
        match self.begun {
            Begun::Untouched | Begun::Admitted(..) => self.out.stamp(),
            Begun::Packed(to, ..) => self.channel(to).pack.stamp(),
            Begun::Delayed(..) => {}
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
        if admission.announce {
            let total = u32::try_from(bulk.len()).expect("checked against the peer's limit of 32 bits");
            self.wrap(Some(Announce { total, kind }), head);
            self.ship((to, ANNOUNCE, token), Bytes::new(), Some(bulk), &admission)
        } else {
            self.wrap(None, head);
            self.ship((to, kind, token), bulk, None, &admission)
        }
    }

    fn disconnect(&mut self, peer: Address, how: Disconnect) {
        self.begun = Begun::Untouched;
        if let Some(channel) = self.peers.get_mut(peer).and_then(|peer| peer.channel.as_mut()) {
            // What was committed before goes as far as it can: after this nobody takes it.
            let _ = channel.send_pack(self.out);
            channel.is_closing = true;
        }
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
