//! Every key of a model file once: what it takes, its default, its range. The reader, the checks and `docs/models.md` come
//! from this table.

mod actions;
mod device;
mod elements;
mod network;
mod pool;

pub use actions::ACTIONS;
pub use device::DEVICES;
pub use elements::{ELEMENTS, MEASURE, MODEL, MODULE, PROCESSOR, VALUES};
pub use network::{NETWORK, NETWORK_LINK, NETWORK_SWITCH};
pub use pool::{POOL, USE_ACTION};

use crate::dimension::Dimension;

/// A table of a model file.
#[derive(Debug)]
pub struct Table {
    /// As it is headed: `[processor.NAME]`.
    pub heading: &'static str,
    /// What it describes.
    pub text: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
}

/// One key.
#[derive(Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub takes: Takes,
    /// What holds without it.
    pub default: Preset,
    /// What it means.
    pub text: &'static str,
}

/// What a key takes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Takes {
    /// A quantity of this dimension, from the least to the largest value in base units.
    Quantity(Dimension, f64, f64),
    /// A whole number in this range.
    Count(u64, u64),
    /// A distribution of values of this dimension.
    Draw(Dimension),
    /// `true` or `false`.
    Switch,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of quantities of this dimension, not negative, one for each station.
    List(Dimension),
    /// Something else, in words.
    Other(&'static str),
}

/// What holds if a key is not there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Preset {
    /// It must be there.
    Required,
    /// This value.
    Value(&'static str),
    /// Something that no value says, in words.
    Otherwise(&'static str),
}

/// The largest time: a hundred days, which the simulator's clock holds twice.
pub(crate) const LONGEST: f64 = 8_640_000.0;
/// The shortest time above zero.
pub(crate) const SHORTEST: f64 = 1e-12;
/// The classes of traffic.
pub(crate) const CLASS: Takes = Takes::Word(&["asynchronous", "synchronous"]);
/// The elements of one group at most.
pub(crate) const LARGEST_GROUP: u64 = 1_000;
/// The largest count that every number holds exactly.
pub(crate) const MOST: u64 = 1 << 52;

impl Takes {
    /// In words.
    #[must_use]
    pub fn text(self) -> String {
        match self {
            Takes::Quantity(dimension, least, largest) => {
                let unit = dimension.base_unit();
                let space = if unit.is_empty() { "" } else { " " };
                let range = match (least, largest) {
                    (_, f64::INFINITY) => format!("at least {least:e}{space}{unit}"),
                    _ => format!("from {least:e} to {largest:e}{space}{unit}"),
                };
                format!("{dimension}, {}", range.replace("e0", ""))
            }
            Takes::Count(least, MOST) => format!("a whole number, at least {least}"),
            Takes::Count(least, most) => format!("a whole number from {least} to {most}"),
            Takes::Draw(dimension) => format!("{dimension}, or a distribution"),
            Takes::Switch => "true or false".to_owned(),
            Takes::Word(words) => {
                let quoted: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
                quoted.join(" or ")
            }
            Takes::List(dimension) => format!("a list: {dimension} for each station"),
            Takes::Other(text) => text.to_owned(),
        }
    }
}

impl Table {
    /// The key of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }
}

const fn key(name: &'static str, takes: Takes, default: Preset, text: &'static str) -> Key {
    Key { name, takes, default, text }
}
