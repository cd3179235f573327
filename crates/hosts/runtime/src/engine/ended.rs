//! The end of a link: its sending half is closed, the instances that it joined are told, and the callers who wait for what does not come.

use super::{Dependence, Ended, Engine, Redials};
use crate::event::{Event, log_link_ended};
use crate::failure::{cause, is_cut, is_remarkable};
use crate::outlets::{LinkId, Outlet};
use quintet_contract::{Address, DownCause, Input, NodeId, PeerChange, Time};
use quintet_link::LinkError;
use quintet_messaging::relay;

impl Engine {
    /// A link to a node failed.
    pub(crate) fn fail(&mut self, now: Time, (peer, link): (NodeId, LinkId), error: &LinkError) {
        let Some(outlet) = self.ways.outlets.remove_link(peer, link) else { return };
        if is_remarkable(error) {
            self.tell(&Event::LinkFailed { peer, why: error.clone() });
        }
        let is_dialled = self.depends_on.is_some_and(|on| on.peer == peer);
        self.lost = Some(if is_dialled && self.comes_back(peer, cause(error)) {
            // Calls fail only if this is what becomes of it.
            "the link was cut, and the server did not come back in time, or came back as another".to_owned()
        } else {
            error.to_string()
        });
        self.end(now, outlet, cause(error));
    }

    /// A peer sent over a link what no honest peer sends.
    pub(crate) fn cut(&mut self, now: Time, (peer, link): (NodeId, LinkId)) {
        if let Some(outlet) = self.ways.outlets.remove_link(peer, link) {
            self.end(now, outlet, DownCause::Misbehaved);
        }
    }

    /// Closes the sending half, by which the peer learns of the end, and tells every instance that the link joined.
    pub(super) fn end(&mut self, now: Time, outlet: Outlet, cause: DownCause) {
        let Outlet { link, peer, sender, waker, joined, .. } = outlet;
        drop(sender);
        log_link_ended(self.id, peer, link.0, cause);
        let comes_back = self.comes_back(peer, cause);
        // For the protocols its end is a cut: they go on as well.
        let cause = if comes_back && cause == DownCause::Closed { DownCause::Died } else { cause };
        let went_on = self.ways.went_on;
        self.over.push(Ended { link, peer, cause, comes_back, went_on });
        waker();
        for (here, there) in joined {
            let there = Address { node: peer, port: there };
            self.give(now, here, Input::Peer(there, &PeerChange::Down(cause)));
        }
        let Some(dependence) = self.depends_on.as_mut().filter(|dependence| dependence.peer == peer) else {
            return;
        };
        dependence.ended = Some(cause);
        if !comes_back {
            self.fail_calls(cause);
        }
    }

    /// Whether another link to a peer may be made once there is none.
    pub(super) fn may_come_back(&self, peer: NodeId) -> bool {
        self.depends_on.filter(|on| on.peer == peer).is_some_and(|on| match on.redials {
            Redials::Never => false,
            Redials::WhereCallsGoOn | Redials::ElsewhereToo => self.ways.calls_go_on,
            Redials::WhenCut => true,
        })
    }

    /// Whether the link is missing without which no call is answered, and may be made again.
    pub(crate) fn lacks_link(&self) -> bool {
        let is_lacking = |on: Dependence| !self.is_linked(on.peer) && self.may_come_back(on.peer);
        !self.is_closed && self.depends_on.is_some_and(is_lacking)
    }

    /// Whether another one is made where that link ends.
    pub(crate) fn is_redialled(&self) -> bool {
        !self.is_closed && self.depends_on.is_some_and(|on| self.may_come_back(on.peer))
    }

    /// Whether calls go on that were to be said to go on over the link that is there, and were not so far.
    pub(crate) fn is_to_go_on(&self) -> bool {
        self.ways.calls_go_on && !self.ways.went_on
    }

    /// Whether another link is made to a peer whose link ended like this, by whoever dials it.
    fn comes_back(&self, peer: NodeId, cause: DownCause) -> bool {
        match self.depends_on.filter(|on| on.peer == peer) {
            None => is_cut(cause),
            // The program is done with it.
            Some(_) if self.is_closed => false,
            Some(on) if on.redials == Redials::ElsewhereToo => self.ways.calls_go_on,
            Some(on) if on.redials != Redials::Never && self.ways.calls_go_on => {
                is_cut(cause) || cause == DownCause::Closed
            }
            Some(on) => on.redials == Redials::WhenCut && is_cut(cause),
        }
    }

    /// Fails every call that has no answer. The protocol may have failed them itself, and knows better why.
    fn fail_calls(&mut self, cause: DownCause) {
        self.depends_on =
            self.depends_on.map(|dependence| Dependence { redials: Redials::Never, ..dependence });
        if let Some(slots) = &mut self.ways.slots {
            slots.fail_all(relay::loss(cause));
        }
    }

    #[cfg(test)]
    pub(crate) fn say_that_calls_go_on(&mut self) {
        (self.ways.calls_go_on, self.ways.went_on) = (true, true);
    }

    /// Whether a peer may stay away for as long as it likes: calls go on whenever a link leads to it again, and none is under way.
    pub(crate) fn is_missed_by_nobody(&self, peer: NodeId) -> bool {
        let depends = self.depends_on.is_some_and(|on| on.peer == peer);
        let slots = self.ways.slots.as_ref().filter(|_| depends && self.may_come_back(peer));
        self.ways.calls_go_on && slots.is_some_and(|slots| !slots.has_unanswered())
    }

    /// A link to a node is not made, or not made again after it was cut like this.
    pub(crate) fn give_up(&mut self, peer: NodeId, cause: DownCause) {
        self.tell(&Event::NotReached { peer });
        if self.depends_on.is_some_and(|dependence| dependence.peer == peer) {
            self.fail_calls(cause);
        }
    }
}
