//! What is measured: a case, its unit, and what is measured beside it.

use super::peer::Peer;
use clap::ValueEnum;
use quintet::Error;

/// What a case belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Group {
    /// Frames between two processes.
    Link,
    /// The tuple space.
    Space,
    /// A served space with many clients.
    Engine,
    /// Models in simulated time.
    Simulate,
    /// Agents of simulated machines.
    Membership,
    /// The search for broken promises.
    Explore,
    /// What the simulation predicts, beside what is measured.
    Predict,
    /// Several machines, as a testbed makes them.
    Cluster,
    /// Tasks of Python.
    Executor,
    /// Isochrons between processes.
    Isotach,
}

/// Measures one round; its figure stands in the unit of the case.
pub(super) type Round = Box<dyn FnMut() -> Result<f64, Error>>;

/// Makes what is measured, and warms it up.
pub(super) type Prepare = fn() -> Result<Round, Error>;

/// A case: how it is measured, and beside what. Several of a group may share a name, and then `prepare`, where there is more than one
/// thing to compare with, each with a goal of its own: they are measured together.
pub(super) struct Case {
    pub(super) group: Group,
    pub(super) name: &'static str,
    pub(super) unit: Unit,
    pub(super) better: Better,
    pub(super) beside: Beside,
    /// What is aimed at: a ratio, or the figure itself where nothing is beside it. At most this where lower is better, at
    /// least where higher is; where near is, at most this and at least its inverse.
    pub(super) goal: Option<f64>,
    /// How those who wait do so, where that tells.
    pub(super) waiting: Option<&'static str>,
    /// Which processors who is on, where that tells.
    pub(super) placement: Option<&'static str>,
    /// Whether a round has one processor to itself, or whichever the process may use.
    pub(super) is_pinned: bool,
    pub(super) prepare: Prepare,
}

/// What a figure counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unit {
    Nanoseconds,
    /// So many of these a second.
    PerSecond(&'static str),
    BytesPerSecond,
    Bytes,
    /// A part of a whole: of a processor, for one.
    Share,
    /// So many of these, such as wakes for each tuple that is put.
    Number(&'static str),
}

/// Which way a figure should go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Better {
    Lower,
    Higher,
    /// Neither: the ratio should be near 1.
    Near,
}

/// What takes turns with a case.
pub(super) enum Beside {
    Nothing,
    /// A program of benches/peers.
    Program(Peer),
    /// Several of them: the best one counts.
    Programs(&'static [Peer]),
    /// Another measurement of ours, such as the same with fewer tuples.
    Itself {
        name: &'static str,
        prepare: Prepare,
    },
}

impl Case {
    /// A case with nothing beside it.
    pub(super) fn new(
        group: Group,
        name: &'static str,
        unit: Unit,
        better: Better,
        prepare: Prepare,
    ) -> Case {
        let (beside, goal, waiting, placement) = (Beside::Nothing, None, None, None);
        Case { group, name, unit, better, beside, goal, waiting, placement, is_pinned: true, prepare }
    }

    /// The same on all processors.
    pub(super) fn on_all_processors(self) -> Case {
        Case { is_pinned: false, ..self }
    }

    /// The same beside something.
    pub(super) fn beside(self, beside: Beside) -> Case {
        Case { beside, ..self }
    }

    /// The same with a goal.
    pub(super) fn goal(self, goal: f64) -> Case {
        Case { goal: Some(goal), ..self }
    }

    /// The goal as a person reads it: `goal <= 1.6`.
    pub(super) fn show_goal(&self) -> Option<String> {
        let goal = self.goal?;
        // A ratio has no unit.
        let bound = match self.beside {
            Beside::Nothing => self.unit.show(goal),
            _ => goal.to_string(),
        };
        Some(format!("goal {} {bound}", self.better.sign()))
    }

    /// The same with how they wait and where they run.
    pub(super) fn under(self, waiting: &'static str, placement: &'static str) -> Case {
        Case { waiting: Some(waiting), placement: Some(placement), ..self }
    }
}

impl Group {
    pub(super) fn name(self) -> &'static str {
        match self {
            Group::Link => "link",
            Group::Space => "space",
            Group::Engine => "engine",
            Group::Simulate => "simulate",
            Group::Membership => "membership",
            Group::Explore => "explore",
            Group::Predict => "predict",
            Group::Cluster => "cluster",
            Group::Executor => "executor",
            Group::Isotach => "isotach",
        }
    }
}

impl Better {
    pub(super) fn name(self) -> &'static str {
        match self {
            Better::Lower => "lower",
            Better::Higher => "higher",
            Better::Near => "near",
        }
    }

    /// Whether `value` is as good as `goal`.
    pub(super) fn reaches(self, value: f64, goal: f64) -> bool {
        match self {
            Better::Lower => value <= goal,
            Better::Higher => value >= goal,
            Better::Near => value <= goal && value * goal >= 1.,
        }
    }

    /// How a goal is written.
    fn sign(self) -> &'static str {
        match self {
            Better::Lower => "<=",
            Better::Higher => ">=",
            Better::Near => "within a factor of",
        }
    }
}

impl Beside {
    /// What is beside, one after another.
    pub(super) fn names(&self) -> Vec<&'static str> {
        match self {
            Beside::Nothing => Vec::new(),
            Beside::Program(peer) => vec![peer.name],
            Beside::Programs(peers) => peers.iter().map(|peer| peer.name).collect(),
            Beside::Itself { name, .. } => vec![name],
        }
    }
}

impl Unit {
    /// As a program reads it.
    pub(super) fn name(self) -> String {
        match self {
            Unit::Nanoseconds => "ns".to_owned(),
            Unit::PerSecond(what) => format!("{what}/s"),
            Unit::BytesPerSecond => "bytes/s".to_owned(),
            Unit::Bytes => "bytes".to_owned(),
            Unit::Share => "1".to_owned(),
            Unit::Number(what) => what.to_owned(),
        }
    }

    /// A figure as a person reads it.
    pub(super) fn show(self, value: f64) -> String {
        match self {
            Unit::Nanoseconds => scaled(value, &["ns", "us", "ms", "s"]),
            Unit::PerSecond(what) => {
                let number = scaled(value, &["", "k", "M", "G"]);
                format!("{}{what}/s", if number.ends_with(' ') { number } else { number + " " })
            }
            Unit::BytesPerSecond => scaled(value, &["B/s", "kB/s", "MB/s", "GB/s"]),
            Unit::Bytes => scaled(value, &["B", "kB", "MB", "GB"]),
            Unit::Share => format!("{:.3} %", value * 100.),
            Unit::Number(what) => format!("{value:.4} {what}"),
        }
    }
}

/// With the largest unit that leaves something before the point, each a thousand of the one before; three digits at least.
fn scaled(value: f64, units: &[&str]) -> String {
    let mut value = value;
    let mut units = units.iter();
    let mut unit = units.next().copied().unwrap_or_default();
    // What would round to a thousand is one of the next.
    while value.abs() >= 999.5 {
        let Some(next) = units.next() else { break };
        (value, unit) = (value / 1000., next);
    }
    let digits = match value.abs() {
        least if least < 10. => 2,
        middle if middle < 100. => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_scaled_for_people() {
        assert_eq!(Unit::Nanoseconds.show(247.4), "247 ns");
        assert_eq!(Unit::Nanoseconds.show(999.7), "1.00 us");
        assert_eq!(Unit::Nanoseconds.show(43_210.), "43.2 us");
        assert_eq!(Unit::Nanoseconds.show(7e12), "7000 s");
        assert_eq!(Unit::PerSecond("messages").show(6_400_000.), "6.40 M messages/s");
        assert_eq!(Unit::PerSecond("schedules").show(12.), "12.0 schedules/s");
        assert_eq!(Unit::BytesPerSecond.show(17.1e9), "17.1 GB/s");
        assert_eq!(Unit::Bytes.show(180.), "180 B");
        assert_eq!(Unit::Share.show(0.000_21), "0.021 %");
        assert_eq!(Unit::Number("wakes/out").show(1.), "1.0000 wakes/out");
    }

    #[test]
    fn a_goal_is_a_bound_on_the_better_side() {
        assert!(Better::Lower.reaches(1.6, 1.6) && !Better::Lower.reaches(1.61, 1.6));
        assert!(Better::Higher.reaches(4., 4.) && !Better::Higher.reaches(3.9, 4.));
        let near = |ratio| Better::Near.reaches(ratio, 1.25);
        assert!(near(0.8) && near(1.25) && !near(0.79) && !near(1.26));
    }
}
