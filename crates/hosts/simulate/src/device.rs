//! Transfer devices: the busses, networks and switches that carry messages between modelled machines.
//!
//! A device is a state machine without a clock or an event queue. The host calls [`Device::request`] when a station has
//! a message and [`Device::wake`] when a timer is due; what follows from the call goes into [`Effects`]. A device knows
//! nothing of protocols, processors or faults: bytes enter at one station and leave at another, or are dropped.
//!
//! | file | holds |
//! | --- | --- |
//! | `message.rs` | [`Message`], [`Station`], [`Class`], [`Outcome`], [`DropCause`], [`Effects`], [`Timer`] |
//! | `framing.rs` | [`Framing`]: words, blocks and their overhead, the parameters all but the physical Ethernet share |
//! | `bus.rs` | [`Bus`]: first come, first served |
//! | `collision.rs` | [`Collision`]: CSMA/CD as NETWORK II.5 describes it |
//! | `ethernet.rs` | [`Ethernet`]: CSMA/CD on a cable with positions; `ethernet/` has its parameters and its carrier |
//! | `slotted.rs` | [`Slotted`]: CSMA/CD with the optimal 1/Q policy of Metcalfe and Boggs |
//! | `ring.rs` | [`Ring`]: the timed token; `ring/token.rs` has a station's timers |
//! | `switch.rs` | [`Switch`]: full duplex ports with buffers, and a plain link |
//! | `network.rs` | [`Network`]: switches and links, over several of which a message goes; `network/` has its parts |
//! | `pool.rs` | [`Pool`]: servers side by side, before which there is one queue |
//! | `back_off.rs` | truncated binary exponential back-off |
//! | `job.rs` | a message on its way through a device, block by block |
//! | `meter.rs` | [`DeviceStatistics`] and how it is kept |
//! | `model.rs` | [`DeviceModel`]: any device's parameters |
//! | `error.rs` | [`DeviceError`]: parameters that cannot be |
//!
//! ```
//! use quintet_contract::Random;
//! use quintet_simulate::Picos;
//! use quintet_simulate::device::{Class, Device, Effects, Message, Outcome, Station, Switch, SwitchParameters};
//!
//! // 1000 bytes at 1 Gb/s take 8 us; the link adds 5.
//! let mut link = Switch::new(SwitchParameters::link(1_000_000_000, Picos(5_000_000)))?;
//! let (mut random, mut timers, mut outcomes) = (Random::new(1, 0), Vec::new(), Vec::new());
//! let mut effects = Effects { random: &mut random, timers: &mut timers, outcomes: &mut outcomes };
//! let (from, to) = (Station(0), Station(1));
//! let message = Message { ticket: 7, from, to, bytes: 1_000, class: Class::Asynchronous, work: Picos::ZERO };
//! link.request(Picos::ZERO, message, &mut effects);
//!
//! let mut now = Picos::ZERO;
//! while effects.outcomes.is_empty() {
//!     // The earliest, and the first set among equals: a host keeps a heap.
//!     let next = (0..effects.timers.len()).min_by_key(|&index| effects.timers[index].0).expect("a timer is set");
//!     let (at, timer) = effects.timers.remove(next);
//!     now = at;
//!     link.wake(now, timer, &mut effects);
//! }
//! assert_eq!((now, effects.outcomes[0]), (Picos(13_000_000), Outcome::Delivered { ticket: 7 }));
//! # Ok::<(), quintet_simulate::device::DeviceError>(())
//! ```
//!
//! All times are [`Picos`]. A time that saturates at [`Picos::NEVER`] never comes: no timer is set for it.

mod back_off;
mod bus;
mod collision;
mod error;
mod ethernet;
mod framing;
mod job;
mod message;
mod meter;
mod model;
mod network;
mod pool;
mod ring;
mod slotted;
mod switch;
#[cfg(test)]
mod tests;

pub use back_off::BackOff;
pub use bus::{Bus, BusParameters};
pub use collision::{Collision, CollisionParameters, Contention};
pub use error::DeviceError;
pub use ethernet::{Ethernet, EthernetParameters, FrameFormat};
pub use framing::Framing;
pub use message::{Class, DropCause, Effects, Message, Outcome, Station, Timer};
pub use meter::DeviceStatistics;
pub use model::DeviceModel;
pub use network::{LinkParameters, Network, NetworkParameters, PortStatistics, Routing};
pub use pool::{Pool, PoolParameters};
pub use ring::{Ring, RingParameters};
pub use slotted::{Slotted, SlottedParameters};
pub use switch::{Forwarding, Switch, SwitchParameters, WhenFull};

use crate::picos::Picos;

/// A medium, or a switch, that carries messages between its stations.
///
/// Contract with the host: `now` never decreases from call to call; every timer is handed back at its time, in order
/// of time and, among equals, in the order in which they were set. A device ignores a timer that no longer matters, so
/// none need be cancelled. Every requested message gets exactly one [`Outcome`], in the call at whose `now` it happens,
/// unless that time is [`Picos::NEVER`]. No sequence of requests panics.
pub trait Device: Send {
    /// A station wants to send a message. Stations keep their messages in order.
    fn request(&mut self, now: Picos, message: Message, effects: &mut Effects<'_>);

    /// A timer that this device set is due.
    fn wake(&mut self, now: Picos, timer: Timer, effects: &mut Effects<'_>);

    /// The length of the connection list: stations are numbered from 0.
    fn stations(&self) -> u16;

    /// What was measured since the start or the last reset.
    fn statistics(&self, now: Picos) -> DeviceStatistics;

    /// What was measured at one of its ports since then; none where there is none of this number, from 0 on. A network has
    /// ports, number 2n that of the first end of its link n, 2n + 1 that of the second; a switch has, by the numbers of the stations to which they send.
    fn port(&self, _now: Picos, _index: usize) -> Option<PortStatistics> {
        None
    }

    /// Forgets what was measured so far, not what is under way: the end of the warm-up.
    fn reset_statistics(&mut self, now: Picos);
}
