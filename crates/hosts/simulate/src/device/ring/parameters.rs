//! What a timed token ring is made of.

use super::super::error::{DeviceError, above_zero, connected};
use super::super::framing::Framing;
use crate::picos::Picos;

/// What a timed token ring is made of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RingParameters {
    /// Words and blocks; blocks must have a largest size.
    pub framing: Framing,
    /// For each station, in the token's order, how long it may send synchronous blocks at each visit of the token; 0:
    /// not at all. Its length is the number of stations.
    pub synchronous_allocations: Vec<Picos>,
    /// From one station to the next: the token itself, the station's delay and the way. Above zero. Once for each
    /// station makes the walk around the ring, D.
    pub token_passing_time: Picos,
    /// The target token rotation time (TTRT), T.
    pub target_rotation_time: Picos,
}

impl RingParameters {
    /// FDDI as in the simulations of Thomas 1991: 100 Mb/s, blocks of 4500 octets with 28 octets (2.24 us) around them,
    /// 0.88 us to pass the token, a target of 8 ms, no synchronous allocation.
    #[must_use]
    pub fn fddi(stations: u16) -> RingParameters {
        RingParameters {
            framing: Framing {
                words_per_block: 4500,
                block_overhead: Picos(2_240_000),
                ..Framing::serial(100_000_000)
            },
            synchronous_allocations: vec![Picos::ZERO; usize::from(stations)],
            token_passing_time: Picos(880_000),
            target_rotation_time: Picos(8_000_000_000),
        }
    }

    /// Whether the ring can keep its target: T must be at least D, one largest block and all allocations. The number of
    /// stations.
    ///
    /// # Errors
    ///
    /// [`DeviceError::NoStations`], [`DeviceError::TooManyStations`], [`DeviceError::Unlimited`], [`DeviceError::Zero`]
    /// for the token's passing, [`DeviceError::RotationTime`], and those of [`Framing::check`].
    pub fn check(&self) -> Result<u16, DeviceError> {
        let stations = connected(self.synchronous_allocations.len())?;
        self.framing.check()?;
        if self.framing.words_per_block == 0 {
            return Err(DeviceError::Unlimited);
        }
        above_zero("token passing time", self.token_passing_time)?;
        let walk = self.token_passing_time.times(u64::from(stations));
        let block = self.framing.block_time(self.framing.block_bytes());
        let least = self.synchronous_allocations.iter().fold(walk + block, |sum, &time| sum + time);
        let target = self.target_rotation_time;
        if target < least { Err(DeviceError::RotationTime { target, least }) } else { Ok(stations) }
    }
}
