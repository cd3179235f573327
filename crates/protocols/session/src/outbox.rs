//! The way out for the protocol above: every frame to another node gets its number.

use crate::codec::{PREFIX_BYTES, Prefix};
use crate::config::{Role, SessionConfig};
use crate::counters::Counters;
use crate::handshake::Phase;
use crate::peer::Peer;
use crate::ports::PortPair;
use crate::retention::{Exit, Kept};
use crate::stream::{Stream, earlier};
use quintet_contract::limits::PORTS_PREFIX_BYTES;
use quintet_contract::{
    Address, Bytes, CELL_WORDS, Cell, Disconnect, DownCause, Kind, Outbox, PeerMap, Port, Seen, SendError,
    Stage, Time, Token,
};
use quintet_wire::registry::{PORTS, SESSION, is_service};

/// Wraps the outbox below.
pub struct SessionOutbox<'a> {
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
    /// The instance that sends, where several share the session with a node: its frames say whose they are.
    pub(crate) port: Option<Port>,
    /// The services of the host whose answers find that instance.
    pub(crate) services: &'static [Port],
    /// What is to be seen to once that instance has had its say.
    pub(crate) noted: &'a mut Vec<Noted>,
}

/// What came of an instance's sending.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Noted {
    /// There was no room for what it wanted to send there.
    Full(Address),
    /// It has broken with that address, whose node passes on the frames of others: those keep their link. The instance learns this cause.
    Broken(Address, DownCause),
}

/// The frame begun.
pub(crate) enum Begun {
    /// None, or one of this node: nothing is to be done at its commit but the commit.
    Untouched,
    /// One that lies in the link, so many bytes before its body.
    Numbered(Address, usize),
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
        let is_own = SESSION.contains(kind) || self.port.is_some() && PORTS.contains(kind);
        assert!(!is_own, "the protocol above sends a frame of kind {}, the session's own", kind.0);
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

    /// What a peer is, by its session.
    pub(crate) fn role_of(&self, at: Address) -> Role {
        let stream = self.peers.get(at).and_then(|peer| peer.phase.stream());
        stream.map_or(Role::default(), |stream| stream.peer.role)
    }

    /// Whether a frame may go to a port of the own node.
    #[inline]
    fn admit_within(&self, to: Port) -> Result<(), SendError> {
        if !is_service(to) || self.services.contains(&to) { Ok(()) } else { Err(SendError::Unreachable) }
    }

    /// Where a frame to an address goes, and what says which instances it is between.
    #[inline]
    fn route(&self, to: Address) -> (Address, Option<PortPair>) {
        match self.port {
            None => (to, None),
            Some(from) => {
                let pair = PortPair { from, to: to.port };
                (Address { node: to.node, port: self.config.me.port }, Some(pair))
            }
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

    fn send_with_bulk(
        &mut self,
        (at, pair): (Address, Option<PortPair>),
        kind: Kind,
        token: Token,
        head: &[u8],
        bulk: Bytes,
    ) -> Result<(), SendError> {
        let pair = pair.map(PortPair::to_bytes);
        let front = pair.as_ref().map_or(&[][..], |bytes| bytes);
        match self.way(at, kind, bulk.len())? {
            Way::Numbered(prefix) => {
                self.head.clear();
                self.head.resize(PREFIX_BYTES, 0);
                prefix.write(self.head);
                self.head.extend_from_slice(front);
                self.head.extend_from_slice(head);
                let sent = self.out.send_bulk(at, kind, token, self.head, bulk);
                sent.map_err(|error| without(error, PREFIX_BYTES + front.len()))?;
                self.numbered(at);
            }
            Way::Kept => {
                let len = front.len() + head.len();
                let reserved = self.reserve(at, len, bulk.len());
                let (mut room, prefix) = reserved.map_err(|error| without(error, front.len()))?;
                let body = &mut room[prefix..prefix + len];
                body[..front.len()].copy_from_slice(front);
                body[front.len()..].copy_from_slice(head);
                let mut frame = Kept::new(kind, token, room, bulk);
                frame.len = prefix + len;
                self.keep(at, frame);
            }
        }
        Ok(())
    }

    /// Room for a frame that is kept.
    fn begin_kept(
        &mut self,
        to: Address,
        (at, pair): (Address, Option<PortPair>),
        (kind, token): (Kind, Token),
        at_most: usize,
    ) -> Result<&mut [u8], SendError> {
        let pair = pair.map(PortPair::to_bytes);
        let front = pair.as_ref().map_or(&[][..], |bytes| bytes);
        let (mut room, prefix) = match self.reserve(at, front.len() + at_most, 0) {
            Ok(reserved) => reserved,
            Err(error) => return Err(refusal(self.noted, self.port, to, error, front.len())),
        };
        room[prefix..prefix + front.len()].copy_from_slice(front);
        let prefix = prefix + front.len();
        let mut frame = Kept::new(kind, token, room, Bytes::new());
        frame.len = prefix + at_most;
        self.begun = Begun::Kept(at, frame, prefix);
        match &mut self.begun {
            Begun::Kept(_, frame, _) => Ok(&mut frame.room[prefix..prefix + at_most]),
            _ => unreachable!("set in the line before"),
        }
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
            self.admit_within(to.port)?;
            return self.out.begin(to, kind, token, at_most);
        }
        let (at, pair) = self.route(to);
        let front = if pair.is_some() { PORTS_PREFIX_BYTES } else { 0 };
        match self.way(at, kind, 0) {
            Ok(Way::Numbered(prefix)) => {
                let front = PREFIX_BYTES + front;
                self.begun = Begun::Numbered(at, front);
                match self.out.begin(at, kind, token, at_most + front) {
                    Ok(room) => {
                        let (prefixes, body) = room.split_at_mut(front);
                        prefix.write(prefixes);
                        if let Some(pair) = pair {
                            pair.write(&mut prefixes[PREFIX_BYTES..]);
                        }
                        Ok(body)
                    }
                    Err(error) => Err(refusal(self.noted, self.port, to, error, front)),
                }
            }
            Ok(Way::Kept) => self.begin_kept(to, (at, pair), (kind, token), at_most),
            Err(error) => Err(refusal(self.noted, self.port, to, error, 0)),
        }
    }

    fn commit(&mut self, len: usize) {
        match core::mem::replace(&mut self.begun, Begun::Untouched) {
            Begun::Untouched => self.out.commit(len),
            Begun::Numbered(to, front) => {
                self.out.commit(len + front);
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
            Begun::Untouched | Begun::Numbered(..) => self.out.stamp(),
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
            self.admit_within(to.port)?;
            return self.out.send_bulk(to, kind, token, head, bulk);
        }
        let (at, pair) = self.route(to);
        let sent = self.send_with_bulk((at, pair), kind, token, head, bulk);
        sent.map_err(|error| refusal(self.noted, self.port, to, error, 0))
    }

    fn disconnect(&mut self, peer: Address, how: Disconnect) {
        self.begun = Begun::Untouched;
        // The link is the two nodes'.
        let address = peer;
        let (peer, pair) = if peer.node == self.config.me.node { (peer, None) } else { self.route(peer) };
        if pair.is_some() && self.role_of(peer) == Role::KERNEL {
            self.noted.push(Noted::Broken(address, how.cause()));
            return;
        }
        let Some(known) = self.peers.get_mut(peer) else { return self.out.disconnect(peer, how) };
        let is_expired = match how {
            Disconnect::ForGood => {
                // The session stays until the host says that the link is down: that ends it, and tells the protocol above.
                known.disconnect(self.out);
                known.expire(self.now)
            }
            Disconnect::UntilNextLink => known.let_go(self.now, self.out),
        };
        if is_expired {
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

/// A refusal as the instance sees it that sends. One for want of room is noted, if it shares its session.
#[cold]
fn refusal(
    noted: &mut Vec<Noted>,
    port: Option<Port>,
    to: Address,
    error: SendError,
    front: usize,
) -> SendError {
    if error == SendError::Full && port.is_some() && noted.last() != Some(&Noted::Full(to)) {
        noted.push(Noted::Full(to));
    }
    without(error, front)
}

/// A lower limit as the protocol above sees it. (Of bulk, which no prefix narrows, it is told a little less than the link takes.)
fn without(error: SendError, prefix: usize) -> SendError {
    match error {
        SendError::TooLong { len, limit } => {
            SendError::TooLong { len: len.saturating_sub(prefix), limit: limit.saturating_sub(prefix) }
        }
        SendError::Full | SendError::Unreachable => error,
    }
}
