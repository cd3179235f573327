//! A plant at work.

use super::case::Lan;
use super::element::{Element, client_of};
use quintet_contract::Span;
use quintet_simulate::{DeviceId, Picos, ProcessorId, Simulation};

/// A plant at work: what may be read off it.
pub(super) struct Running {
    run: Simulation,
    processors: [Vec<ProcessorId>; Element::COUNT as usize],
    lan_kind: Lan,
    vmebus: DeviceId,
    lan: DeviceId,
}

impl Running {
    pub(super) fn new(
        run: Simulation,
        processors: [Vec<ProcessorId>; Element::COUNT as usize],
        lan_kind: Lan,
        [vmebus, lan]: [DeviceId; 2],
    ) -> Running {
        Running { run, processors, lan_kind, vmebus, lan }
    }

    pub(super) fn run_for(&mut self, seconds: f64) {
        self.run.run_for(Span::from_micros((seconds * 1e6) as u64));
    }

    /// The end of the warm-up: utilisations count from here on.
    pub(super) fn reset_statistics(&mut self) {
        self.run.reset_statistics();
    }

    /// The reads or jobs that ended since this was last asked: for which client, and when.
    pub(super) fn take_ended(&mut self) -> Vec<(u16, Picos)> {
        self.run.take_marks().map(|mark| (client_of(mark.node), mark.at)).collect()
    }

    /// The share of time in which an element was busy, in percent; the mean over all that there are.
    pub(super) fn utilisation(&self, element: Element) -> f64 {
        let processors = &self.processors[element as usize];
        let sum: f64 = processors.iter().map(|id| self.run.processor_statistics(*id).utilisation).sum();
        100.0 * sum / processors.len() as f64
    }

    /// That of the LAN. Of a switch: how much of one full duplex port's time in one direction all frames take together.
    /// All of them but the background load pass the server's port, in or out; so it is an upper bound of what that carries.
    pub(super) fn lan_utilisation(&self) -> f64 {
        let statistics = self.run.device_statistics(self.lan);
        let ports = match self.lan_kind {
            Lan::Switched { .. } => f64::from(statistics.carriers),
            Lan::Ethernet | Lan::Fddi => 1.0,
        };
        100.0 * statistics.utilisation() * ports
    }

    /// That of the server's bus.
    pub(super) fn vmebus_utilisation(&self) -> f64 {
        100.0 * self.run.device_statistics(self.vmebus).utilisation()
    }

    /// Messages that the LAN gave up: who waits for one waits for ever.
    pub(super) fn lost(&self) -> u64 {
        self.run.device_statistics(self.lan).dropped
    }

    pub(super) fn digest(&self) -> u64 {
        self.run.digest()
    }
}
