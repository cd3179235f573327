//! Parameters that cannot be.

use crate::picos::Picos;
use core::fmt;

/// Why a device cannot be built from its parameters. The fault is the model's.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum DeviceError {
    /// The connection list is empty.
    NoStations,
    /// The connection list is longer than 65,535.
    TooManyStations {
        /// Its length.
        found: usize,
    },
    /// A parameter must be above zero.
    Zero {
        /// Its name.
        parameter: &'static str,
    },
    /// A block holds less than one byte, or more than can be counted.
    BlockSize {
        /// Its size in bits.
        bits: u128,
    },
    /// The protocol needs blocks of a limited size, and `words_per_block` is 0.
    Unlimited,
    /// No draw of the contention interval waits: `high` must be above `low` and above 1.
    ContentionInterval {
        /// The least number of units.
        low: u32,
        /// The number of units below which all draws lie.
        high: u32,
    },
    /// A position on the cable is no number, or negative.
    Position {
        /// The station.
        station: usize,
        /// Its position.
        metres: f64,
    },
    /// The propagation speed is no number, or not above zero.
    Speed {
        /// Metres in a second.
        metres_per_second: f64,
    },
    /// The cable's round trip is longer than the shortest frame: collisions would go unnoticed.
    CableTooLong {
        /// There and back.
        round_trip: Picos,
        /// The shortest frame with its preamble.
        shortest_frame: Picos,
    },
    /// The first part of the interframe gap is longer than the gap.
    InterframeGap {
        /// The first part.
        first_part: Picos,
        /// All of it.
        gap: Picos,
    },
    /// No frame has room for a byte: header and trailer, shortest and longest frame contradict each other.
    FrameFormat {
        /// Header and trailer in bytes.
        overhead: u32,
        /// The shortest frame in bytes.
        shortest: u32,
        /// The longest frame in bytes.
        longest: u32,
    },
    /// The target token rotation time cannot be kept.
    RotationTime {
        /// The target.
        target: Picos,
        /// The token's walk around the ring, the largest block and all synchronous allocations.
        least: Picos,
    },
    /// A network has a link, a station or a stated way where there is no point or link for it.
    Topology,
    /// A list has another length than the connection list.
    ListLength {
        /// The list's name.
        parameter: &'static str,
        /// Its length.
        found: usize,
        /// The number of stations.
        stations: usize,
    },
}

impl fmt::Display for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceError::NoStations => write!(f, "the connection list is empty"),
            DeviceError::TooManyStations { found } => {
                write!(f, "{found} stations; at most 65535 can be connected")
            }
            DeviceError::Zero { parameter } => write!(f, "{parameter} must be above zero"),
            DeviceError::BlockSize { bits } => {
                write!(f, "a block of {bits} bits: it must hold 8 to 2^63 bits")
            }
            DeviceError::Unlimited => {
                write!(f, "words per block must be above zero: the protocol needs a largest block")
            }
            DeviceError::ContentionInterval { low, high } => {
                write!(
                    f,
                    "contention interval from {low} to below {high}: the upper bound must be above the lower, and above 1"
                )
            }
            DeviceError::Position { station, metres } => {
                write!(f, "station {station} cannot be at {metres} m")
            }
            DeviceError::Speed { metres_per_second } => {
                write!(f, "a signal cannot travel at {metres_per_second} m/s")
            }
            DeviceError::CableTooLong { round_trip, shortest_frame } => {
                write!(
                    f,
                    "the cable's round trip of {round_trip} is longer than the shortest frame of {shortest_frame}"
                )
            }
            DeviceError::InterframeGap { first_part, gap } => {
                write!(f, "the first part of the interframe gap, {first_part}, is longer than the gap, {gap}")
            }
            DeviceError::FrameFormat { overhead, shortest, longest } => {
                write!(
                    f,
                    "frames of {shortest} to {longest} bytes with {overhead} bytes of overhead have no room for data"
                )
            }
            DeviceError::RotationTime { target, least } => {
                write!(
                    f,
                    "a target token rotation time of {target} cannot be kept: the token's walk, the largest block and all \
                     synchronous allocations take {least}"
                )
            }
            DeviceError::Topology => {
                write!(f, "a link, a station or a stated way is where there is no point or link for it")
            }
            DeviceError::ListLength { parameter, found, stations } => {
                write!(f, "{parameter} has {found} entries for {stations} stations")
            }
        }
    }
}

impl core::error::Error for DeviceError {}

/// The length of a connection list.
///
/// # Errors
///
/// [`DeviceError::NoStations`], [`DeviceError::TooManyStations`].
pub(crate) fn connected(count: usize) -> Result<u16, DeviceError> {
    match u16::try_from(count) {
        Ok(0) => Err(DeviceError::NoStations),
        Ok(stations) => Ok(stations),
        Err(_) => Err(DeviceError::TooManyStations { found: count }),
    }
}

/// # Errors
///
/// [`DeviceError::Zero`].
pub(crate) fn above_zero(parameter: &'static str, value: Picos) -> Result<(), DeviceError> {
    if value == Picos::ZERO { Err(DeviceError::Zero { parameter }) } else { Ok(()) }
}
