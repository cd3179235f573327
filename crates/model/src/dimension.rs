//! Dimensions and units: what keeps bytes from being taken for seconds.

use core::fmt;

/// What a quantity measures, as powers of the four things that models measure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Dimension {
    time: i16,
    data: i16,
    cycles: i16,
    length: i16,
}

impl Dimension {
    /// A number without unit.
    pub const NUMBER: Dimension = Dimension { time: 0, data: 0, cycles: 0, length: 0 };
    /// A length of time; in seconds.
    pub const TIME: Dimension = Dimension { time: 1, ..Dimension::NUMBER };
    /// An amount of data; in bytes.
    pub const DATA: Dimension = Dimension { data: 1, ..Dimension::NUMBER };
    /// Cycles of a processor.
    pub const CYCLES: Dimension = Dimension { cycles: 1, ..Dimension::NUMBER };
    /// A distance; in metres.
    pub const LENGTH: Dimension = Dimension { length: 1, ..Dimension::NUMBER };
    /// Data over time; in bytes a second.
    pub const DATA_RATE: Dimension = Dimension { time: -1, ..Dimension::DATA };
    /// How often in a time; in hertz.
    pub const FREQUENCY: Dimension = Dimension { time: -1, ..Dimension::NUMBER };
    /// Distance over time; in metres a second.
    pub const SPEED: Dimension = Dimension { time: -1, ..Dimension::LENGTH };

    /// That of a product. Texts are short, so that powers stay small.
    pub(crate) fn times(self, other: Dimension) -> Dimension {
        Dimension {
            time: self.time.saturating_add(other.time),
            data: self.data.saturating_add(other.data),
            cycles: self.cycles.saturating_add(other.cycles),
            length: self.length.saturating_add(other.length),
        }
    }

    /// That of a quotient.
    pub(crate) fn over(self, other: Dimension) -> Dimension {
        Dimension {
            time: self.time.saturating_sub(other.time),
            data: self.data.saturating_sub(other.data),
            cycles: self.cycles.saturating_sub(other.cycles),
            length: self.length.saturating_sub(other.length),
        }
    }

    /// A quantity of this dimension, as a file would have it.
    #[must_use]
    pub const fn example(self) -> &'static str {
        match self {
            Dimension::TIME => "1.5 ms",
            Dimension::DATA => "4096 B",
            Dimension::CYCLES => "800 cycles",
            Dimension::LENGTH => "2.5 m",
            Dimension::DATA_RATE => "10 Mb/s",
            Dimension::FREQUENCY => "16 MHz",
            Dimension::SPEED => "2.31e8 m/s",
            _ => "4",
        }
    }

    /// The unit in which values are kept; nothing for a number.
    #[must_use]
    pub const fn base_unit(self) -> &'static str {
        match self {
            Dimension::TIME => "s",
            Dimension::DATA => "B",
            Dimension::CYCLES => "cycles",
            Dimension::LENGTH => "m",
            Dimension::DATA_RATE => "B/s",
            Dimension::FREQUENCY => "Hz",
            Dimension::SPEED => "m/s",
            _ => "",
        }
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            Dimension::NUMBER => "a number without unit",
            Dimension::TIME => "a time",
            Dimension::DATA => "an amount of data",
            Dimension::CYCLES => "a number of cycles",
            Dimension::LENGTH => "a length",
            Dimension::DATA_RATE => "a data rate",
            Dimension::FREQUENCY => "a frequency",
            Dimension::SPEED => "a speed",
            Dimension { time, data, cycles, length } => {
                let mut between = "";
                for (unit, power) in [("s", time), ("B", data), ("cycles", cycles), ("m", length)] {
                    if power != 0 {
                        write!(f, "{between}{unit}^{power}")?;
                        between = " ";
                    }
                }
                return Ok(());
            }
        })
    }
}

/// A name for a quantity.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Unit {
    /// As it is written.
    pub name: &'static str,
    /// What it measures.
    pub dimension: Dimension,
    /// How many base units it is.
    pub factor: f64,
}

const fn unit(name: &'static str, dimension: Dimension, factor: f64) -> Unit {
    Unit { name, dimension, factor }
}

/// Every unit.
pub const UNITS: [Unit; 36] = [
    unit("ps", Dimension::TIME, 1e-12),
    unit("ns", Dimension::TIME, 1e-9),
    unit("us", Dimension::TIME, 1e-6),
    unit("ms", Dimension::TIME, 1e-3),
    unit("s", Dimension::TIME, 1.0),
    unit("min", Dimension::TIME, 60.0),
    unit("h", Dimension::TIME, 3600.0),
    unit("b", Dimension::DATA, 0.125),
    unit("B", Dimension::DATA, 1.0),
    unit("kB", Dimension::DATA, 1e3),
    unit("MB", Dimension::DATA, 1e6),
    unit("GB", Dimension::DATA, 1e9),
    unit("KiB", Dimension::DATA, 1024.0),
    unit("MiB", Dimension::DATA, 1_048_576.0),
    unit("GiB", Dimension::DATA, 1_073_741_824.0),
    unit("b/s", Dimension::DATA_RATE, 0.125),
    unit("kb/s", Dimension::DATA_RATE, 125.0),
    unit("Mb/s", Dimension::DATA_RATE, 125e3),
    unit("Gb/s", Dimension::DATA_RATE, 125e6),
    unit("B/s", Dimension::DATA_RATE, 1.0),
    unit("kB/s", Dimension::DATA_RATE, 1e3),
    unit("MB/s", Dimension::DATA_RATE, 1e6),
    unit("GB/s", Dimension::DATA_RATE, 1e9),
    unit("Hz", Dimension::FREQUENCY, 1.0),
    unit("kHz", Dimension::FREQUENCY, 1e3),
    unit("MHz", Dimension::FREQUENCY, 1e6),
    unit("GHz", Dimension::FREQUENCY, 1e9),
    unit("cycle", Dimension::CYCLES, 1.0),
    unit("cycles", Dimension::CYCLES, 1.0),
    unit("kcycles", Dimension::CYCLES, 1e3),
    unit("Mcycles", Dimension::CYCLES, 1e6),
    unit("cm", Dimension::LENGTH, 0.01),
    unit("m", Dimension::LENGTH, 1.0),
    unit("km", Dimension::LENGTH, 1e3),
    unit("m/s", Dimension::SPEED, 1.0),
    unit("km/s", Dimension::SPEED, 1e3),
];

impl Unit {
    /// The unit of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<Unit> {
        UNITS.into_iter().find(|unit| unit.name == name)
    }
}
