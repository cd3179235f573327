//! What a node sends, and what waits for room.

use crate::codec::{AGREE, ANNOUNCE, Announced, Batch, RECEIVED, write_announced, write_received};
use crate::lane::Lane;
use crate::limits::{ANNOUNCEMENT_BYTES, RECEIVED_BYTES};
use crate::logical_time::{Rank, View};
use quintet_contract::{Address, Bytes, Kind, NodeId, Outbox, OwnedFrame, Time, Token};
use quintet_wire::registry::PORT_ISOTACH;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Ways to all whom a node sends something.
#[derive(Debug)]
pub(super) struct Outgoing {
    callers: Address,
    manager: Address,
    /// What the program has not taken.
    to_callers: VecDeque<ToCaller>,
    callers_are_full: bool,
    lanes: BTreeMap<Address, Lane>,
    /// Those of the lanes on which something waits.
    unsent: BTreeSet<Address>,
    /// What token managers are told gathers in few frames until the burst ends: announcements.
    announcements: Batch,
    /// And whose parts are here, for this manager.
    received: (Address, Batch),
    /// When that burst began.
    burst: Option<Time>,
}

/// A frame for the program.
#[derive(Debug)]
pub(super) struct ToCaller {
    pub(super) frame: OwnedFrame,
    /// To whom a frame goes once the program has this one.
    pub(super) then: Option<(Address, OwnedFrame)>,
}

impl Outgoing {
    pub(super) fn new(callers: Address, manager: Address) -> Outgoing {
        Outgoing {
            callers,
            manager,
            to_callers: VecDeque::new(),
            callers_are_full: false,
            lanes: BTreeMap::new(),
            unsent: BTreeSet::new(),
            announcements: Batch::default(),
            received: (manager, Batch::default()),
            burst: None,
        }
    }

    /// Where this node's token manager is.
    pub(super) fn manager(&self) -> Address {
        self.manager
    }

    pub(super) fn tell(&mut self, kind: Kind, token: Token, body: Vec<u8>) {
        self.tell_and(ToCaller { frame: frame(kind, token, body), then: None });
    }

    pub(super) fn tell_and(&mut self, frame: ToCaller) {
        self.to_callers.push_back(frame);
    }

    /// Whether the program has taken all that it was told.
    pub(super) fn is_program_told(&self) -> bool {
        self.to_callers.is_empty()
    }

    pub(super) fn push(&mut self, to: Address, kind: Kind, token: Token, body: Vec<u8>) {
        self.lane(to).push(frame(kind, token, body));
    }

    pub(super) fn push_part(&mut self, to: Address, rank: Rank, kind: Kind, body: Vec<u8>) {
        let frame = frame(kind, Token(rank.0), body);
        self.lane(to).push_part(rank, frame);
    }

    pub(super) fn announce(&mut self, view: View, announced: &Announced) {
        if !self.announcements.has_room(ANNOUNCEMENT_BYTES + 2 * announced.receivers.len()) {
            self.close_announcements(view);
        }
        write_announced(announced, self.announcements.sink());
    }

    /// Tells a sender's manager that a part is here.
    pub(super) fn acknowledge(&mut self, manager: Address, view: View, (sender, rank): (NodeId, Rank)) {
        if self.received.0 != manager || !self.received.1.has_room(RECEIVED_BYTES) {
            self.close_received(view);
        }
        self.received.0 = manager;
        write_received(sender, rank, self.received.1.sink());
    }

    /// When the node wants to be woken, if something gathers.
    pub(super) fn deadline(&self) -> Option<Time> {
        self.burst
    }

    /// What gathers goes with the end of the burst, of which this is the time.
    pub(super) fn close_at_the_end_of_burst(&mut self, now: Time) {
        if !self.announcements.is_empty() || !self.received.1.is_empty() {
            self.burst.get_or_insert(now);
        }
    }

    /// The burst ends: what has gathered goes.
    pub(super) fn close(&mut self, view: View) {
        self.burst = None;
        self.close_announcements(view);
        self.close_received(view);
    }

    fn close_announcements(&mut self, view: View) {
        if !self.announcements.is_empty() {
            let body = self.announcements.take(|front| front.extend_from_slice(&view.0.to_le_bytes()));
            self.push(self.manager, ANNOUNCE, Token(0), body);
        }
    }

    fn close_received(&mut self, view: View) {
        let (manager, received) = &mut self.received;
        if !received.is_empty() {
            let (manager, body) =
                (*manager, received.take(|front| front.extend_from_slice(&view.0.to_le_bytes())));
            self.push(manager, RECEIVED, Token(0), body);
        }
    }

    pub(super) fn unblock(&mut self, at: Address) {
        if at == self.callers {
            self.callers_are_full = false;
        }
        self.lanes.get_mut(&at).into_iter().for_each(Lane::unblock);
    }

    /// Drops what waits and is of the view, which has ended.
    pub(super) fn forget_view(&mut self) {
        self.lanes.values_mut().for_each(Lane::forget_view);
        self.announcements = Batch::default();
        self.received.1 = Batch::default();
    }

    /// Begins a view, with its manager and nodes: for who is none of it nothing waits any more but what it has to hear of the agreement, if it is there.
    pub(super) fn begin_view(
        &mut self,
        manager: Address,
        is_node: impl Fn(NodeId) -> bool,
        gone: &BTreeSet<Address>,
    ) {
        self.manager = manager;
        self.lanes.retain(|to, lane| {
            if to.port != PORT_ISOTACH || is_node(to.node) {
                return true;
            }
            lane.keep_only(AGREE);
            !lane.is_empty() && !gone.contains(to)
        });
        self.forget_view();
    }

    /// Sends what there is room for: of which isochrons parts have left.
    ///
    /// # Errors
    /// The way to this node takes no frame of the size that is needed.
    pub(super) fn flush(&mut self, out: &mut dyn Outbox) -> Result<Vec<Rank>, NodeId> {
        while !self.callers_are_full
            && let Some(ToCaller { frame, .. }) = self.to_callers.front()
        {
            if out.send(self.callers, frame.kind, frame.token, &frame.body).is_err() {
                self.callers_are_full = true;
                break;
            }
            let then = self.to_callers.pop_front().and_then(|told| told.then);
            if let Some((to, frame)) = then {
                self.lane(to).push(frame);
            }
        }
        let mut left = Vec::new();
        let mut too_narrow = None;
        self.unsent.retain(|to| {
            if too_narrow.is_some() {
                return true;
            }
            let Some(lane) = self.lanes.get_mut(to) else { return false };
            match lane.flush(*to, out) {
                Ok(ranks) => left.extend(ranks),
                Err(_) => too_narrow = Some(to.node),
            }
            !lane.is_empty()
        });
        too_narrow.map_or(Ok(left), Err)
    }

    /// The way to an address, on which something is to wait.
    fn lane(&mut self, to: Address) -> &mut Lane {
        self.unsent.insert(to);
        self.lanes.entry(to).or_default()
    }
}

pub(super) fn frame(kind: Kind, token: Token, body: Vec<u8>) -> OwnedFrame {
    OwnedFrame { kind, token, body: body.into(), bulk: Bytes::new() }
}
