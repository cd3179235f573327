//! What the loop does of the disk's work by itself.

use super::Engine;
use crate::inlets::Inlets;

impl Engine {
    /// Whether frames came over links.
    #[inline]
    pub(super) fn disturb_disk(&mut self, came: bool) {
        if came && let Some(disk) = self.ways.services.disk() {
            disk.disturb();
        }
    }

    /// Writes and syncs what was put off to the end of the turn, when all is sent. Whether there was something; the answer is for the next turn.
    #[inline]
    pub(super) fn work_disk(&mut self, inlets: &Inlets) -> bool {
        let Some(disk) = self.ways.services.disk().filter(|disk| disk.has_put_off()) else { return false };
        let answer = disk.work(|| inlets.is_called());
        self.ways.local.extend(answer);
        true
    }
}
