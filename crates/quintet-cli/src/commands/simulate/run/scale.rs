//! Numbers as a person reads them: in a unit that fits, with as many digits as are known.

/// A unit to show values in.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Scale {
    pub(super) unit: &'static str,
    /// How many base units it is.
    size: f64,
}

/// Units from the largest to the smallest.
type Units = &'static [(&'static str, f64)];

const TIMES: Units = &[("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9), ("ps", 1e-12)];
const DATA: Units = &[("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0)];
const DATA_RATES: Units = &[("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3), ("B/s", 1.0)];
const SHARES: Units = &[("%", 1e-2)];

impl Scale {
    /// For values of which the largest is of this magnitude, in the base unit of this name.
    pub(super) fn of(base: &'static str, largest: f64) -> Scale {
        let units = match base {
            "s" => TIMES,
            "B" => DATA,
            "B/s" => DATA_RATES,
            "share" => SHARES,
            _ => return Scale { unit: base, size: 1.0 },
        };
        let fits = |(_, size): &&(&'static str, f64)| largest.abs() >= *size;
        // Zero is shown in the base unit.
        let first = if largest == 0.0 { units.iter().find(|(_, size)| *size == 1.0) } else { None };
        let found = first.or_else(|| units.iter().find(fits)).or(units.last());
        found.map_or(Scale { unit: base, size: 1.0 }, |(unit, size)| Scale { unit, size: *size })
    }

    pub(super) fn value(self, value: f64) -> f64 {
        value / self.size
    }

    /// A mean, and how far from it the true one may lie.
    pub(super) fn show(self, mean: f64, half_width: Option<f64>) -> (String, Option<String>) {
        let (mean, half_width) = (self.value(mean), half_width.map(|half_width| self.value(half_width)));
        match half_width {
            // Less is the rounding of the sums.
            Some(half_width) if half_width > mean.abs() * 1e-9 => {
                let decimals = decimals(half_width, 2);
                (format!("{mean:.decimals$}"), Some(format!("{half_width:.decimals$}")))
            }
            other => (number(mean), other.map(|_| "0".to_owned())),
        }
    }
}

/// How many decimals show so many digits of the value.
fn decimals(value: f64, digits: i32) -> usize {
    let magnitude = if value == 0.0 { 0 } else { value.abs().log10().floor().clamp(-9.0, 18.0) as i32 };
    usize::try_from(digits - 1 - magnitude).unwrap_or(0)
}

/// A number with five digits at least, without zeros behind.
pub(crate) fn number(value: f64) -> String {
    let text = format!("{value:.*}", decimals(value, 5));
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(base: &'static str, mean: f64, half_width: Option<f64>) -> String {
        let scale = Scale::of(base, mean);
        let (mean, half_width) = scale.show(mean, half_width);
        format!("{mean} {} {}", half_width.unwrap_or_default(), scale.unit)
    }

    #[test]
    fn as_many_digits_are_shown_as_are_known() {
        assert_eq!(shown("s", 0.039_123_4, Some(0.002_145)), "39.1 2.1 ms");
        assert_eq!(shown("share", 0.801_234, Some(0.006_1)), "80.12 0.61 %");
        assert_eq!(shown("B/s", 1_234_567.0, Some(123_456.0)), "1.23 0.12 MB/s");
        assert_eq!(shown("activations", 16_000.0, Some(250.0)), "16000 250 activations");
        assert_eq!(shown("activations", 16_000.0, Some(1e-9)), "16000 0 activations");
        assert_eq!(shown("messages", 0.0, None), "0  messages");
        assert_eq!(shown("s", 0.0, None), "0  s");
        assert_eq!(shown("s", 1e-15, None), "0.001  ps");
        assert_eq!(number(1.0 / 3.0), "0.33333");
    }
}
