//! How the link is made again on which all calls depend.

use super::Calls;
use crate::dialling::{Dialling, Elsewhere, Redial};
use crate::engine::Redials;
use crate::failure::is_cut;
use quintet_link::LinkAddress;
use std::sync::PoisonError;

impl Calls {
    /// Has the link made again when it is cut from now on, or was just before: one that may be cut; and, where the protocol says that calls go on
    /// ([`CALLS_GO_ON`](quintet_wire::registry::CALLS_GO_ON)), whatever ended it.
    pub fn redial(&self, redial: Redial) {
        self.redial_among(redial, Elsewhere::default());
    }

    /// As [`redial`](Calls::redial), where nodes elsewhere may take the peer's place. While calls go on, a link is made to the next of them whatever
    /// ended the last one, until the protocol says again that they do, or the window is over.
    pub fn redial_among(&self, redial: Redial, elsewhere: Elsewhere) {
        let (Some(peer), Some(inlets), false) = (self.peer, &self.inlets, self.is_inherited()) else {
            return;
        };
        // Without a descriptor nobody could wait for another link.
        if self.arrivals.is_none() {
            return;
        }
        let mut inlets = inlets.lock().unwrap_or_else(PoisonError::into_inner);
        let mut engine = self.lock();
        let ended = engine.how_ended();
        if elsewhere.others.is_empty() && ended.is_some_and(|cause| !is_cut(cause)) {
            return;
        }
        let redials = match &redial.address {
            _ if !elsewhere.others.is_empty() => Redials::ElsewhereToo,
            LinkAddress::SharedMemory(_) => Redials::WhereCallsGoOn,
            _ => Redials::WhenCut,
        };
        let joined = vec![(self.at.port, peer.port)];
        let mut dialling = Dialling::new(peer.node, joined, redial).among(elsewhere);
        if let Some(cause) = ended {
            dialling.cut(cause, self.clock.now());
        }
        inlets.dial(dialling);
        engine.depend_on(peer.node, redials);
    }
}
