//! Links to more nodes than the one whose end ends the calls.

use super::Calls;
use crate::dialling::{Dialling, Redial};
use quintet_contract::Address;
use quintet_link::End;
use std::io;
use std::sync::PoisonError;

impl Calls {
    /// Joins the protocol to another node as well, whose end the calls outlive unless the protocol says otherwise. The link is made again when it
    /// was cut, if `redial` says how.
    ///
    /// # Errors
    /// There is a link to that node already, or no other link; or the system refuses to watch the link.
    pub fn also(&self, peer: Address, end: End, redial: Option<Redial>) -> io::Result<()> {
        let Some(inlets) = &self.inlets else {
            return Err(io::Error::new(io::ErrorKind::NotConnected, "an embedded protocol has no links"));
        };
        let mut inlets = inlets.lock().unwrap_or_else(PoisonError::into_inner);
        let mut engine = self.lock();
        let joined = vec![(self.at.port, peer.port)];
        inlets.attach(&mut engine, self.clock.now(), peer.node, joined.clone(), end)?;
        if let (Some(redial), Some(_)) = (redial, &self.arrivals) {
            inlets.dial(Dialling::new(peer.node, joined, redial));
        }
        self.unlock(engine);
        Ok(())
    }
}
