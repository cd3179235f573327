//! What a testbed is to be, and which of its lines are meant.

use super::TestbedError;
use super::request::LineNumber;
use super::state::{MAX_MACHINES, Mode, State, check_name};
use std::sync::atomic::{AtomicU32, Ordering};

/// The longest packets of Ethernet, without their headers.
const PACKET_BYTES: u32 = 1_500;
/// What a device takes: the shortest that version 4 of the internet protocol must carry (RFC 791, section 3.2), and the longest.
const PACKET_BYTES_RANGE: core::ops::RangeInclusive<u32> = 68..=65_521;

/// What a testbed is to be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// Its name, which no other testbed of this user has.
    pub name: String,
    /// The names of its machines: at most 16.
    pub machines: Vec<String>,
    /// What is to stand for machines. `None`: namespaces where that is allowed, else the loopback.
    pub mode: Option<Mode>,
    /// What all randomness of its lines follows from.
    pub seed: u64,
    /// The longest packet without its Ethernet header, in bytes: from 68 to 65,521. The default is 1,500. Longer ones carry more in a second, and
    /// a lost one loses more.
    pub packet_bytes: u32,
}

impl Plan {
    /// Machines of these names.
    #[must_use]
    pub fn new<M: Into<String>>(name: impl Into<String>, machines: impl IntoIterator<Item = M>) -> Plan {
        let machines = machines.into_iter().map(Into::into).collect();
        Plan { name: name.into(), machines, mode: None, seed: 0, packet_bytes: PACKET_BYTES }
    }

    /// The same under a name that no other testbed has: for tests.
    #[must_use]
    pub fn unnamed<M: Into<String>>(machines: impl IntoIterator<Item = M>) -> Plan {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Plan::new(format!("t{}-{number}", std::process::id()), machines)
    }

    /// # Errors
    /// What cannot be about it.
    pub(super) fn check(&self) -> Result<(), TestbedError> {
        check_name(&self.name)?;
        self.machines.iter().try_for_each(|machine| check_name(machine))?;
        let mut names: Vec<&String> = self.machines.iter().collect();
        names.sort();
        let double = names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
        let fault = if let Some(double) = double {
            format!("two machines are called {double}: give each a name of its own")
        } else if self.machines.is_empty() || self.machines.len() > MAX_MACHINES {
            format!("{} machines: a testbed has 1 to {MAX_MACHINES}", self.machines.len())
        } else if !PACKET_BYTES_RANGE.contains(&self.packet_bytes) {
            let (least, most) = PACKET_BYTES_RANGE.into_inner();
            format!("packets of {} bytes: from {least} to {most}", self.packet_bytes)
        } else {
            return Ok(());
        };
        Err(TestbedError::BadValue(fault))
    }
}

/// Some lines of a testbed. A line leads from one machine to another; the way back is another line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Lines {
    /// All that there are.
    All,
    /// Between a machine and all others, both ways.
    Of(String),
    /// From a machine to all others.
    From(String),
    /// Between two machines, both ways.
    Between(String, String),
    /// From one machine to another.
    OneWay(String, String),
}

impl Lines {
    /// Between two machines, both ways.
    pub fn between(one: impl Into<String>, other: impl Into<String>) -> Lines {
        Lines::Between(one.into(), other.into())
    }

    /// From one machine to another.
    pub fn one_way(from: impl Into<String>, to: impl Into<String>) -> Lines {
        Lines::OneWay(from.into(), to.into())
    }

    /// Between a machine and all others, both ways.
    pub fn of(machine: impl Into<String>) -> Lines {
        Lines::Of(machine.into())
    }

    /// Which these are.
    ///
    /// # Errors
    /// A machine that is not there, or a line from one to itself.
    pub(super) fn numbers(&self, state: &State) -> Result<Vec<LineNumber>, TestbedError> {
        let all = 0..state.machines.len();
        let others = |one: usize| all.clone().filter(move |other| *other != one);
        let two = |one: &str, other: &str| match (state.number(one)?, state.number(other)?) {
            (same, again) if same == again => {
                Err(TestbedError::BadValue(format!("a machine has no line to itself: {one} and {other}")))
            }
            pair => Ok(pair),
        };
        Ok(match self {
            Lines::All => all.clone().flat_map(|from| others(from).map(move |to| (from, to))).collect(),
            Lines::Of(machine) => {
                let one = state.number(machine)?;
                others(one).flat_map(|other| [(one, other), (other, one)]).collect()
            }
            Lines::From(machine) => {
                let from = state.number(machine)?;
                others(from).map(|to| (from, to)).collect()
            }
            Lines::Between(one, other) => {
                let (one, other) = two(one, other)?;
                vec![(one, other), (other, one)]
            }
            Lines::OneWay(from, to) => vec![two(from, to)?],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_says_what_cannot_be() {
        Plan::new("lab", ["a", "b"]).check().expect("a plan");
        let said = |plan: Plan| plan.check().expect_err("none").to_string();
        assert!(said(Plan::new("lab", ["a", "b", "a"])).contains("two machines are called a"));
        assert!(said(Plan::new("lab", [""; 0])).contains("1 to 16"));
        assert!(said(Plan::new("lab", (0..17).map(|n| n.to_string()))).contains("17 machines"));
        assert!(said(Plan::new("l/b", ["a"])).contains("no name"));
        assert!(said(Plan { packet_bytes: 67, ..Plan::new("lab", ["a"]) }).contains("from 68 to 65521"));
        assert_ne!(Plan::unnamed(["a"]).name, Plan::unnamed(["a"]).name);
    }
}
