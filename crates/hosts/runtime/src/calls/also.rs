//! Links to more nodes than the one whose end ends the calls.

use super::Calls;
use crate::dialling::{Dialling, Redial};
use quintet_contract::{Address, DownCause};
use quintet_link::End;
use std::io;
use std::sync::PoisonError;

impl Calls {
    /// Joins the protocol to another node as well, whose end the calls outlive unless the protocol says otherwise.
    ///
    /// # Errors
    /// There is a link to that node already, or no other link; or the system refuses to watch the link.
    pub fn also(&self, peer: Address, end: End) -> io::Result<()> {
        let Some(inlets) = &self.inlets else {
            return Err(io::Error::new(io::ErrorKind::NotConnected, "an embedded protocol has no links"));
        };
        let mut inlets = inlets.lock().unwrap_or_else(PoisonError::into_inner);
        let mut engine = self.lock();
        inlets.attach(&mut engine, self.clock.now(), peer.node, vec![(self.at.port, peer.port)], end)?;
        self.unlock(engine);
        Ok(())
    }

    /// Has the link to such a node made again when it is cut from now on, or was just before.
    pub fn redial_also(&self, peer: Address, redial: Redial) {
        // Without a descriptor nobody could wait for another link.
        let (Some(inlets), Some(_), false) = (&self.inlets, &self.arrivals, self.is_inherited()) else {
            return;
        };
        let mut inlets = inlets.lock().unwrap_or_else(PoisonError::into_inner);
        let engine = self.lock();
        let mut dialling = Dialling::new(peer.node, vec![(self.at.port, peer.port)], redial);
        if !engine.is_linked(peer.node) {
            dialling.cut(DownCause::Died, self.clock.now());
        }
        inlets.dial(dialling);
    }
}
