//! What a switch, or a link, is made of.

use super::super::error::{DeviceError, above_zero, connected};
use super::super::framing::Framing;
use crate::picos::Picos;

/// When a switch passes a block on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Forwarding {
    /// When all of it is in.
    StoreAndForward,
    /// When so many of its bytes are in, or all of it. A block cannot leave sooner than it came, latency added.
    CutThrough {
        /// The bytes a switch must see.
        header_bytes: u64,
    },
}

/// What happens to a block for which an output buffer has no room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WhenFull {
    /// It is lost, and its message with it; the input port carries it to its end all the same.
    Drop,
    /// It is not sent before there is room; its input port waits, and what is behind it too. Ports that wait for the
    /// same output are served in the order in which they began to wait.
    Pause,
}

/// What a switch with full duplex ports, one for each station, is made of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SwitchParameters {
    /// Words and blocks. Its cycle time is replaced by each port's.
    pub framing: Framing,
    /// For each port the time of one cycle, in and out, above zero. Its length is the number of stations.
    pub cycle_times: Vec<Picos>,
    /// From when a block is in far enough to when it may leave.
    pub latency: Picos,
    /// When a block is in far enough.
    pub forwarding: Forwarding,
    /// The bytes each output port can hold, above zero; those of the block being sent count until it has left. Blocks
    /// count from when they are in far enough; with [`WhenFull::Pause`] from when they start.
    pub buffer_bytes: u64,
    /// What happens when they are all taken.
    pub when_full: WhenFull,
}

impl SwitchParameters {
    /// A plain full duplex link between stations 0 and 1: a message of n bytes arrives 8n / rate + latency after its
    /// first bit left. Messages queue at the sender, without limit.
    #[must_use]
    pub fn link(bits_per_second: u64, latency: Picos) -> SwitchParameters {
        let framing = Framing::serial(bits_per_second);
        SwitchParameters {
            framing,
            cycle_times: vec![framing.cycle_time; 2],
            latency,
            forwarding: Forwarding::CutThrough { header_bytes: 0 },
            buffer_bytes: u64::MAX,
            when_full: WhenFull::Pause,
        }
    }

    /// Whether such a switch can be. The number of ports.
    ///
    /// # Errors
    ///
    /// [`DeviceError::NoStations`], [`DeviceError::TooManyStations`], [`DeviceError::Zero`] for a port's cycle time or
    /// the buffer, and those of [`Framing::check`].
    pub fn check(&self) -> Result<u16, DeviceError> {
        let ports = connected(self.cycle_times.len())?;
        for &cycle_time in &self.cycle_times {
            above_zero("cycle time of a port", cycle_time)?;
        }
        self.port(0).check()?;
        if self.buffer_bytes == 0 {
            return Err(DeviceError::Zero { parameter: "buffer of an output port" });
        }
        Ok(ports)
    }

    /// The framing of one port.
    pub(super) fn port(&self, index: usize) -> Framing {
        Framing { cycle_time: self.cycle_times[index], ..self.framing }
    }
}
