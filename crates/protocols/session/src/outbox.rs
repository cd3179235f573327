//! The way out for the protocol above: every frame to another node gets its number.

use crate::codec::{PREFIX_BYTES, Prefix};
use crate::config::SessionConfig;
use crate::counters::Counters;
use crate::handshake::Phase;
use crate::peer::Peer;
use crate::retention::{Exit, Kept};
use crate::stream::{Stream, earlier};
use quintet_contract::{
    Address, Bytes, CELL_WORDS, Cell, Disconnect, Kind, Outbox, PeerMap, Seen, SendError, Stage, Time, Token,
};
use quintet_wire::registry::SESSION;

/// Wraps the outbox below.
pub(crate) struct SessionOutbox<'a> {
    pub(crate) now: Time,
    pub(crate) config: &'a SessionConfig,
    pub(crate) peers: &'a mut PeerMap<Peer>,
    pub(crate) counters: &'a mut Counters,
    pub(crate) alarm: &'a mut Option<Time>,
    /// Room in which a prefix is put in front of the body that goes with bulk.
    pub(crate) head: &'a mut Vec<u8>,
    pub(crate) out: &'a mut dyn Outbox,
    /// The peer whose session is being told to be over: its next one may live already, and gets nothing of this one.
    pub(crate) over: Option<Address>,
    pub(crate) begun: Begun,
}

/// The frame begun.
pub(crate) enum Begun {
    /// None, or one of this node: nothing is to be done at its commit but the commit.
    Untouched,
    /// One that lies in the link, its prefix before it.
    Numbered(Address),
    /// One that is kept until it is acknowledged; so many bytes stand before its body.
    Kept(Address, Kept, usize),
}

/// How the next frame to a peer goes.
enum Way {
    /// With these numbers, straight into the link.
    Numbered(Prefix),
    /// Through the window.
    Kept,
}

impl SessionOutbox<'_> {
    /// How a frame goes to a peer, if it has a session. Control frames that the peer is owed go first.
    fn way(&mut self, to: Address, kind: Kind, bulk: usize) -> Result<Way, SendError> {
        assert!(
            !SESSION.contains(kind),
            "the protocol above sends a frame of kind {}, the session's own",
            kind.0
        );
        let peer = self.peers.get_mut(to).filter(|_| self.over != Some(to)).ok_or(SendError::Unreachable)?;
        let fits = |stream: &Stream| match stream.link.max_bulk_bytes {
            limit if bulk > limit => Err(SendError::TooLong { len: bulk, limit }),
            _ => Ok(()),
        };
        match &mut peer.phase {
            Phase::Live(live) if !live.stream.keeps() => {
                fits(&live.stream)?;
                if !live.owed.is_empty() {
                    live.send_owed(to, self.config, self.out)?;
                }
                Ok(Way::Numbered(live.stream.prefix()))
            }
            other => fits(other.stream().ok_or(SendError::Unreachable)?).map(|()| Way::Kept),
        }
    }

    /// A frame went into the link.
    fn numbered(&mut self, to: Address) {
        self.counters.sent += 1;
        if let Some(stream) = self.peers.get_mut(to).and_then(|peer| peer.phase.stream_mut()) {
            stream.next = stream.next.next();
        }
    }

    /// Room in which a frame can be kept that the link takes, and how much of it is its prefix's.
    fn reserve(&mut self, to: Address, body: usize, bulk: usize) -> Result<(Vec<u8>, usize), SendError> {
        let peer = self.peers.get_mut(to).ok_or(SendError::Unreachable)?;
        let stream = peer.phase.stream_mut().ok_or(SendError::Unreachable)?;
        let prefix = stream.prefix_bytes();
        let limit = stream.link.max_body_bytes.saturating_sub(prefix);
        if body > limit {
            return Err(SendError::TooLong { len: body, limit });
        }
        if !stream.has_room(body + bulk) {
            return Err(SendError::Full);
        }
        // Whether the link has room now is of no account: the frame is kept, and goes when there is.
        Ok((stream.room(prefix + body), prefix))
    }

    /// Keeps a frame and sends it, if there is a link and it has room.
    fn keep(&mut self, to: Address, frame: Kept) {
        let Some(peer) = self.peers.get_mut(to) else { return };
        self.counters.sent += 1;
        let mut exit = Exit { to, now: self.now, counters: self.counters, out: self.out };
        match &mut peer.phase {
            Phase::Live(live) => {
                live.send_kept(frame, self.config, &mut exit);
                *self.alarm = earlier(*self.alarm, live.stream.deadline());
            }
            other => {
                if let Some(stream) = other.stream_mut() {
                    stream.keep(frame);
                }
            }
        }
    }
}

impl Outbox for SessionOutbox<'_> {
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
        match self.way(to, kind, 0)? {
            Way::Numbered(prefix) => {
                self.begun = Begun::Numbered(to);
                let room = self.out.begin(to, kind, token, at_most + PREFIX_BYTES);
                let room = room.map_err(|error| without(error, PREFIX_BYTES))?;
                prefix.write(room);
                Ok(&mut room[PREFIX_BYTES..])
            }
            Way::Kept => {
                let (room, prefix) = self.reserve(to, at_most, 0)?;
                let mut frame = Kept::new(kind, token, room, Bytes::new());
                frame.len = prefix + at_most;
                self.begun = Begun::Kept(to, frame, prefix);
                match &mut self.begun {
                    Begun::Kept(_, frame, _) => Ok(&mut frame.room[prefix..prefix + at_most]),
                    _ => unreachable!("set in the line before"),
                }
            }
        }
    }

    fn commit(&mut self, len: usize) {
        match core::mem::replace(&mut self.begun, Begun::Untouched) {
            Begun::Untouched => self.out.commit(len),
            Begun::Numbered(to) => {
                self.out.commit(len + PREFIX_BYTES);
                self.numbered(to);
            }
            Begun::Kept(to, mut frame, prefix) => {
                assert!(prefix + len <= frame.len, "{len} bytes are more than the room that was given");
                frame.len = prefix + len;
                self.keep(to, frame);
            }
        }
    }

    fn stamp(&mut self) {
        match &mut self.begun {
            Begun::Kept(_, frame, _) => frame.stamp = true,
            Begun::Untouched | Begun::Numbered(_) => self.out.stamp(),
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
        match self.way(to, kind, bulk.len())? {
            Way::Numbered(prefix) => {
                self.head.clear();
                self.head.resize(PREFIX_BYTES, 0);
                prefix.write(self.head);
                self.head.extend_from_slice(head);
                let sent = self.out.send_bulk(to, kind, token, self.head, bulk);
                sent.map_err(|error| without(error, PREFIX_BYTES))?;
                self.numbered(to);
            }
            Way::Kept => {
                let (mut room, prefix) = self.reserve(to, head.len(), bulk.len())?;
                room[prefix..prefix + head.len()].copy_from_slice(head);
                let mut frame = Kept::new(kind, token, room, bulk);
                frame.len = prefix + head.len();
                self.keep(to, frame);
            }
        }
        Ok(())
    }

    fn disconnect(&mut self, peer: Address, how: Disconnect) {
        self.begun = Begun::Untouched;
        let Some(known) = self.peers.get_mut(peer) else { return self.out.disconnect(peer, how) };
        // The session stays until the host says that the link is down: that ends it, and tells the protocol above.
        known.disconnect(self.out);
        if known.expire(self.now) {
            *self.alarm = earlier(*self.alarm, Some(self.now));
        }
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

/// A lower limit as the protocol above sees it. (Bulk, which no prefix narrows, was checked before.)
fn without(error: SendError, prefix: usize) -> SendError {
    match error {
        SendError::TooLong { len, limit } => {
            SendError::TooLong { len: len.saturating_sub(prefix), limit: limit.saturating_sub(prefix) }
        }
        SendError::Full | SendError::Unreachable => error,
    }
}
