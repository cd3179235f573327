//! How a run is at one moment, for who looks on between its steps. A run that nobody looks at pays nothing for it.

use super::Simulation;
use crate::arrival::Arrival;
use crate::device::Station;
use crate::ids::{DeviceId, ProcessorId};
use crate::module::{MessageType, Module, message_class, message_of, modelled_bytes};
use crate::parcel::Parcel;
use crate::picos::Picos;
use crate::route::Carrier;
use quintet_contract::{Address, NodeId};

/// What a device is at.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DeviceLoad {
    /// Blocks that are carried, as far as is known: those whose collision was not heard yet are among them.
    pub carried: u128,
    /// Whether a collision takes the medium.
    pub collides: bool,
    /// Messages whose first bit was not sent.
    pub waiting: u128,
    /// Bytes in the buffers of a switch.
    pub buffered: u128,
}

/// What a port of a network is at, and what it has done since counting began.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PortLoad {
    /// Whether it sends.
    pub sends: bool,
    /// Packets that it has sent.
    pub sent: u64,
    /// Packets whose first bit was not sent.
    pub waiting: u64,
    /// Bytes in its buffer.
    pub buffered: u64,
    /// Packets for which there was no room.
    pub dropped: u64,
    /// Packets that were lost on the link.
    pub lost: u64,
}

/// A message that a device has and has not delivered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MessageUnderWay {
    /// Its number: messages are numbered from 1 on, all devices together, in the order in which they are sent.
    pub ticket: u64,
    /// The device.
    pub device: DeviceId,
    /// The sender's station.
    pub from: Station,
    /// The receiver's.
    pub to: Station,
    /// Its length.
    pub bytes: u64,
    /// The node that sent it.
    pub sender: NodeId,
    /// The node to which it goes.
    pub receiver: NodeId,
    /// What it is, if a module has sent it: not a reply, nor a use of a pool.
    pub message: Option<MessageType>,
}

/// What became of a message that a device had.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settled {
    /// Its number.
    pub ticket: u64,
    /// Whether it was delivered; otherwise it was dropped or lost.
    pub delivered: bool,
}

/// A module's message, or a reply, that a link has taken: what becomes of it is known at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passed {
    /// The node that sent it.
    pub sender: NodeId,
    /// The node to which it goes.
    pub receiver: NodeId,
    /// Its length.
    pub bytes: u64,
    /// What it is; none: a reply.
    pub message: Option<MessageType>,
    /// When it arrives; none: it is lost.
    pub arrival: Option<Picos>,
    /// When its copy arrives, if it arrives twice.
    pub copy: Option<Picos>,
}

impl Passed {
    /// None if the frame is no such message.
    pub(super) fn of(parcel: &Parcel, arrival: Option<Picos>, copy: Option<Picos>) -> Option<Passed> {
        message_class(parcel.kind)?;
        let frame = parcel.frame();
        let (sender, receiver) = (parcel.label.from.node, parcel.label.to.node);
        let (bytes, message) = (modelled_bytes(&frame), message_of(&frame));
        Some(Passed { sender, receiver, bytes, message, arrival, copy })
    }
}

impl Simulation {
    /// The node that a processor is busy with; none: it is idle.
    #[must_use]
    pub fn running(&self, id: ProcessorId) -> Option<NodeId> {
        self.processors[id.0].current.map(|thread| self.nodes[self.threads[thread].node].id)
    }

    /// Inputs that wait until a node handles them: messages, predecessors, times that came. 0 if there is no such node.
    #[must_use]
    pub fn waiting_inputs(&self, id: NodeId) -> usize {
        let threads = self.nodes.get(id).into_iter().flat_map(|node| node.threads.all());
        threads.map(|thread| self.threads[thread].inbox.len()).sum()
    }

    /// How long the activations of the module at `at` that are ready and have not reached their mark `begun` have waited
    /// since counting began, in all, in seconds. 0 if there is no such module.
    #[must_use]
    pub fn waited(&self, at: Address, begun: u32) -> f64 {
        let Some((module, place)) = self.get::<Module>(at).zip(self.nodes.find(at.node)) else { return 0.0 };
        let node = &self.nodes[place];
        let (now, since) = (self.now, self.counting_since);
        let threads = || self.threads.with_team(node.threads.of(at.port));
        let ahead = threads().flat_map(|thread| thread.job.ahead_of(begun));
        let ahead: f64 = ahead.map(|ready| (now - since.max(ready)).as_seconds()).sum();
        let processors = self.threads.processors(&node.threads);
        let door = processors.iter().flat_map(|id| &self.processors[id.0].door);
        let at_door = door.filter(|(whose, _)| *whose == place).map(|(_, input)| input);
        let inboxes = threads().flat_map(|thread| &thread.inbox);
        let frames = inboxes.chain(at_door).filter_map(|input| match &input.arrival {
            Arrival::Frame(parcel) if input.port == at.port => Some((parcel.frame(), input.since)),
            _ => None,
        });
        ahead + module.waited(frames, since, now)
    }

    /// What a device is at.
    #[must_use]
    pub fn device_load(&self, id: DeviceId) -> DeviceLoad {
        // What is integrated over time grows in a picosecond by what it is.
        let device = &self.media[id.0].device;
        let (now, next) = (device.statistics(self.now), device.statistics(self.now + Picos(1)));
        DeviceLoad {
            carried: next.busy.saturating_sub(now.busy),
            collides: next.colliding > now.colliding,
            waiting: next.queue.saturating_sub(now.queue),
            buffered: next.buffered.saturating_sub(now.buffered),
        }
    }

    /// What a port of a device is at: see [`Device::port`](crate::device::Device::port).
    #[must_use]
    pub fn port_load(&self, id: DeviceId, index: usize) -> Option<PortLoad> {
        let device = &self.media[id.0].device;
        // As of a device.
        let (now, next) = (device.port(self.now, index)?, device.port(self.now + Picos(1), index)?);
        let level = |now: u128, next: u128| u64::try_from(next.saturating_sub(now)).unwrap_or(u64::MAX);
        Some(PortLoad {
            sends: next.busy > now.busy,
            sent: now.packets,
            waiting: level(now.queue, next.queue),
            buffered: level(now.buffered, next.buffered),
            dropped: now.dropped,
            lost: now.lost,
        })
    }

    /// The messages that devices have, from the first with a number above `ticket` on.
    pub fn messages_after(&self, ticket: u64) -> impl Iterator<Item = MessageUnderWay> {
        self.carried.range(ticket.saturating_add(1)..).filter_map(|(ticket, carried)| {
            let route = &self.routes[carried.parcel.label.route?];
            let Carrier::Device { device, from, to, .. } = route.carrier else { return None };
            let frame = carried.parcel.frame();
            let (bytes, message) = (modelled_bytes(&frame), message_of(&frame));
            let (sender, receiver) = (carried.parcel.label.from.node, carried.parcel.label.to.node);
            Some(MessageUnderWay { ticket: *ticket, device, from, to, bytes, sender, receiver, message })
        })
    }

    /// From now on it is kept what becomes of messages, for [`take_settled`](Simulation::take_settled) and
    /// [`take_passed`](Simulation::take_passed).
    pub fn keep_settled(&mut self) {
        self.settled.get_or_insert_default();
        self.passed.get_or_insert_default();
    }

    /// The messages that links have taken since the last call, in order. None unless it is kept.
    pub fn take_passed(&mut self) -> impl Iterator<Item = Passed> {
        self.passed.iter_mut().flat_map(|passed| passed.drain(..))
    }

    /// What became of messages of devices since the last call, in order. Nothing unless it is kept.
    pub fn take_settled(&mut self) -> impl Iterator<Item = Settled> {
        self.settled.iter_mut().flat_map(|settled| settled.drain(..))
    }
}
