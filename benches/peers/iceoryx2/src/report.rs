//! The JSON lines of a round.

use std::io::{self, Write};

/// Prints the mean and the median of one round, in nanoseconds a round trip.
///
/// Each of `samples` is the duration of `group` round trips; there is at least one.
///
/// # Errors
///
/// Standard output cannot be written.
pub(crate) fn report(case: &str, samples: &mut [u64], group: u64) -> io::Result<()> {
    samples.sort_unstable();
    let middle = samples.len() / 2;
    let median = (samples[middle] + samples[(samples.len() - 1) / 2]) as f64 / 2.0;
    let mean = samples.iter().sum::<u64>() as f64 / samples.len() as f64;
    for (statistic, value) in [("mean", mean), ("p50", median)] {
        let per_round_trip = value / group as f64;
        let line = format!(
            r#"{{"peer": "iceoryx2", "case": "{case}", "unit": "ns", "statistic": "{statistic}", "value": {per_round_trip:.3}}}"#
        );
        writeln!(io::stdout(), "{line}")?;
    }
    Ok(())
}
