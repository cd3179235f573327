//! Modelled machines and what joins them.

use crate::costs::WorkCosts;
use crate::link::Link;
use quintet_simulate::device::{BusParameters, DeviceModel, Forwarding, Framing, SwitchParameters, WhenFull};
use quintet_simulate::{Picos, ProcessorModel};

/// Machines and their network.
#[derive(Clone, PartialEq, Debug)]
pub struct Cluster {
    /// At least one.
    pub machines: Vec<Machine>,
    /// What joins them; none is needed for one machine.
    pub network: Option<Network>,
    /// What joins processes of one machine.
    pub link: Link,
    /// From when a frame is in such a link until its receiver sees it.
    pub link_latency: Picos,
    /// What work costs.
    pub costs: WorkCosts,
}

/// A machine.
#[derive(Clone, PartialEq, Debug)]
pub struct Machine {
    /// The name that places give; several machines may have the same.
    pub group: String,
    /// Its processors.
    pub cores: u32,
    /// How fast they are, relative to the machine on which the costs were measured.
    pub speed: f64,
    /// How long a process runs while others on its core are ready.
    pub time_slice: Picos,
}

/// A network with one line to each machine.
#[derive(Clone, PartialEq, Debug)]
pub struct Network {
    /// Whether all share one medium; otherwise a switch gives each machine its own, full duplex.
    pub shared: bool,
    /// Bytes a second of a line.
    pub rate: f64,
    /// From a packet's last bit in to when it may leave, adapters and cables included.
    pub latency: Picos,
    /// The most bytes of a packet.
    pub packet_bytes: u32,
    /// What each packet carries besides.
    pub header_bytes: u32,
    /// What the system needs to send a frame on a processor of speed 1, in seconds.
    pub sending: f64,
    /// What it needs to receive one.
    pub receiving: f64,
}

impl Machine {
    /// A machine of speed 1.
    #[must_use]
    pub fn new(group: &str, cores: u32) -> Machine {
        Machine { group: group.to_owned(), cores, speed: 1.0, time_slice: Picos(20_000_000) }
    }

    /// One of its processors. A cycle is a nanosecond at speed 1, rounded to whole picoseconds.
    pub(crate) fn processor(&self) -> ProcessorModel {
        let cycle = Picos::from_seconds(1e-9 / self.speed).max(Picos(1));
        ProcessorModel { cycle, time_slice: Some(self.time_slice), ..ProcessorModel::default() }
    }
}

impl Network {
    /// A switch with lines of so many bits a second.
    #[must_use]
    pub fn switched(bits_per_second: f64, latency: Picos) -> Network {
        Network {
            shared: false,
            rate: bits_per_second / 8.0,
            latency,
            packet_bytes: 1460,
            header_bytes: 78,
            sending: 2e-6,
            receiving: 2e-6,
        }
    }

    /// The device that joins so many machines.
    pub(crate) fn device(&self, machines: usize) -> DeviceModel {
        let byte = Picos::from_seconds(1.0 / self.rate).max(Picos(1));
        let framing = Framing {
            cycle_time: byte,
            bits_per_cycle: 8,
            cycles_per_word: 1,
            word_overhead: Picos::ZERO,
            words_per_block: self.packet_bytes,
            block_overhead: byte.times(self.header_bytes.into()),
        };
        // A device has two stations at least.
        let stations = machines.max(2);
        if self.shared {
            let stations = u16::try_from(stations).unwrap_or(u16::MAX);
            return DeviceModel::Bus(BusParameters { framing, stations });
        }
        DeviceModel::Switch(SwitchParameters {
            framing,
            cycle_times: vec![byte; stations],
            latency: self.latency,
            forwarding: Forwarding::StoreAndForward,
            buffer_bytes: u64::MAX,
            when_full: WhenFull::Pause,
        })
    }
}
