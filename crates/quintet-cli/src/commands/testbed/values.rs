//! Times, shares, rates and sizes, as they are written for a testbed.

use core::num::NonZeroU64;
use core::time::Duration;
use quintet_model::{Dimension, evaluate};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

const MILLION: f64 = 1e6;
/// Of an address that is given without the size of its network.
const USUAL_BITS: u8 = 24;

/// A time with its unit.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    let seconds = measured(text, Dimension::TIME, "a time, 20ms say")?;
    Duration::try_from_secs_f64(seconds).map_err(|error| format!("{text}: {error}"))
}

/// A share of all packets, of a million.
pub(crate) fn share(text: &str) -> Result<u32, String> {
    let (number, whole) = text.strip_suffix('%').map_or((text, 1.0), |percent| (percent, 100.0));
    let share = number.trim().parse::<f64>().ok().map(|number| number / whole);
    let share = share.filter(|share| (0.0..=1.0).contains(share));
    share
        .map(|share| (share * MILLION).round() as u32)
        .ok_or_else(|| "expected a share of all packets, 30% or 0.3 say".to_owned())
}

/// Bytes a second.
pub(super) fn rate(text: &str) -> Result<NonZeroU64, String> {
    whole(text, measured(text, Dimension::DATA_RATE, "a rate, 10MB/s or 100Mb/s say")?)
}

/// Bytes.
pub(super) fn size(text: &str) -> Result<NonZeroU64, String> {
    whole(text, measured(text, Dimension::DATA, "a size, 64KiB say")?)
}

/// An address of version 4, and how many bits of it are the network's.
pub(super) fn address(text: &str) -> Result<(Ipv4Addr, u8), String> {
    let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
    let bits = bits.map_or(Some(USUAL_BITS), |bits| bits.parse().ok().filter(|bits| (1..=32).contains(bits)));
    address
        .parse()
        .ok()
        .zip(bits)
        .ok_or_else(|| "expected an address of version 4, 10.77.0.9 or 10.77.0.9/24 say".to_owned())
}

fn measured(text: &str, dimension: Dimension, expected: &str) -> Result<f64, String> {
    let found = evaluate(text, &BTreeMap::new()).map_err(|error| format!("{error}: expected {expected}"))?;
    if found.dimension == dimension { Ok(found.value) } else { Err(format!("expected {expected}")) }
}

fn whole(text: &str, value: f64) -> Result<NonZeroU64, String> {
    NonZeroU64::new(value.round() as u64).ok_or_else(|| format!("{text} is nothing"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_with_its_unit_is_understood() {
        assert_eq!(time("20ms"), Ok(Duration::from_millis(20)));
        assert_eq!(time("1.5 s"), Ok(Duration::from_millis(1_500)));
        assert_eq!(
            (share("30%"), share("0.3"), share("100 %"), share("0")),
            (Ok(300_000), Ok(300_000), Ok(1_000_000), Ok(0))
        );
        assert_eq!(
            (rate("10MB/s"), rate("8 b/s")),
            (Ok(NonZeroU64::new(10_000_000).unwrap()), Ok(NonZeroU64::MIN))
        );
        assert_eq!(size("64KiB"), Ok(NonZeroU64::new(65_536).unwrap()));
        assert_eq!(address("10.77.0.9"), Ok(([10, 77, 0, 9].into(), 24)));
        assert_eq!(address("10.77.0.9/16"), Ok(([10, 77, 0, 9].into(), 16)));
    }

    #[test]
    fn what_is_not_is_refused_with_an_example() {
        for text in ["20", "20 KiB", "-1 s", "", "soon"] {
            assert!(time(text).is_err(), "{text}");
        }
        for text in ["101%", "-1", "30 percent", "", "NaN", "1.1"] {
            assert!(share(text).unwrap_err().contains("30% or 0.3"), "{text}");
        }
        for text in ["0 MB/s", "10MB", "fast"] {
            assert!(rate(text).is_err(), "{text}");
        }
        for text in ["10.77.0", "10.77.0.9/33", "10.77.0.9/0", "fe80::1", "b"] {
            assert!(address(text).is_err(), "{text}");
        }
    }
}
