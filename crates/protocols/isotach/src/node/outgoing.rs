//! What a node sends, and what waits for room.

use crate::codec::{
    AGREE, ANNOUNCE, Announced, Batch, DELIVERED, Delivered, PLAIN, Part, Plain, RECEIVED, SENT,
    write_announced, write_received,
};
use crate::frames::{self, EMPTY, Frames};
use crate::lane::Lane;
use crate::limits::{ANNOUNCEMENT_BYTES, MAX_GATHERED, RECEIVED_BYTES, SHORT_MESSAGE_BYTES};
use crate::logical_time::{Rank, View};
use quintet_contract::{Address, Bytes, Kind, NodeId, Outbox, Time, Token};
use quintet_wire::Encode;
use quintet_wire::registry::PORT_ISOTACH;
use std::collections::{BTreeMap, BTreeSet};

/// What goes with a frame for the program.
#[derive(Clone, Default, Debug)]
struct Beside {
    bulk: Bytes,
    /// Who is told, of what token, once the program has taken it.
    then: Option<(Address, Token)>,
}

/// Ways to all whom a node sends something.
#[derive(Debug)]
pub(super) struct Outgoing {
    callers: Address,
    manager: Address,
    /// What the program has not taken.
    to_callers: Frames<Beside>,
    callers_are_full: bool,
    lanes: BTreeMap<Address, Lane>,
    /// Those of the lanes on which something waits.
    unsent: BTreeSet<Address>,
    /// What token managers are told gathers in few frames until the burst ends: announcements.
    announcements: Batch,
    /// And whose parts are here, for this manager.
    received: (Address, Batch),
    /// How much that is.
    gathered: usize,
    /// When that burst began.
    burst: Option<Time>,
}

impl Outgoing {
    pub(super) fn new(callers: Address, manager: Address) -> Outgoing {
        Outgoing {
            callers,
            manager,
            to_callers: Frames::default(),
            callers_are_full: false,
            lanes: BTreeMap::new(),
            unsent: BTreeSet::new(),
            announcements: Batch::default(),
            received: (manager, Batch::default()),
            gathered: 0,
            burst: None,
        }
    }

    /// Where this node's token manager is.
    pub(super) fn manager(&self) -> Address {
        self.manager
    }

    pub(super) fn tell(&mut self, kind: Kind, token: Token, body: &impl Encode) {
        self.to_callers.push(kind, token, body);
    }

    /// Tells the program of a message: a long one is shared with it.
    pub(super) fn deliver(&mut self, message: Delivered<'_>, bytes: &Bytes) {
        let bulk = if bytes.len() > SHORT_MESSAGE_BYTES { bytes.clone() } else { Bytes::new() };
        self.to_callers.push_noted(DELIVERED, Token(0), &message.beside(&bulk), Beside { bulk, then: None });
    }

    /// Tells the program of a plain message; and once it has taken it, whoever is to know that it has arrived.
    pub(super) fn deliver_plain(&mut self, message: Plain<'_>, bulk: &Bytes, then: Option<(Address, Token)>) {
        let beside = Beside { bulk: bulk.clone(), then };
        self.to_callers.push_noted(PLAIN, Token(0), &message.beside(bulk), beside);
    }

    /// Whether the program has taken all that it was told.
    pub(super) fn is_program_told(&self) -> bool {
        self.to_callers.is_empty()
    }

    pub(super) fn push(&mut self, to: Address, kind: Kind, token: Token, body: &impl Encode) {
        self.lane(to).push(kind, token, body);
    }

    pub(super) fn push_plain(&mut self, to: Address, token: Token, message: Plain<'_>, bulk: &Bytes) {
        self.lane(to).push_with_bulk(PLAIN, token, &message.beside(bulk), bulk.clone());
    }

    pub(super) fn push_part(&mut self, to: Address, part: Part) {
        self.lane(to).push_part(part);
    }

    pub(super) fn announce(&mut self, view: View, announced: &Announced) {
        if !self.announcements.has_room(ANNOUNCEMENT_BYTES + 2 * announced.receivers.len()) {
            self.close_announcements(view);
        }
        write_announced(announced, self.announcements.sink());
        self.gathers_one_more(view);
    }

    /// Tells a sender's manager that a part is here.
    pub(super) fn acknowledge(&mut self, manager: Address, view: View, (sender, rank): (NodeId, Rank)) {
        if self.received.0 != manager || !self.received.1.has_room(RECEIVED_BYTES) {
            self.close_received(view);
        }
        self.received.0 = manager;
        write_received(sender, rank, self.received.1.sink());
        self.gathers_one_more(view);
    }

    /// Who has much to do may have no end of a burst for a while: others do not wait for that.
    fn gathers_one_more(&mut self, view: View) {
        self.gathered += 1;
        if self.gathered >= MAX_GATHERED {
            self.close(view);
        }
    }

    /// When the node wants to be woken, if something gathers.
    pub(super) fn deadline(&self) -> Option<Time> {
        self.burst
    }

    /// What gathers goes with the end of the burst, of which this is the time.
    pub(super) fn close_at_the_end_of_burst(&mut self, now: Time) {
        if self.gathered > 0 {
            self.burst.get_or_insert(now);
        }
    }

    /// The burst ends: what has gathered goes.
    pub(super) fn close(&mut self, view: View) {
        (self.gathered, self.burst) = (0, None);
        self.close_announcements(view);
        self.close_received(view);
    }

    fn close_announcements(&mut self, view: View) {
        if !self.announcements.is_empty() {
            let mut announcements = core::mem::take(&mut self.announcements);
            self.push(self.manager, ANNOUNCE, Token(0), &announcements.behind(view));
            announcements.clear();
            self.announcements = announcements;
        }
    }

    fn close_received(&mut self, view: View) {
        if !self.received.1.is_empty() {
            let (manager, mut received) = (self.received.0, core::mem::take(&mut self.received.1));
            self.push(manager, RECEIVED, Token(0), &received.behind(view));
            received.clear();
            self.received.1 = received;
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
        (self.gathered, self.burst) = (0, None);
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

    /// Sends what there is room for, and says of which isochrons parts have left.
    ///
    /// # Errors
    /// The way to this node takes no frame of the size that is needed.
    pub(super) fn flush(
        &mut self,
        out: &mut dyn Outbox,
        mut part_left: impl FnMut(Rank),
    ) -> Result<(), NodeId> {
        while !self.callers_are_full
            && let Some((frame, Beside { bulk, .. })) = self.to_callers.front()
        {
            if frames::send(out, self.callers, frame, bulk).is_err() {
                self.callers_are_full = true;
                break;
            }
            let then = self.to_callers.pop_front().and_then(|beside| beside.then);
            if let Some((to, token)) = then {
                self.push(to, SENT, token, &EMPTY);
            }
        }
        let mut too_narrow = None;
        self.unsent.retain(|to| {
            if too_narrow.is_some() {
                return true;
            }
            let Some(lane) = self.lanes.get_mut(to) else { return false };
            if lane.flush(*to, out, &mut part_left).is_err() {
                too_narrow = Some(to.node);
            }
            !lane.is_empty()
        });
        too_narrow.map_or(Ok(()), Err)
    }

    /// The way to an address, on which something is to wait.
    fn lane(&mut self, to: Address) -> &mut Lane {
        self.unsent.insert(to);
        self.lanes.entry(to).or_default()
    }
}
