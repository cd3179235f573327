//! What a network of switches and links is made of.

use super::super::error::{DeviceError, above_zero, connected};
use super::super::switch::WhenFull;
use super::routing::Routing;
use crate::picos::{Picos, nearest};

/// Points of a network at most, stations among them, and links.
const MOST: usize = 1 << 20;

/// What a network is made of: points, of which some are stations and all others switches, and the links between them.
#[derive(Clone, PartialEq, Debug)]
pub struct NetworkParameters {
    /// The largest packet in bytes, above zero: a message that is longer goes as several, each of them on its own.
    pub packet_bytes: u64,
    /// For each point what it takes from when all of a packet is in to when it is in the queue of its output port. Of no meaning
    /// where a station is: stations forward nothing.
    pub latencies: Vec<Picos>,
    /// The point of each station. Several stations may be at one point: a station that has ways of its own.
    pub stations: Vec<u32>,
    /// Full duplex, from point to point. Their order decides between ways that are equal otherwise.
    pub links: Vec<LinkParameters>,
    /// Ways that are not the cheapest: from a station, to a station, and the links in between. They hold for the way back too.
    pub stated: Vec<(u16, u16, Vec<u32>)>,
}

/// A full duplex link with an output port at each end.
#[derive(Clone, PartialEq, Debug)]
pub struct LinkParameters {
    /// The points that it joins, two different ones.
    pub ends: [u32; 2],
    /// Above zero.
    pub bits_per_second: f64,
    /// How long the last bit travels.
    pub delay: Picos,
    /// Packets that are lost on it, per million.
    pub loss_per_million: u32,
    /// Bytes that are sent with each packet besides it: header, trailer, silence.
    pub overhead_bytes: u64,
    /// Packets that are shorter with their overhead are padded.
    pub shortest_bytes: u64,
    /// What it counts for where ways are compared; 1 everywhere: the number of links counts.
    pub cost: u32,
    /// The bytes, overhead included, that the port of a switch can hold, above zero; those of the packet being sent count until it has
    /// left. What a station sends waits at the station, without limit.
    pub buffer_bytes: u64,
    /// What happens to a packet for which there is no room.
    pub when_full: WhenFull,
}

impl NetworkParameters {
    /// Whether such a network can be. The number of stations.
    ///
    /// # Errors
    ///
    /// [`DeviceError::NoStations`], [`DeviceError::TooManyStations`], [`DeviceError::Zero`] for a rate, a buffer or the largest packet,
    /// [`DeviceError::Topology`] for a link, a station or a stated way at a point, or over a link, that there is not, for a link from
    /// a point to itself, and for a stated way that its links do not make.
    pub fn check(&self) -> Result<u16, DeviceError> {
        let stations = connected(self.stations.len())?;
        above_zero("largest packet", Picos(self.packet_bytes))?;
        let points = self.latencies.len();
        let is_point = |point: u32| (point as usize) < points;
        if points > MOST || self.links.len() > MOST || !self.stations.iter().all(|point| is_point(*point)) {
            return Err(DeviceError::Topology);
        }
        for link in &self.links {
            let [one, other] = link.ends;
            if !is_point(one) || !is_point(other) || one == other {
                return Err(DeviceError::Topology);
            }
            if !(link.bits_per_second > 0.0 && link.bits_per_second.is_finite()) {
                return Err(DeviceError::Zero { parameter: "rate of a link" });
            }
            above_zero("buffer of an output port", Picos(link.buffer_bytes))?;
        }
        let routing = Routing::new(self);
        let point = |station: u16| self.stations.get(usize::from(station)).copied();
        let leads = |(from, to, links): &(u16, u16, Vec<u32>)| {
            point(*from).zip(point(*to)).is_some_and(|(from, to)| routing.leads(from, to, links))
        };
        if !self.stated.iter().all(leads) {
            return Err(DeviceError::Topology);
        }
        Ok(stations)
    }
}

impl LinkParameters {
    /// A link of this rate, without delay, loss and overhead, whose ports hold whatever comes.
    #[must_use]
    pub fn new(ends: [u32; 2], bits_per_second: f64) -> LinkParameters {
        LinkParameters {
            ends,
            bits_per_second,
            delay: Picos::ZERO,
            loss_per_million: 0,
            overhead_bytes: 0,
            shortest_bytes: 0,
            cost: 1,
            buffer_bytes: u64::MAX,
            when_full: WhenFull::Drop,
        }
    }

    /// The bytes that a packet of so many takes on it.
    #[must_use]
    pub fn frame_bytes(&self, packet: u64) -> u64 {
        packet.saturating_add(self.overhead_bytes).max(self.shortest_bytes)
    }

    /// How long it takes to send a packet of so many bytes, overhead included, to the nearest picosecond.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a picosecond is less than is lost")]
    pub fn time(&self, packet: u64) -> Picos {
        Picos(nearest(self.frame_bytes(packet) as f64 * 8e12 / self.bits_per_second))
    }
}
