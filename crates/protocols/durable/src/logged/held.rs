//! What the protocol sent: held back until its input is durable, and then until its link takes it.

use quintet_contract::limits::MAX_PAYLOAD_BYTES;
use quintet_contract::{
    Address, Bytes, CELL_WORDS, Cell, Disconnect, Draft, Kind, LinkInfo, Outbox, OwnedFrame, PeerMap, Seen,
    SendError, Stage, Token,
};
use std::collections::{BTreeMap, VecDeque};

/// Something that the protocol did to the world.
#[derive(Debug)]
enum Item {
    Frame(Address, OwnedFrame),
    Disconnect(Address, Disconnect),
}

impl Item {
    fn peer(&self) -> Address {
        match self {
            Item::Frame(peer, _) | Item::Disconnect(peer, _) => *peer,
        }
    }
}

/// What has not gone so far.
#[derive(Debug, Default)]
pub struct Held {
    /// Each with the batch after which it may go, oldest first.
    undurable: VecDeque<(u64, Item)>,
    /// The batch of what is sent now.
    batch: u64,
    /// Frames that may go, and for which their links had no room.
    stuck: BTreeMap<Address, VecDeque<OwnedFrame>>,
}

impl Held {
    /// What is sent from now on may go when that batch is durable.
    pub fn begin(&mut self, batch: u64) {
        self.batch = batch;
    }

    /// How much is held back.
    #[must_use]
    pub fn count(&self) -> usize {
        self.undurable.len() + self.stuck.values().map(VecDeque::len).sum::<usize>()
    }

    /// Drops all.
    pub fn clear(&mut self) {
        self.undurable.clear();
        self.stuck.clear();
    }

    /// Nobody waits at that address any more: who comes there next is somebody else.
    pub fn forget(&mut self, address: Address) {
        self.undurable.retain(|(_, item)| item.peer() != address);
        self.stuck.remove(&address);
    }

    /// Sends what may go: all whose batch is durable.
    pub fn release(&mut self, is_durable: impl Fn(u64) -> bool, out: &mut dyn Outbox) {
        while let Some((_, item)) = self.undurable.pop_front_if(|(batch, _)| is_durable(*batch)) {
            match item {
                Item::Disconnect(peer, how) => {
                    self.stuck.remove(&peer);
                    out.disconnect(peer, how);
                }
                Item::Frame(to, frame) => {
                    let is_stuck = self.stuck.contains_key(&to);
                    if is_stuck || pass(to, &frame, out) == Err(SendError::Full) {
                        self.stuck.entry(to).or_default().push_back(frame);
                    }
                }
            }
        }
    }

    /// Tries again what a link had no room for.
    pub fn retry(&mut self, to: Address, out: &mut dyn Outbox) {
        let Some(frames) = self.stuck.get_mut(&to) else { return };
        while let Some(frame) = frames.front() {
            if pass(to, frame, out) == Err(SendError::Full) {
                return;
            }
            frames.pop_front();
        }
        self.stuck.remove(&to);
    }
}

/// Sends a frame. Who is not there any more misses nothing: he was told that this side is gone, or this side will learn that he is.
fn pass(to: Address, frame: &OwnedFrame, out: &mut dyn Outbox) -> Result<(), SendError> {
    let OwnedFrame { kind, token, body, bulk } = frame;
    match bulk.is_empty() {
        true => out.send(to, *kind, *token, body),
        false => out.send_bulk(to, *kind, *token, body, bulk.clone()),
    }
}

/// The protocol's outbox. It refuses only what follows from the log: what is longer than a peer takes.
pub(crate) struct Holding<'a> {
    me: Address,
    links: &'a PeerMap<LinkInfo>,
    held: &'a mut Held,
    out: &'a mut dyn Outbox,
    begun: Option<Draft>,
}

impl<'a> Holding<'a> {
    pub(crate) fn new(
        me: Address,
        links: &'a PeerMap<LinkInfo>,
        held: &'a mut Held,
        out: &'a mut dyn Outbox,
    ) -> Holding<'a> {
        Holding { me, links, held, out, begun: None }
    }

    fn admit(&self, to: Address, body: usize, bulk: usize) -> Result<(), SendError> {
        let (max_body, max_bulk) = match self.links.get(to) {
            Some(link) => (link.max_body_bytes.min(MAX_PAYLOAD_BYTES), link.max_bulk_bytes),
            None if to.node == self.me.node => (MAX_PAYLOAD_BYTES, usize::MAX),
            None => return Err(SendError::Unreachable),
        };
        for (len, limit) in [(body, max_body), (bulk, max_bulk)] {
            if len > limit {
                return Err(SendError::TooLong { len, limit });
            }
        }
        Ok(())
    }

    fn hold(&mut self, item: Item) {
        self.held.undurable.push_back((self.held.batch, item));
    }
}

impl Outbox for Holding<'_> {
    fn begin(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        at_most: usize,
    ) -> Result<&mut [u8], SendError> {
        self.admit(to, at_most, 0)?;
        Ok(self.begun.insert(Draft::new(to, kind, token, at_most)).room())
    }

    fn commit(&mut self, len: usize) {
        let (to, frame) = self.begun.take().expect("commit follows begin").commit(len);
        self.hold(Item::Frame(to, frame));
    }

    fn send_bulk(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        head: &[u8],
        bulk: Bytes,
    ) -> Result<(), SendError> {
        self.admit(to, head.len(), bulk.len())?;
        self.hold(Item::Frame(to, OwnedFrame { kind, token, body: Bytes::copy_from_slice(head), bulk }));
        Ok(())
    }

    fn disconnect(&mut self, peer: Address, how: Disconnect) {
        self.begun = None;
        self.hold(Item::Disconnect(peer, how));
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
