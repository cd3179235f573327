//! One run of a program, as it was measured.

use core::fmt;
use serde_json::{Value, json};

/// How a message went.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Packets {
    /// Header and data together.
    One,
    /// The header first, then the data.
    Two,
}

impl Packets {
    /// Both, in the order of a turn: the paper runs two packets first, then one.
    pub const BOTH: [Packets; 2] = [Packets::Two, Packets::One];

    /// As a line of a figure is called.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Packets::One => "one packet",
            Packets::Two => "two packets",
        }
    }

    /// How many there are of a message.
    #[must_use]
    pub const fn count(self) -> u8 {
        match self {
            Packets::One => 1,
            Packets::Two => 2,
        }
    }
}

/// What was run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Subject {
    /// The product of two matrices.
    Jmatrix {
        /// Of both.
        dimension: u32,
        /// Processes that multiply a row by a column.
        workers: u32,
    },
    /// Blocks put and taken.
    Jblock {
        /// How many.
        blocks: u32,
        /// Bytes of the first, and by which each is larger.
        step: u32,
    },
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Jmatrix { dimension, workers } => write!(f, "jmatrix {dimension} {workers}"),
            Subject::Jblock { blocks, step } => write!(f, "jblock {blocks} {step}"),
        }
    }
}

/// What processes have used of the processors.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Usage {
    /// Time on a processor, in nanoseconds.
    pub processor_ns: u64,
    /// How often a thread gave its processor up to wait.
    pub waits: u64,
    /// Of the time, what was the program's own; by the system's tick of 10 ms.
    pub user_ns: u64,
    /// Of the time, what was the system's; by the tick.
    pub system_ns: u64,
}

impl Usage {
    fn with(&self, other: &Usage, of: fn(u64, u64) -> u64) -> Usage {
        Usage {
            processor_ns: of(self.processor_ns, other.processor_ns),
            waits: of(self.waits, other.waits),
            user_ns: of(self.user_ns, other.user_ns),
            system_ns: of(self.system_ns, other.system_ns),
        }
    }

    /// Both together.
    #[must_use]
    pub fn plus(&self, other: &Usage) -> Usage {
        self.with(other, u64::saturating_add)
    }

    /// What came after `before`.
    #[must_use]
    pub fn since(&self, before: &Usage) -> Usage {
        self.with(before, u64::saturating_sub)
    }

    /// As an object.
    #[must_use]
    pub fn as_json(&self) -> Value {
        let Usage { processor_ns, waits, user_ns, system_ns } = self;
        json!({"processor_ns": processor_ns, "waits": waits, "user_ns": user_ns, "system_ns": system_ns})
    }

    /// From an object; what it has not is 0.
    #[must_use]
    pub fn from_json(object: &Value) -> Usage {
        let number = |name: &str| object[name].as_u64().unwrap_or_default();
        Usage {
            processor_ns: number("processor_ns"),
            waits: number("waits"),
            user_ns: number("user_ns"),
            system_ns: number("system_ns"),
        }
    }
}

/// One run of a program.
#[derive(Clone, PartialEq, Debug)]
pub struct Sample {
    /// What was run.
    pub subject: Subject,
    /// On how many machines.
    pub machines: u8,
    /// How messages went.
    pub packets: Packets,
    /// Which turn of all it was of, from 0.
    pub turn: u32,
    /// What its own timer measured.
    pub seconds: f64,
    /// Operations on the space meanwhile, those of all processes.
    pub operations: u64,
    /// What all its processes used meanwhile, with the manager.
    pub usage: Usage,
    /// Of jblock: the time of each block, in nanoseconds.
    pub blocks_ns: Vec<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_crosses_as_an_object_and_adds_up() {
        let one = Usage { processor_ns: 5, waits: 2, user_ns: 3, system_ns: 1 };
        assert_eq!(Usage::from_json(&one.as_json()), one);
        assert_eq!(one.plus(&one).since(&one), one);
        assert_eq!(Usage::from_json(&Value::Null), Usage::default());
    }
}
