//! The kernel of another machine, through which the processes of a job there ask its space.

use super::Machine;
use super::service::Service;
use quintet::{Error, LinkAddress};
use quintet_launch::Start;
use std::sync::Arc;

/// One that was started.
pub(super) struct MachineKernel {
    address: LinkAddress,
    service: Service,
}

impl Machine {
    /// Starts it, to listen at this place in the job's folder there.
    ///
    /// # Errors
    /// As [`Machine::serve`].
    pub(in super::super) fn begin_kernel(self: &Arc<Self>, start: Start, place: &str) -> Result<(), Error> {
        let service = self.serve(start)?;
        let address = LinkAddress::SharedMemory(service.folder.join(place));
        // It is begun once.
        let _ = self.kernel.set(MachineKernel { address, service });
        Ok(())
    }

    /// Where processes there find it, if there is one.
    pub(in super::super) fn kernel(&self) -> Option<&LinkAddress> {
        self.kernel.get().map(|kernel| &kernel.address)
    }

    /// Whether there was one, and processes there have nobody to ask any more.
    pub(super) fn has_lost_kernel(&self) -> bool {
        self.kernel.get().is_some_and(|kernel| kernel.service.has_ended())
    }
}
