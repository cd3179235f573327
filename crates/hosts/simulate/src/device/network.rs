//! Switches, routers and the links between them: messages go over several, each a store-and-forward hop.
//!
//! | file | holds |
//! | --- | --- |
//! | `network/parameters.rs` | [`NetworkParameters`], [`LinkParameters`] |
//! | `network/routing.rs` | [`Routing`]: ways |
//! | `network/port.rs` | one direction of a link, and [`PortStatistics`] |
//! | `network/journey.rs` | the messages under way |

mod journey;
mod parameters;
pub(super) mod port;
mod routing;

pub use parameters::{LinkParameters, NetworkParameters};
pub use port::PortStatistics;
pub use routing::Routing;

use super::Device;
use super::error::DeviceError;
use super::job::Job;
use super::message::{Alarm, DropCause, Effects, Message, Station, Timer};
use super::meter::{DeviceStatistics, Meter};
use super::switch::WhenFull;
use crate::picos::Picos;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use journey::{Journey, Journeys};
use port::{Packet, Port};

/// Stations and switches joined by full duplex links. Each direction of a link has a port with a queue, first come first served; a
/// switch passes a packet on when all of it is in (it does not cut through), and joins its ports by a crossbar that never blocks: a packet
/// waits for its output port alone. So a switch whose inputs are all loaded uses its outputs fully, where one that queues at its
/// inputs comes to 58.6 % (Karol, Hluchyj and Morgan 1987).
///
/// A message that is longer than a packet goes as several, in order. If one of them is lost or dropped, so is the message: what of it is
/// under way goes on, the rest is not sent.
///
/// With [`WhenFull::Pause`] a port sends a packet only once there is room in the port after it. Where the ways of a network make a circle, ports
/// can wait for each other for ever then, as those of lossless networks do.
#[derive(Debug)]
pub struct Network {
    parameters: NetworkParameters,
    routing: Routing,
    /// For each link that of its first end and that of its second.
    ports: Vec<Port>,
    /// The ports that a message takes, in order.
    ways: Vec<Box<[u32]>>,
    /// The way from station to station; none: there is no such way.
    by_stations: HashMap<(u16, u16), Option<u32>, FixedState>,
    journeys: Journeys,
    buffered: u128,
    meter: Meter,
}

impl Network {
    /// An idle network.
    ///
    /// # Errors
    ///
    /// Those of [`NetworkParameters::check`].
    pub fn new(parameters: NetworkParameters) -> Result<Network, DeviceError> {
        parameters.check()?;
        let routing = Routing::new(&parameters);
        let ports: Vec<Port> = (0..2 * parameters.links.len()).map(|_| Port::default()).collect();
        let carriers = u32::try_from(ports.len()).unwrap_or(u32::MAX);
        let mut network = Network {
            routing,
            ports,
            ways: Vec::new(),
            by_stations: HashMap::with_hasher(FixedState::with_seed(0)),
            journeys: Journeys::default(),
            buffered: 0,
            meter: Meter::new(carriers),
            parameters,
        };
        for (from, to, links) in network.parameters.stated.clone() {
            let back: Vec<u32> = links.iter().rev().copied().collect();
            for (from, to, links) in [(from, to, links), (to, from, back)] {
                let start = network.point_of(Station(from)).ok_or(DeviceError::Topology)?;
                let way = network.add_way(start, &links);
                network.by_stations.insert((from, to), Some(way));
            }
        }
        Ok(network)
    }

    fn point_of(&self, station: Station) -> Option<u32> {
        self.parameters.stations.get(station.index()).copied()
    }

    /// The ports that send over these links, one after the other, from a point on.
    fn add_way(&mut self, start: u32, links: &[u32]) -> u32 {
        let mut at = start;
        let mut ports = Vec::with_capacity(links.len());
        for link in links {
            let [one, other] = self.parameters.links[*link as usize].ends;
            ports.push(2 * link + u32::from(at != one));
            at = if at == one { other } else { one };
        }
        self.ways.push(ports.into());
        u32::try_from(self.ways.len() - 1).unwrap_or(u32::MAX)
    }

    /// The way from station to station, looked for once.
    fn way(&mut self, from: Station, to: Station) -> Option<u32> {
        if let Some(known) = self.by_stations.get(&(from.0, to.0)) {
            return *known;
        }
        let (start, end) = (self.point_of(from)?, self.point_of(to)?);
        let links = self.routing.way(start, end);
        let way = links.map(|links| self.add_way(start, &links));
        self.by_stations.insert((from.0, to.0), way);
        way
    }

    fn link(&self, port: u32) -> &LinkParameters {
        &self.parameters.links[port as usize / 2]
    }

    /// What a packet takes from its last bit's leaving a port to its being where it goes on.
    fn flight(&self, port: u32, goes_on: bool) -> Picos {
        let link = self.link(port);
        let far = link.ends[1 - port as usize % 2];
        let latency = if goes_on { self.parameters.latencies[far as usize] } else { Picos::ZERO };
        link.delay + latency
    }

    /// The port that a packet takes after the one in which it is; none: it comes to its end.
    fn port_after(&self, packet: Packet) -> Option<u32> {
        let journey = self.journeys.get(packet.message)?;
        self.ways[journey.way as usize].get(packet.hop as usize + 1).copied()
    }

    /// The port ahead that has to have room before a packet is sent.
    fn reserves(&self, packet: Packet) -> Option<u32> {
        self.port_after(packet).filter(|next| self.link(*next).when_full == WhenFull::Pause)
    }

    fn has_room(&self, port: u32, packet: Packet) -> bool {
        let link = self.link(port);
        let bytes = u128::from(link.frame_bytes(packet.bytes));
        self.ports[port as usize].buffered + bytes <= u128::from(link.buffer_bytes)
    }

    fn fill(&mut self, now: Picos, port: u32, packet: Packet) {
        let bytes = u128::from(self.link(port).frame_bytes(packet.bytes));
        let port = &mut self.ports[port as usize];
        port.buffered += bytes;
        port.meter.buffer(now, port.buffered);
        self.buffered += bytes;
        self.meter.buffered(now, u64::try_from(self.buffered).unwrap_or(u64::MAX));
    }

    /// A packet has left a switch's port, or will not come: those behind go on, in order, while there is room.
    fn release(&mut self, now: Picos, port: u32, packet: Packet, effects: &mut Effects<'_>) {
        let bytes = u128::from(self.link(port).frame_bytes(packet.bytes));
        let place = &mut self.ports[port as usize];
        place.buffered -= bytes;
        place.meter.buffer(now, place.buffered);
        self.buffered -= bytes;
        self.meter.buffered(now, u64::try_from(self.buffered).unwrap_or(u64::MAX));
        while let Some(&behind) = self.ports[port as usize].paused.front() {
            if self.next_packet(behind).is_some_and(|packet| !self.has_room(port, packet)) {
                return;
            }
            self.ports[port as usize].paused.pop_front();
            self.ports[behind as usize].waits_for = None;
            if let Some(packet) = self.next_packet(behind) {
                self.send(now, behind, packet, effects);
            }
        }
    }

    /// The packet that a port would send next.
    fn next_packet(&self, port: u32) -> Option<Packet> {
        let place = &self.ports[port as usize];
        if let Some(packet) = place.packets.front() {
            return Some(*packet);
        }
        let message = *place.messages.front()?;
        let journey = self.journeys.get(message)?;
        let bytes = journey.job.block_bytes(self.parameters.packet_bytes);
        Some(Packet { message, bytes, hop: 0, is_last: journey.unsent == 1 })
    }

    /// A port that may be free sends its next packet, or waits behind others for room.
    fn proceed(&mut self, now: Picos, port: u32, effects: &mut Effects<'_>) {
        let place = &self.ports[port as usize];
        if place.sending.is_some() || place.waits_for.is_some() {
            return;
        }
        let Some(packet) = self.next_packet(port) else { return };
        if let Some(next) = self.reserves(packet)
            && (!self.ports[next as usize].paused.is_empty() || !self.has_room(next, packet))
        {
            self.ports[next as usize].paused.push_back(port);
            self.ports[port as usize].waits_for = Some(next);
            return;
        }
        self.send(now, port, packet, effects);
    }

    fn send(&mut self, now: Picos, port: u32, packet: Packet, effects: &mut Effects<'_>) {
        if let Some(next) = self.reserves(packet) {
            self.fill(now, next, packet);
        }
        let place = &mut self.ports[port as usize];
        if place.packets.pop_front().is_none()
            && let Some(journey) = self.journeys.get_mut(packet.message)
        {
            journey.job.begin(now, now, &mut self.meter);
            journey.job.advance(self.parameters.packet_bytes);
            journey.unsent -= 1;
            journey.under_way += 1;
            if packet.is_last {
                place.messages.pop_front();
            }
        }
        place.sending = Some(packet);
        place.meter.begin(now);
        self.meter.carry(now);
        let end = now + self.link(port).time(packet.bytes);
        effects.set(end, Alarm::End, Station(0), u64::from(port));
    }

    /// The last bit of what a port sends has left.
    fn end(&mut self, now: Picos, port: u32, effects: &mut Effects<'_>) {
        let place = &mut self.ports[port as usize];
        let Some(packet) = place.sending.take() else { return };
        place.meter.end(now, packet.bytes);
        self.meter.rest(now);
        if packet.hop > 0 {
            self.release(now, port, packet, effects);
        }
        let loss = self.link(port).loss_per_million;
        if loss > 0 && effects.random.chance(loss) {
            self.ports[port as usize].meter.counts.lost += 1;
            if let Some(next) = self.reserves(packet) {
                self.release(now, next, packet, effects);
            }
            self.give_up(now, packet, DropCause::LinkLoss, effects);
        } else {
            let flight = self.flight(port, self.port_after(packet).is_some());
            if flight == Picos::ZERO {
                self.arrive(now, packet, effects);
            } else {
                self.ports[port as usize].flying.push_back(packet);
                effects.set(now + flight, Alarm::Arrive, Station(0), u64::from(port));
            }
        }
        self.proceed(now, port, effects);
    }

    /// A packet is at the end of its link.
    fn arrive(&mut self, now: Picos, packet: Packet, effects: &mut Effects<'_>) {
        let Some(next) = self.port_after(packet) else { return self.deliver(packet, effects) };
        if self.link(next).when_full == WhenFull::Drop {
            if !self.has_room(next, packet) {
                self.ports[next as usize].meter.counts.dropped += 1;
                return self.give_up(now, packet, DropCause::BufferFull, effects);
            }
            self.fill(now, next, packet);
        }
        let place = &mut self.ports[next as usize];
        place.packets.push_back(Packet { hop: packet.hop + 1, ..packet });
        place.meter.queue(now, 1);
        self.proceed(now, next, effects);
    }

    /// A packet is where it was to go.
    fn deliver(&mut self, packet: Packet, effects: &mut Effects<'_>) {
        let Some(journey) = self.journeys.get_mut(packet.message) else { return };
        journey.under_way -= 1;
        if !journey.is_over {
            self.meter.carried(packet.bytes);
            if packet.is_last {
                journey.is_over = true;
                self.meter.delivered();
                effects.delivered(journey.job.message.ticket);
            }
        }
        self.journeys.forget_if_gone(packet.message);
    }

    /// A packet is lost, and its message with it: the rest of that is not sent.
    fn give_up(&mut self, now: Picos, packet: Packet, why: DropCause, effects: &mut Effects<'_>) {
        let Some(journey) = self.journeys.get_mut(packet.message) else { return };
        journey.under_way -= 1;
        if std::mem::replace(&mut journey.is_over, true) {
            return self.journeys.forget_if_gone(packet.message);
        }
        journey.job.abandon(now, &mut self.meter);
        effects.dropped(journey.job.message.ticket, why);
        let unsent = std::mem::take(&mut journey.unsent);
        let first = self.ways[journey.way as usize][0];
        self.journeys.forget_if_gone(packet.message);
        if unsent > 0 {
            self.skip(now, first, unsent, effects);
        }
    }

    /// A station does not send the rest of its first message, of so many packets.
    fn skip(&mut self, now: Picos, port: u32, packets: u64, effects: &mut Effects<'_>) {
        let place = &mut self.ports[port as usize];
        place.messages.pop_front();
        place.meter.unqueue(now, packets);
        if let Some(ahead) = place.waits_for.take() {
            self.ports[ahead as usize].paused.retain(|paused| *paused != port);
        }
        self.proceed(now, port, effects);
    }

    /// Why the network can never carry a message by this way, if it cannot.
    fn refusal(&self, job: &Job, way: u32) -> Option<DropCause> {
        let bytes = job.block_bytes(self.parameters.packet_bytes);
        let is_too_small = |port: &u32| {
            let link = self.link(*port);
            link.frame_bytes(bytes) > link.buffer_bytes
        };
        self.ways[way as usize].iter().skip(1).any(is_too_small).then_some(DropCause::BufferFull)
    }
}

impl Device for Network {
    fn request(&mut self, now: Picos, message: Message, effects: &mut Effects<'_>) {
        let mut job = Job::new(now, message, &mut self.meter);
        let way = self.way(message.from, message.to);
        let refusal = way.map_or(Some(DropCause::NoStation), |way| self.refusal(&job, way));
        let Some(way) = way.filter(|_| refusal.is_none()) else {
            job.abandon(now, &mut self.meter);
            return effects.dropped(message.ticket, refusal.unwrap_or(DropCause::NoStation));
        };
        let Some(&first) = self.ways[way as usize].first() else {
            // From a station to itself no link has to be taken.
            job.begin(now, now, &mut self.meter);
            self.meter.carried(message.bytes);
            self.meter.delivered();
            return effects.delivered(message.ticket);
        };
        let unsent = message.bytes.div_ceil(self.parameters.packet_bytes).max(1);
        let journey = Journey { job, way, unsent, under_way: 0, is_over: false };
        let place = self.journeys.add(journey);
        let port = &mut self.ports[first as usize];
        port.messages.push_back(place);
        port.meter.queue(now, unsent);
        self.proceed(now, first, effects);
    }

    fn wake(&mut self, now: Picos, timer: Timer, effects: &mut Effects<'_>) {
        // The stamps are numbers of ports, which are below 2^22.
        let port = u32::try_from(timer.stamp).unwrap_or(u32::MAX);
        match timer.what {
            Alarm::Arrive => {
                if let Some(packet) = self.ports[port as usize].flying.pop_front() {
                    self.arrive(now, packet, effects);
                }
            }
            _ => self.end(now, port, effects),
        }
    }

    fn stations(&self) -> u16 {
        u16::try_from(self.parameters.stations.len()).unwrap_or(u16::MAX)
    }

    fn statistics(&self, now: Picos) -> DeviceStatistics {
        self.meter.statistics(now)
    }

    fn port(&self, now: Picos, index: usize) -> Option<PortStatistics> {
        self.ports.get(index).map(|port| port.meter.statistics(now))
    }

    fn reset_statistics(&mut self, now: Picos) {
        self.meter.reset(now);
        self.ports.iter_mut().for_each(|port| port.meter.reset(now));
    }
}
