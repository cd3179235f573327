//! The sending halves of a node's links, by the peer's node.

use crate::measuring::Traffic;
use bytes::Bytes;
use quintet_contract::{Address, NodeId, Port, SendError};
use quintet_link::{Route, Sender};
use std::sync::Arc;

/// Tells the links of one engine apart, also those to one node after each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LinkId(pub(crate) u64);

/// The sending half of a peer's link, and which instances it joins.
pub(crate) struct Outlet {
    pub(crate) link: LinkId,
    pub(crate) peer: NodeId,
    pub(crate) sender: Box<dyn Sender>,
    /// Ends the sleep of the thread that waits at the receiving half.
    pub(crate) waker: Arc<dyn Fn() + Send + Sync>,
    /// Pairs of ports, this node's and the peer's.
    pub(crate) joined: Vec<(Port, Port)>,
    /// Instances that found no room, and whom they wanted to send to, each once.
    pub(crate) refused: Vec<(Port, Address)>,
    /// Frames were committed since the last flush.
    pub(crate) is_dirty: bool,
}

/// All of them. Small and sorted; it remembers where it looked last, for a frame is looked up several times.
#[derive(Default)]
pub(crate) struct Outlets {
    entries: Vec<Outlet>,
    last: usize,
    /// Peers whose links have something to flush, each once.
    dirty: Vec<NodeId>,
    /// Peers whose links refused a frame, each once.
    refusing: Vec<NodeId>,
    /// Over all links, also those that have ended.
    sent: Traffic,
}

impl Outlets {
    #[inline]
    fn find(&mut self, peer: NodeId) -> Result<usize, usize> {
        if self.entries.get(self.last).is_some_and(|outlet| outlet.peer == peer) {
            return Ok(self.last);
        }
        let found = self.entries.binary_search_by_key(&peer.0, |outlet| outlet.peer.0);
        if let Ok(at) = found {
            self.last = at;
        }
        found
    }

    /// The sending half of the link to a node.
    #[inline]
    pub(crate) fn get(&mut self, peer: NodeId) -> Option<&mut Outlet> {
        let at = self.find(peer).ok()?;
        Some(&mut self.entries[at])
    }

    /// Whether there is a link to a node.
    pub(crate) fn contains(&self, peer: NodeId) -> bool {
        self.entries.binary_search_by_key(&peer.0, |outlet| outlet.peer.0).is_ok()
    }

    /// Adds a link. There must be none to that node.
    pub(crate) fn insert(&mut self, outlet: Outlet) {
        match self.find(outlet.peer) {
            Ok(_) => unreachable!("whoever adds a link has looked"),
            Err(at) => self.entries.insert(at, outlet),
        }
    }

    /// Takes a link out, unless another one to that node has taken its place.
    pub(crate) fn remove_link(&mut self, peer: NodeId, link: LinkId) -> Option<Outlet> {
        let at = self.find(peer).ok().filter(|at| self.entries[*at].link == link)?;
        Some(self.entries.remove(at))
    }

    /// Takes the link to a node out.
    pub(crate) fn remove(&mut self, peer: NodeId) -> Option<Outlet> {
        let at = self.find(peer).ok()?;
        Some(self.entries.remove(at))
    }

    /// Room for a frame in the link to its receiver's node.
    ///
    /// # Errors
    /// As [`Sender::begin`]; a refusal for want of room is remembered.
    #[inline]
    pub(crate) fn begin(&mut self, route: Route, at_most: usize) -> Result<&mut [u8], SendError> {
        let at = self.find(route.to.node).map_err(|_| SendError::Unreachable)?;
        let Outlet { sender, refused, .. } = &mut self.entries[at];
        let refusing = &mut self.refusing;
        sender.begin(route, at_most).inspect_err(|error| note_refusal(*error, route, refused, refusing))
    }

    /// Has the frame begun last in the link to a node stamped.
    pub(crate) fn stamp(&mut self, peer: NodeId) {
        if let Some(outlet) = self.get(peer) {
            outlet.sender.stamp();
        }
    }

    /// All of them.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Outlet> {
        self.entries.iter_mut()
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// What went out so far.
    pub(crate) fn sent(&self) -> Traffic {
        self.sent
    }

    /// Takes some link out, if there is one.
    pub(crate) fn pop(&mut self) -> Option<Outlet> {
        self.entries.pop()
    }

    /// Sends the frame begun last in the link to a node, `len` bytes of it.
    #[inline]
    pub(crate) fn commit(&mut self, peer: NodeId, len: usize) {
        if let Ok(at) = self.find(peer) {
            self.entries[at].sender.commit(len);
            self.sent.add(len);
            self.mark_dirty(at);
        }
    }

    /// Sends a body with bulk to its receiver's node.
    ///
    /// # Errors
    /// As [`Sender::send_bulk`]; a refusal for want of room is remembered.
    pub(crate) fn send_bulk(&mut self, route: Route, head: &[u8], bulk: Bytes) -> Result<(), SendError> {
        let at = self.find(route.to.node).map_err(|_| SendError::Unreachable)?;
        let bytes = head.len() + bulk.len();
        let Outlet { sender, refused, .. } = &mut self.entries[at];
        let sent = sender.send_bulk(route, head, bulk);
        sent.inspect_err(|error| note_refusal(*error, route, refused, &mut self.refusing))?;
        self.sent.add(bytes);
        self.mark_dirty(at);
        Ok(())
    }

    #[inline]
    fn mark_dirty(&mut self, at: usize) {
        let outlet = &mut self.entries[at];
        if !outlet.is_dirty {
            outlet.is_dirty = true;
            self.dirty.push(outlet.peer);
        }
    }

    /// Whether some link has something to flush.
    #[inline]
    pub(crate) fn is_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// Takes a peer whose link has something to flush.
    #[inline]
    pub(crate) fn next_dirty(&mut self) -> Option<&mut Outlet> {
        while let Some(peer) = self.dirty.pop() {
            if let Ok(at) = self.find(peer) {
                let outlet = &mut self.entries[at];
                outlet.is_dirty = false;
                return Some(outlet);
            }
        }
        None
    }

    /// Takes the instances that may try again, and whom they wanted to send to.
    pub(crate) fn with_room(&mut self) -> Vec<(Port, Address)> {
        let mut told = Vec::new();
        let mut refusing = core::mem::take(&mut self.refusing);
        refusing.retain(|peer| {
            let Some(outlet) = self.get(*peer) else { return false };
            let has_room = outlet.sender.has_room();
            if has_room {
                told.append(&mut outlet.refused);
            }
            !has_room
        });
        self.refusing = refusing;
        told
    }

    /// Whether some link refused a frame and nobody was told yet that there is room.
    #[inline]
    pub(crate) fn is_refusing(&self) -> bool {
        !self.refusing.is_empty()
    }
}

/// Remembers who found no room in a link.
#[inline]
fn note_refusal(
    error: SendError,
    route: Route,
    refused: &mut Vec<(Port, Address)>,
    refusing: &mut Vec<NodeId>,
) {
    if error != SendError::Full {
        return;
    }
    if refused.is_empty() {
        refusing.push(route.to.node);
    }
    let who = (route.from.port, route.to);
    if !refused.contains(&who) {
        refused.push(who);
    }
}
