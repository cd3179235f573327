//! What an Ethernet on a cable is made of.

use super::super::back_off::BackOff;
use super::super::error::{DeviceError, above_zero, connected};
use crate::picos::Picos;

/// The frame around a block of data.
///
/// Which bits are counted: [`busy`](super::super::DeviceStatistics::busy) holds the whole frame with its preamble, header,
/// padding and trailer, not the interframe gap; [`bytes`](super::super::DeviceStatistics::bytes) holds data alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameFormat {
    /// Bits before the frame: preamble and start delimiter. Standard: 64.
    pub preamble_bits: u32,
    /// Header and trailer in bytes: two addresses, type or length, frame check sequence. Standard: 18.
    pub overhead_bytes: u32,
    /// The shortest frame in bytes, overhead included, preamble not; shorter ones are padded. Standard: 64.
    pub shortest_bytes: u32,
    /// The longest frame in bytes, overhead included, preamble not. Standard: 1518, which leaves 1500 for data.
    pub longest_bytes: u32,
}

impl FrameFormat {
    /// IEEE 802.3.
    pub const STANDARD: FrameFormat =
        FrameFormat { preamble_bits: 64, overhead_bytes: 18, shortest_bytes: 64, longest_bytes: 1518 };

    /// The bits on the cable for so many bytes of data, preamble included.
    #[must_use]
    pub fn bits(&self, bytes: u64) -> u64 {
        let frame = bytes.saturating_add(u64::from(self.overhead_bytes)).max(u64::from(self.shortest_bytes));
        frame.saturating_mul(8).saturating_add(u64::from(self.preamble_bits))
    }

    /// The most data of one frame.
    #[must_use]
    pub fn data_bytes(&self) -> u64 {
        u64::from(self.longest_bytes.saturating_sub(self.overhead_bytes))
    }
}

/// What an Ethernet on a cable is made of.
#[derive(Clone, PartialEq, Debug)]
pub struct EthernetParameters {
    /// The time of one bit, above zero. 10 Mb/s: 0.1 us.
    pub bit_time: Picos,
    /// The frame around data.
    pub frame: FrameFormat,
    /// The silence a station keeps before it sends. Standard: 96 bits.
    pub interframe_gap: Picos,
    /// The part of it, from its beginning, in which a carrier starts the wait again; later ones are ignored, and collide.
    /// Standard: at most two thirds.
    pub gap_first_part: Picos,
    /// How long a station goes on once it hears a collision; the preamble is finished first. Standard: 32 bits.
    pub jam_time: Picos,
    /// What a station does after a collision.
    pub back_off: BackOff,
    /// Where each station is on the cable, in metres from one end, 0 or more.
    pub positions_metres: Vec<f64>,
    /// How fast the signal travels, above zero. Thick coaxial cable: 0.77 of light, 231,000 km/s.
    pub metres_per_second: f64,
}

impl EthernetParameters {
    /// IEEE 802.3 at 10 Mb/s on thick coaxial cable (10BASE5), without repeaters.
    #[must_use]
    pub fn ten_megabit(positions_metres: Vec<f64>) -> EthernetParameters {
        EthernetParameters {
            bit_time: Picos(100_000),
            frame: FrameFormat::STANDARD,
            interframe_gap: Picos(9_600_000),
            gap_first_part: Picos(6_400_000),
            jam_time: Picos(3_200_000),
            back_off: BackOff::TEN_MEGABIT,
            positions_metres,
            metres_per_second: 2.31e8,
        }
    }

    /// Whether such a cable can be, and whether every collision on it is heard before the shortest frame ends.
    ///
    /// # Errors
    ///
    /// [`DeviceError::NoStations`], [`DeviceError::TooManyStations`], [`DeviceError::Zero`] for a bit,
    /// [`DeviceError::FrameFormat`], [`DeviceError::InterframeGap`], [`DeviceError::Speed`],
    /// [`DeviceError::Position`], [`DeviceError::CableTooLong`], and those of [`BackOff::check`].
    pub fn check(&self) -> Result<(), DeviceError> {
        connected(self.positions_metres.len())?;
        above_zero("bit time", self.bit_time)?;
        self.back_off.check()?;
        let FrameFormat {
            overhead_bytes: overhead, shortest_bytes: shortest, longest_bytes: longest, ..
        } = self.frame;
        if longest <= overhead || shortest > longest {
            return Err(DeviceError::FrameFormat { overhead, shortest, longest });
        }
        if self.gap_first_part > self.interframe_gap {
            let (first_part, gap) = (self.gap_first_part, self.interframe_gap);
            return Err(DeviceError::InterframeGap { first_part, gap });
        }
        let metres_per_second = self.metres_per_second;
        if !(metres_per_second > 0.0 && metres_per_second.is_finite()) {
            return Err(DeviceError::Speed { metres_per_second });
        }
        for (station, &metres) in self.positions_metres.iter().enumerate() {
            if !(metres >= 0.0 && metres.is_finite()) {
                return Err(DeviceError::Position { station, metres });
            }
        }
        self.check_length()
    }

    /// A station hears another's start after the propagation delay. It may start itself until then, or until the gap's
    /// second part ends; the other hears that one propagation delay later, and must still be sending.
    fn check_length(&self) -> Result<(), DeviceError> {
        let places = self.places();
        let round_trip = span(&places).times(2);
        let shortest_frame = self.bit_time.times(self.frame.bits(0));
        if round_trip + (self.interframe_gap - self.gap_first_part) >= shortest_frame {
            return Err(DeviceError::CableTooLong { round_trip, shortest_frame });
        }
        Ok(())
    }

    /// Each station's distance from the end of the cable, as the time the signal takes.
    pub(super) fn places(&self) -> Vec<Picos> {
        self.positions_metres
            .iter()
            .map(|metres| Picos::from_seconds(metres / self.metres_per_second))
            .collect()
    }
}

/// From the first to the last of the places.
pub(super) fn span(places: &[Picos]) -> Picos {
    let last = places.iter().max().copied().unwrap_or_default();
    last - places.iter().min().copied().unwrap_or_default()
}
